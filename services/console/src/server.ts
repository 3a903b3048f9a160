/** The routes of the console, in the order in which a person meets them. No route touches the journey. */
import { readFileSync } from 'node:fs'
import { CANDIDATES, printableUrl, readUrl } from '@decorum/protocol'
import type { Queue } from 'bullmq'
import Fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { addBoard } from './board.ts'
import type { ConsoleConfig } from './config.ts'
import { doorkeeper } from './door.ts'
import { INTAKE_TYPES, readBody, store } from './intake.ts'
import type { Eyes, Look } from './looks.ts'
import { buildMetrics } from './metrics.ts'
import { overviewMain, overviewPage } from './overview-page.ts'
import type { Pace } from './pace.ts'

/** Largest body of POST /v1/candidates: about 150,000 URLs of 100 characters. */
const INTAKE_MAX_BYTES = 16 * 1024 * 1024

export type ConsoleParts = {
  config: ConsoleConfig
  eyes: Eyes
  look: () => Promise<Look>
  pace: Pace
  /** both queues of each partition, in order: `candidates`, `orders`, `candidates`, … */
  queues: Queue[]
  /** whether Redis answers right now; never throws, bounded in time */
  redisAnswers: () => Promise<boolean>
  log: Logger
  version: string
}

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
  addHealth(server, parts)
  addPages(server, parts)
  addFleet(server, parts)
  await server.register(async (scope) => addIntake(scope, parts))
  await addBoard(server, parts.queues)
  return server
}

function addHealth(server: FastifyInstance, { redisAnswers }: ConsoleParts): void {
  server.get('/livez', () => ({ status: 'alive' }))
  server.get('/readyz', async (_request, reply) => {
    if (await redisAnswers()) return { status: 'ready' }
    return reply.code(503).send({ status: 'waiting', message: 'Redis does not answer' })
  })
}

function addPages(server: FastifyInstance, { look, pace, config, eyes, version }: ConsoleParts): void {
  const facts = async () => ({ look: await look(), pace, outcomesLimit: config.outcomesLimit, version })
  server.get('/', async (_request, reply) => reply.type('text/html; charset=utf-8').send(overviewPage(await facts())))
  server.get('/overview', async (_request, reply) =>
    reply.type('text/html; charset=utf-8').send(overviewMain(await facts()).text),
  )
  for (const [name, type] of [
    ['console.css', 'text/css; charset=utf-8'],
    ['console.js', 'text/javascript; charset=utf-8'],
    ['icon.svg', 'image/svg+xml'],
  ] as const) {
    const body = readFileSync(new URL(`./static/${name}`, import.meta.url))
    server.get(`/static/${name}`, (_request, reply) => reply.type(type).send(body))
  }
  const metrics = buildMetrics(eyes)
  server.get('/metrics', async (_request, reply) => reply.type(metrics.contentType).send(await metrics.metrics()))
}

function addFleet(server: FastifyInstance, { eyes, config }: ConsoleParts): void {
  const agents = config.agents.list.map((agent) => agent.key)
  server.get('/v1/partitions', async (_request, reply) => {
    try {
      return await Promise.all(eyes.tags.map((_, partition) => eyes.viewPartition(partition)))
    } catch (error) {
      return reply.code(503).send(unavailable(error))
    }
  })
  server.get<{ Params: { origin: string } }>('/v1/origins/:origin', async (request, reply) => {
    const at = readUrl(request.params.origin)
    if ('refused' in at) {
      const message = `an origin such as https://example.com is needed, URL-encoded: ${at.refused}`
      return reply.code(400).send({ error: at.refused, message })
    }
    if (at.path !== '/') {
      const message = `an origin has no path: did you mean ${at.origin}?`
      return reply.code(400).send({ error: 'not-an-origin', message })
    }
    try {
      return await eyes.viewOrigin(at.origin, agents)
    } catch (error) {
      return reply.code(503).send(unavailable(error))
    }
  })
}

function addIntake(scope: FastifyInstance, { config, queues, redisAnswers }: ConsoleParts): void {
  const intake = queues.filter((queue) => queue.name === CANDIDATES)
  scope.removeAllContentTypeParsers() // JSON too is read by us, so that all shapes name their line in one way
  scope.addContentTypeParser(Object.keys(INTAKE_TYPES), { parseAs: 'string' }, (_request, body, done) =>
    done(null, body),
  )
  scope.post<{ Querystring: { agent?: string } }>('/v1/candidates', async (request, reply) => {
    const type = (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
    const shape = INTAKE_TYPES[type]
    if (shape === undefined || typeof request.body !== 'string') {
      const message = `a content-type is needed: ${Object.keys(INTAKE_TYPES).join(', ')}`
      return reply.code(415).send({ error: 'content-type', message })
    }
    const { agent } = request.query
    const read = readBody(request.body, shape, config.agents, typeof agent === 'string' ? agent : undefined)
    if (!('candidates' in read)) return reply.code(400).send(read)
    if (!(await redisAnswers())) return reply.code(503).send({ ...unavailable('no answer'), stored: 0 })
    const { stored, refusal } = await store(intake, read.candidates)
    if (refusal !== undefined) return reply.code(503).send({ ...unavailable(refusal), stored })
    return reply.code(202).send({ count: stored })
  })
}

function unavailable(why: unknown): { error: string; message: string } {
  return { error: 'redis-away', message: `Redis does not answer: ${why instanceof Error ? why.message : String(why)}` }
}
