/** The contract as OpenAPI 3.1, from the schemas that the routes validate with. OpenAPI 3.1 speaks JSON Schema 2020-12. */
import { z } from 'zod'
import type { Route } from './route.ts'

type Json = Record<string, unknown>
type Direction = 'input' | 'output'

export function openApi(routes: Record<string, Route>, version: string): Json {
  const components: Record<string, unknown> = {}
  const paths: Record<string, Record<string, Json>> = {}
  for (const [name, route] of Object.entries(routes)) {
    const { method, path, summary, description } = route
    paths[path] = {
      ...paths[path],
      [method]: {
        operationId: name,
        summary,
        ...(description === undefined ? {} : { description }),
        ...parameters(route, components),
        ...requestBody(route, components),
        responses: Object.fromEntries(
          Object.entries(route.answers).map(([status, { description: what, type = 'application/json', schema }]) => [
            status,
            {
              description: what,
              ...(schema === undefined ? {} : { content: { [type]: { schema: print(schema, 'output', components) } } }),
            },
          ]),
        ),
      },
    }
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Decorum',
      version,
      description: 'A politeness gateway for distributed crawlers: every site sees one well-behaved visitor.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    paths,
    components: {
      schemas: components,
      securitySchemes: { login: { type: 'http', scheme: 'basic', description: 'when CONSOLE_PASSWORD is set' } },
    },
    security: [{}, { login: [] }],
  }
}

function parameters(route: Route, components: Record<string, unknown>): Json {
  const of = (place: 'path' | 'query', schema: z.ZodObject | undefined): Json[] => {
    if (schema === undefined) return []
    const { properties = {}, required = [] } = print(schema, 'input', components) as {
      properties?: Record<string, Json>
      required?: string[]
    }
    return Object.entries(properties).map(([name, { description, ...rest }]) => ({
      name,
      in: place,
      required: required.includes(name),
      ...(description === undefined ? {} : { description }),
      schema: rest,
    }))
  }
  const list = [...of('path', route.params), ...of('query', route.query)]
  return list.length === 0 ? {} : { parameters: list }
}

function requestBody({ body }: Route, components: Record<string, unknown>): Json {
  if (body === undefined) return {}
  const schema = print(body.schema, 'input', components)
  const content = Object.fromEntries(
    body.types.map((type) => [type, { schema: type === 'application/json' ? schema : { type: 'string' } }]),
  )
  return { requestBody: { required: true, content } }
}

/** Schemas that have a name become components; all others are written where they are used. */
function print(schema: z.ZodType, io: Direction, components: Record<string, unknown>): Json {
  const printed = z.toJSONSchema(schema, {
    io,
    override({ jsonSchema }) {
      // Answers may gain fields: a strict reader of today must not break on them
      if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
    },
  })
  const moved = JSON.parse(JSON.stringify(printed).replaceAll('"#/$defs/', '"#/components/schemas/')) as Json
  const { $schema: _schema, $defs = {}, id, ...rest } = moved
  for (const [name, { id: _id, ...definition }] of Object.entries($defs as Record<string, Json>)) {
    components[name] = definition
  }
  if (typeof id !== 'string') return rest
  components[id] = rest
  return { $ref: `#/components/schemas/${id}` }
}
