/**
 * `schemaController` of a Fastify whose requests are read, and answers written, by zod alone: its own compilers of JSON Schema, ajv and
 * fast-json-stringify, are not loaded (100 modules: docs/decisions/0010-compiled-code-is-kept.md).
 */
const refused = (): never => {
  throw new Error('a route has a JSON Schema, and Fastify was started without what compiles one')
}

export const noJsonSchema = { compilersFactory: { buildValidator: refused, buildSerializer: refused } }
