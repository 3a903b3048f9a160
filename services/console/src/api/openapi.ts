/** /openapi.json and its rendered page /reference. The page is served by this server alone: nothing is loaded from elsewhere. */
import { openApi } from '@decorum/runtime/openapi'
import { fastifySwagger } from '@fastify/swagger'
import { fastifySwaggerUi } from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'
import { PAGE_POLICY } from '../access/guard.ts'
import { operations } from './contract.ts'

export const REFERENCE_PATH = '/reference'
/** The page draws its icons from data: URLs. */
const REFERENCE_POLICY = `${PAGE_POLICY}; img-src 'self' data:`

export async function describeApi(scope: FastifyInstance, version: string): Promise<void> {
  const document = openApi(
    operations,
    {
      title: 'Decorum',
      version,
      description: 'A politeness gateway for distributed crawlers: every site sees one well-behaved visitor.',
    },
    { type: 'http', scheme: 'basic', description: 'when CONSOLE_PASSWORD is set' },
  )
  scope.get('/openapi.json', { config: { access: 'read' } }, () => document)
  await scope.register(fastifySwagger, {
    mode: 'static',
    specification: { document: document as never },
  })
  await scope.register(async (page) => {
    page.addHook('onRoute', (route) => {
      route.config = { ...route.config, access: 'read' }
    })
    await page.register(fastifySwaggerUi, {
      routePrefix: REFERENCE_PATH,
      // The validator badge would send the document to another company's server.
      uiConfig: { layout: 'BaseLayout', operationsSorter: 'alpha', validatorUrl: null },
      theme: { title: 'Decorum HTTP API' },
      staticCSP: REFERENCE_POLICY,
    })
  })
}
