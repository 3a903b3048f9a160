/** The console as a server: doors, health, pages, API, board. No route touches the journey. */
import { printableUrl } from '@decorum/protocol'
import Fastify, { type FastifyBaseLogger, type FastifyError, type FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { type ApiParts, addApi, unavailable } from './api/mount.ts'
import { addBoard } from './board.ts'
import { doorkeeper } from './door.ts'
import type { Look } from './looks.ts'
import { buildMetrics } from './metrics.ts'
import type { Pace } from './pace.ts'
import { addPages } from './pages.ts'

/** Largest body of POST /v1/candidates: about 150,000 URLs of 100 characters. */
const INTAKE_MAX_BYTES = 16 * 1024 * 1024

export type ConsoleParts = ApiParts & { look: () => Promise<Look>; pace: Pace; log: Logger }

/** Everything registered, nothing listening yet. */
export async function buildServer(parts: ConsoleParts): Promise<FastifyInstance> {
  const { config, log } = parts
  // Of the server's own talk only what went wrong: one person watching would write a line every two seconds.
  const loggerInstance: FastifyBaseLogger = log.child({}, { level: log.level === 'info' ? 'warn' : log.level })
  const server = Fastify({
    loggerInstance,
    bodyLimit: INTAKE_MAX_BYTES,
    forceCloseConnections: true, // a browser that keeps its connection open does not hold up the end
    routerOptions: { maxParamLength: 8_192 }, // an origin with all its escapes
  })
  server.addHook('onRequest', doorkeeper(config.login))
  server.setNotFoundHandler((request, reply) =>
    reply
      .code(404)
      .send({ error: 'not-found', message: `there is no ${request.method} ${printableUrl(request.url, 200)}` }),
  )
  server.setErrorHandler<FastifyError>((error, request, reply) => {
    if (AWAY.has(error.code)) return reply.code(503).send(unavailable(error))
    const status = error.statusCode ?? 500
    if (status < 500) return reply.code(status).send({ error: 'bad-request', message: error.message })
    request.log.error({ err: error }, 'a request failed')
    return reply.code(status).send({ error: 'internal', message: 'the console could not answer; its log says why' })
  })
  addHealth(server, parts)
  await server.register(async (scope) => addPages(scope, parts))
  await addApi(server, parts)
  await addBoard(server, parts.queues)
  return server
}

const AWAY: ReadonlySet<string> = new Set(['LEDGER_UNAVAILABLE', 'FRONTIER_UNAVAILABLE'])

function addHealth(server: FastifyInstance, { redisAnswers, ledger }: ConsoleParts): void {
  server.get('/livez', () => ({ status: 'alive' }))
  server.get('/readyz', async (_request, reply) => {
    if (await redisAnswers()) return { status: 'ready' }
    return reply.code(503).send({ status: 'waiting', message: 'Redis does not answer' })
  })
  const metrics = buildMetrics(ledger)
  server.get('/metrics', async (_request, reply) => reply.type(metrics.contentType).send(await metrics.metrics()))
}
