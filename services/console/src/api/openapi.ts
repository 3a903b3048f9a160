/**
 * /openapi.json and its rendered page /reference, printed by @fastify/swagger from the routes of the scope that it is
 * registered in. The page comes from this server alone: nothing is loaded from elsewhere.
 */
import { type FastifyDynamicSwaggerOptions, fastifySwagger } from '@fastify/swagger'
import { fastifySwaggerUi } from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod'
import { PAGE_POLICY } from '../access/guard.ts'

type Json = Record<string, unknown>

export const REFERENCE_PATH = '/reference'
/** The page draws its icons from data: URLs. */
const REFERENCE_POLICY = `${PAGE_POLICY}; img-src 'self' data:`

/** Before the routes that it is to describe are added. */
export async function describeApi(scope: FastifyInstance, version: string): Promise<void> {
  await scope.register(fastifySwagger, {
    openapi: {
      openapi: '3.1.1',
      info: {
        title: 'Decorum',
        version,
        description: 'A politeness gateway for distributed crawlers: every site sees one well-behaved visitor.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } as { name: string },
      },
      servers: [{ url: '/' }],
      components: {
        securitySchemes: { login: { type: 'http', scheme: 'basic', description: 'when CONSOLE_PASSWORD is set' } },
      },
      security: [{}, { login: [] }],
    },
    transform,
    transformObject,
  })
  scope.get('/openapi.json', { config: { access: 'read' }, schema: { hide: true } }, () => scope.swagger())
  await scope.register(async (page) => {
    page.addHook('onRoute', (route) => {
      route.config = { ...route.config, access: 'read' }
    })
    await page.register(fastifySwaggerUi, {
      routePrefix: REFERENCE_PATH,
      // The validator badge would send the document to a server of a third party.
      uiConfig: { layout: 'BaseLayout', operationsSorter: 'alpha', validatorUrl: null },
      theme: { title: 'Decorum HTTP API' },
      staticCSP: REFERENCE_POLICY,
    })
  })
}

/** Zod bounds every integer by what JavaScript can count; which is of no use to a reader of the API. */
const zodToJsonConfig = {
  override({ jsonSchema }: { jsonSchema: { minimum?: unknown; maximum?: unknown } }) {
    if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
    if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
  },
}
const printRoute = createJsonSchemaTransform({ zodToJsonConfig })
const printNamed = createJsonSchemaTransformObject({ zodToJsonConfig })

/** Zod → JSON Schema; of a body with several media types only JSON has a structure. */
const transform: NonNullable<FastifyDynamicSwaggerOptions['transform']> = (route) => {
  const printed = printRoute(route)
  const { body, consumes = [] } = (printed.schema ?? {}) as { body?: Json; consumes?: string[] }
  if (body === undefined || consumes.length === 0) return printed
  const content = Object.fromEntries(
    consumes.map((type) => [type, { schema: type === 'application/json' ? body : { type: 'string' } }]),
  )
  return { ...printed, schema: { ...printed.schema, body: { content } } }
}

/** Adds the named schemas. Answers may gain members later, so their schemas allow others: a strict reader must not break. */
const transformObject: NonNullable<FastifyDynamicSwaggerOptions['transformObject']> = (document) => {
  const printed = printNamed(document)
  const { paths = {}, components } = printed as { paths?: Json; components?: { schemas?: Json } }
  const schemas = components?.schemas ?? {}
  const isUsed = (name: string): boolean => JSON.stringify(printed).includes(`"#/components/schemas/${name}"`)
  // Each named schema is printed for bodies and for answers. One that is not used may be the only user of another.
  for (let unused = [''] as string[]; unused.length > 0; ) {
    unused = Object.keys(schemas).filter((name) => !isUsed(name))
    for (const name of unused) delete schemas[name]
  }
  for (const [name, schema] of Object.entries(schemas)) if (!name.endsWith('Input')) allowMore(schema)
  for (const methods of Object.values(paths) as Json[])
    for (const operation of Object.values(methods) as Json[]) allowMore(operation.responses)
  return printed
}

function allowMore(schema: unknown): void {
  if (typeof schema !== 'object' || schema === null) return
  if ('additionalProperties' in schema && schema.additionalProperties === false) delete schema.additionalProperties
  for (const member of Object.values(schema)) allowMore(member)
}
