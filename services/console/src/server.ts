/** The console as a server: access, health, pages, API, board. It never fetches. */
import { openHttpApi, Problem } from '@decorum/runtime/http-api'
import { Registry } from '@decorum/runtime/prometheus'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { requestGuard, wantsPage } from './access/guard.ts'
import { countGuesses, type Guesses } from './access/guesses.ts'
import { collectRoutes, type KnownRoute } from './access/route-access.ts'
import { addApi } from './api/mount.ts'
import { BODY_MAX_BYTES } from './api/mount-intake.ts'
import { type ApiParts, problemOf } from './api/parts.ts'
import { addBoard } from './board.ts'
import { headline } from './pages/headline.ts'
import { HTML } from './pages/html.ts'
import { layout } from './pages/layout.ts'
import { addPages, problemPage } from './pages/pages.ts'
import type { FleetView } from './watch/fleet-view.ts'
import { addFleetMetrics } from './watch/metrics.ts'
import type { Pace } from './watch/pace.ts'

/** Limit for an operator's action; POST /v1/candidates has another limit (mount-intake.ts). */
const USUAL_BODY_MAX_BYTES = 64 * 1024

export type ConsoleParts = ApiParts & {
  view: () => Promise<FleetView>
  pace: Pace
  log: Logger
  /** the registry of the process; default: a new one */
  registry?: Registry
  /** for tests, whose clock is not the machine's */
  guesses?: Guesses
}

/** Registers everything without listening; returns the server, and every route with its access. */
export async function buildServer(
  parts: ConsoleParts,
): Promise<{ server: FastifyInstance; routes: () => KnownRoute[] }> {
  const { config, log } = parts
  const guesses = parts.guesses ?? countGuesses()
  const guard = requestGuard(config.login, guesses)
  const server = openHttpApi({
    log,
    usualBytes: USUAL_BODY_MAX_BYTES,
    mostBytes: BODY_MAX_BYTES,
    requestMs: config.requestDeadlineMs,
    trustProxy: config.trustedProxies.length > 0 && config.trustedProxies,
    guard: async (request, reply) => {
      await guard(request, reply)
      if (reply.sent || !request.is404 || !wantsPage(request)) return
      const problem = new Problem(404, 'not-found', `there is no page ${request.url}`)
      await reply
        .code(404)
        .type(HTML)
        .send(layout(parts.version, request, problemPage(problem)))
    },
    explain: problemOf,
  })
  const routes = collectRoutes(server)
  addHealth(server, parts)
  await server.register(async (scope) => addPages(scope, { ...parts, guesses }))
  await addApi(server, parts)
  await addBoard(server, parts.queues, parts.view)
  return { server, routes }
}

function addHealth(server: FastifyInstance, { config, redisAnswers, ledger, view, registry }: ConsoleParts): void {
  const open = { config: { access: 'open' } } as const
  server.get('/livez', open, () => ({ status: 'alive' }))
  server.get('/readyz', open, async (_request, reply) => {
    if (!(await redisAnswers())) return reply.code(503).send({ status: 'waiting', message: 'Redis does not answer' })
    const seen = await view()
    if (seen.kind === 'unavailable') return reply.code(503).send({ status: 'waiting', message: seen.why })
    const { jobs, urls } = seen.intake
    const candidates = { jobs, urls }
    if (jobs === 0 || seen.members.some(({ role }) => role === 'gateway')) return { status: 'ready', candidates }
    const message = 'candidates wait, and no gateway has announced itself within the last 5 s'
    return reply.code(503).send({ status: 'waiting', message, candidates })
  })
  const judge = async () => headline(await view(), config.outcomesLimit)
  const metrics = addFleetMetrics(registry ?? new Registry(), ledger, judge)
  server.get('/metrics', { config: { access: 'read' } }, async (_request, reply) =>
    reply.type(metrics.contentType).send(await metrics.metrics()),
  )
}
