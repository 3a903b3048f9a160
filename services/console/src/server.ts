/** The console as a server: access, health, pages, API, board. Nothing here takes part in fetching. */
import { printableUrl } from '@decorum/protocol'
import { takeJson } from '@decorum/runtime/json-bodies'
import { noJsonSchema } from '@decorum/runtime/no-json-schema'
import { Registry } from '@decorum/runtime/prom-client'
import Fastify, { type FastifyBaseLogger, type FastifyError, type FastifyInstance, type FastifyReply } from 'fastify'
import type { Logger } from 'pino'
import { requestGuard } from './access/guard.ts'
import { countGuesses, type Guesses } from './access/guesses.ts'
import { collectRoutes, type KnownRoute } from './access/route-access.ts'
import { addApi } from './api/mount.ts'
import type { ApiParts } from './api/parts.ts'
import { RefusedRequest, refuse, unavailable } from './api/route.ts'
import { addBoard } from './board.ts'
import { addPages } from './pages/pages.ts'
import type { Look } from './watch/looks.ts'
import { addFleetMetrics } from './watch/metrics.ts'
import type { Pace } from './watch/pace.ts'

/** Of an operator's action; POST /v1/candidates has a bound of its own (mount-intake.ts). */
const USUAL_BODY_MAX_BYTES = 64 * 1024
/** Head of a request: a connection that sends nothing is closed after this. */
const HEADERS_WITHIN_MS = 10_000
/** How often connections are checked for both limits. */
const LOOKED_AT_EVERY_MS = 1_000

export type ConsoleParts = ApiParts & {
  look: () => Promise<Look>
  pace: Pace
  log: Logger
  /** of the process; by default one of its own */
  registry?: Registry
  /** for tests, whose clock is not the machine's */
  guesses?: Guesses
}

/** Everything registered, nothing listening yet; and every route of it with its access. */
export async function buildServer(
  parts: ConsoleParts,
): Promise<{ server: FastifyInstance; routes: () => KnownRoute[] }> {
  const { config, log } = parts
  // Of the server's own log lines only what went wrong: one person watching causes a request every two seconds.
  const loggerInstance: FastifyBaseLogger = log.child({}, { level: log.level === 'info' ? 'warn' : log.level })
  const server = Fastify({
    loggerInstance,
    schemaController: noJsonSchema,
    pluginTimeout: 0, // a slow machine takes its time
    trustProxy: config.trustedProxies.length > 0 && config.trustedProxies,
    bodyLimit: USUAL_BODY_MAX_BYTES,
    // A path that cannot be decoded belongs to no route, so the handler of errors below is not called for it.
    frameworkErrors: (error, _request, reply) =>
      void (reply as FastifyReply).code(error.statusCode ?? 400).send({ error: 'bad-request', message: error.message }),
    forceCloseConnections: true, // a browser that keeps its connection open does not hold up the end
    routerOptions: { maxParamLength: 8_192 }, // an origin with all its escapes
    // A request that has not arrived whole by then is given up. It does not limit answers (/v1/outcomes has no end).
    requestTimeout: config.requestDeadlineMs,
    http: {
      headersTimeout: Math.min(HEADERS_WITHIN_MS, config.requestDeadlineMs),
      connectionsCheckingInterval: Math.min(LOOKED_AT_EVERY_MS, config.requestDeadlineMs),
    },
  })
  takeJson(server)
  const routes = collectRoutes(server)
  const guesses = parts.guesses ?? countGuesses()
  server.addHook('onRequest', requestGuard(config.login, guesses))
  server.setNotFoundHandler((request, reply) =>
    reply
      .code(404)
      .send({ error: 'not-found', message: `there is no ${request.method} ${printableUrl(request.url, 200)}` }),
  )
  server.setErrorHandler<FastifyError>((error, request, reply) => {
    if (error instanceof RefusedRequest) return refuse(reply, error.refusal)
    if (AWAY.has(error.code)) return reply.code(503).send(unavailable(error))
    const status = error.statusCode ?? 500
    if (status < 500) return reply.code(status).send({ error: 'bad-request', message: error.message })
    request.log.error({ err: error }, 'a request failed')
    return reply.code(status).send({ error: 'internal', message: 'the console could not answer; its log says why' })
  })
  addHealth(server, parts)
  await server.register(async (scope) => addPages(scope, { ...parts, guesses }))
  await addApi(server, parts)
  await addBoard(server, parts.queues, parts.look)
  return { server, routes }
}

const AWAY: ReadonlySet<string> = new Set(['LEDGER_UNAVAILABLE', 'FRONTIER_UNAVAILABLE'])

function addHealth(server: FastifyInstance, { redisAnswers, ledger, look, registry }: ConsoleParts): void {
  const open = { config: { access: 'open' } } as const
  server.get('/livez', open, () => ({ status: 'alive' }))
  server.get('/readyz', open, async (_request, reply) => {
    if (!(await redisAnswers())) return reply.code(503).send({ status: 'waiting', message: 'Redis does not answer' })
    const seen = await look()
    if (seen.kind === 'blind') return reply.code(503).send({ status: 'waiting', message: seen.why })
    const { jobs, urls } = seen.intake
    const candidates = { jobs, urls }
    if (jobs === 0 || seen.members.some(({ role }) => role === 'gateway')) return { status: 'ready', candidates }
    const message = 'candidates wait, and no gateway has been heard of within the last 5 s'
    return reply.code(503).send({ status: 'waiting', message, candidates })
  })
  const metrics = addFleetMetrics(registry ?? new Registry(), ledger)
  server.get('/metrics', { config: { access: 'read' } }, async (_request, reply) =>
    reply.type(metrics.contentType).send(await metrics.metrics()),
  )
}
