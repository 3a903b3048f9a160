/** OpenAPI 3.1, which uses JSON Schema 2020-12, printed from the schemas that parse the requests. */
import { PROBLEM_TYPE } from '@decorum/protocol'
import { z } from 'zod'

type Json = Record<string, unknown>
export type Answer = { description: string; content?: Record<string, { schema: z.ZodType }> }
/** One route, for Fastify and for the document. */
export type Operation = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  url: `/${string}`
  schema: {
    operationId: string
    summary: string
    description?: string
    tags?: string[]
    params?: z.ZodObject
    querystring?: z.ZodObject
    headers?: z.ZodObject
    body?: z.ZodType
    consumes?: string[]
    response: Record<number, Answer>
  }
}

export const ProblemAnswer = z
  .looseObject({
    type: z.string().meta({ description: 'a word for programs' }),
    title: z.string(),
    status: z.number().int(),
    detail: z.string().meta({ description: 'a sentence for people' }),
  })
  .meta({ id: 'Problem' })

export const answer = (description: string, schema: z.ZodType, type = 'application/json'): Answer => ({
  description,
  content: { [type]: { schema } },
})
export const problem = (description: string, members: z.ZodRawShape = {}): Answer =>
  answer(description, Object.keys(members).length === 0 ? ProblemAnswer : ProblemAnswer.extend(members), PROBLEM_TYPE)

export function openApi(
  operations: Operation[],
  info: { title: string; version: string; description: string },
  /** how callers authenticate */
  scheme: { type: 'http'; scheme: string; description?: string },
): Json {
  const paths: Record<string, Json> = {}
  const schemas: Json = {}
  for (const { method, url, schema } of operations) {
    const path = url.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [method.toLowerCase()]: describe(schema, schemas) }
  }
  return {
    openapi: '3.1.1',
    info: { ...info, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    servers: [{ url: '/' }],
    paths,
    components: { schemas, securitySchemes: { caller: scheme } },
    security: [{}, { caller: [] }],
  }
}

function describe({ params, querystring, headers, body, consumes, response, ...about }: Operation['schema'], to: Json) {
  const parameters = [
    ...parametersOf('path', params, to),
    ...parametersOf('query', querystring, to),
    ...parametersOf('header', headers, to),
  ]
  const requestSchema = body && print(body, 'input', to)
  // If a body has several media types, only JSON has a structure.
  const content = (consumes ?? ['application/json']).map((type) => [
    type,
    { schema: type === 'application/json' ? requestSchema : { type: 'string' } },
  ])
  return {
    ...about,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body && { requestBody: { required: isRequired(body), content: Object.fromEntries(content) } }),
    responses: Object.fromEntries(
      Object.entries(response).map(([status, { description, content: answers }]) => [
        status,
        { description, ...(answers && { content: printAll(answers, to) }) },
      ]),
    ),
  }
}

function parametersOf(place: 'path' | 'query' | 'header', shape: z.ZodObject | undefined, to: Json): Json[] {
  return Object.entries(shape?.shape ?? {}).map(([name, member]) => {
    const { description, ...schema } = print(member, 'input', to)
    return {
      name,
      in: place,
      required: isRequired(member),
      schema,
      ...(description === undefined ? {} : { description }),
    }
  })
}

/** Prints a schema; named schemas go to `to`, and are referenced by name. */
function print(shape: z.ZodType, io: 'input' | 'output', to: Json): Json {
  const printed = z.toJSONSchema(z.object({ it: shape }), {
    io,
    override({ jsonSchema }) {
      // Zod bounds every integer by the range of JavaScript, which is useless to a reader of the API.
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
      // Answers may gain members later: a strict reader must not break.
      if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
      delete jsonSchema.id
    },
  }) as unknown as { properties: { it: Json }; $defs?: Record<string, Json> }
  const nameOf = (id: string): string => (io === 'input' ? `${id}Input` : id)
  const text = JSON.stringify(printed).replaceAll(
    /"#\/\$defs\/([^"]+)"/g,
    (_, id: string) => `"#/components/schemas/${nameOf(id)}"`,
  )
  const { properties, $defs = {} } = JSON.parse(text) as typeof printed
  for (const [id, schema] of Object.entries($defs)) to[nameOf(id)] = schema
  return properties.it
}

const printAll = (answers: NonNullable<Answer['content']>, to: Json): Json =>
  Object.fromEntries(
    Object.entries(answers).map(([type, { schema }]) => [type, { schema: print(schema, 'output', to) }]),
  )

const isRequired = (schema: z.ZodType): boolean => !schema.safeParse(undefined).success
