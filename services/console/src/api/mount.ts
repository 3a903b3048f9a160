/** Puts the contract's operations on the server: what is asked is read by its schemas before anything is done. */
import type { Ledger } from '@decorum/ledger'
import { CANDIDATES } from '@decorum/protocol'
import type { Queue } from 'bullmq'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { BODY_MAX_BYTES, bodyRoom } from '../body-room.ts'
import type { ConsoleConfig } from '../config.ts'
import { INTAKE_TYPES, readBody, store } from '../intake.ts'
import { act, listOperations, unknownAgent } from './act.ts'
import { check } from './check.ts'
import { type RouteName, routes } from './contract.ts'
import { describeOrigin, type ToldOrigin } from './describe-origin.ts'
import { listOrigins } from './list-origins.ts'
import { openApi } from './openapi.ts'
import { outcomeStreams } from './outcomes-stream.ts'
import { type Problem, Refusal, type Route, read } from './route.ts'

export type ApiParts = {
  config: ConsoleConfig
  ledger: Ledger
  /** both queues of each partition, in order */
  queues: Queue[]
  /** whether Redis answers right now; never throws, bounded in time */
  redisAnswers: () => Promise<boolean>
  version: string
}

type Read<S> = S extends z.ZodType ? z.output<S> : undefined
type Asked<R extends Route> = {
  params: Read<R['params']>
  query: Read<R['query']>
  body: Read<R['body'] extends { schema: infer S } ? S : undefined>
}
type Routes = typeof routes
/** What needs the raw request (a body of several shapes, an answer without end) is mounted by hand. */
type ByHand = 'addCandidates' | 'streamOutcomes'
type Handlers = {
  [N in Exclude<RouteName, ByHand>]: (asked: Asked<Routes[N]>, request: FastifyRequest) => Promise<unknown>
}

export async function addApi(server: FastifyInstance, parts: ApiParts): Promise<void> {
  for (const [name, handler] of Object.entries(handlersOf(parts)))
    mount(server, routes[name as keyof Handlers], handler)
  addStream(server, parts)
  await server.register(async (scope) => addIntake(scope, parts))
  const document = openApi(routes, parts.version)
  server.get('/openapi.json', { config: { access: 'read' } }, () => document)
}

/** The origin afterwards, or as it is. */
export async function tellOrigin({ ledger, config }: ApiParts, origin: string): Promise<ToldOrigin> {
  const agents = config.agents.list.map((agent) => agent.key)
  const [view, part] = await Promise.all([
    ledger.viewOrigin(origin, agents),
    ledger.viewPartition(ledger.partitionOf(origin)),
  ])
  return describeOrigin(view, part, config.agents)
}

/** Who acts when nobody is named: the login, if there is one. */
export const defaultBy = ({ login }: ConsoleConfig): string => login?.user ?? 'console'

function handlersOf(parts: ApiParts): Handlers {
  const { ledger, config } = parts
  const { agents } = config
  return {
    viewPartitions: () => Promise.all(ledger.tags.map((_, partition) => ledger.viewPartition(partition))),
    viewOrigin: ({ params }) => tellOrigin(parts, params.origin),
    listOrigins: ({ query }) => listOrigins(ledger, agents, query),
    async listOperations({ query }) {
      return { operations: await listOperations(ledger, query.limit, query.origin) }
    },
    async check({ query }) {
      const agent = agents.find(query.agent)
      return agent === undefined ? unknownAgent(agents) : check(ledger, agent, query.url)
    },
    async actOnOrigin({ params, body }) {
      const done = await act(ledger, agents, params.origin, body, defaultBy(config))
      return done instanceof Refusal ? done : { ...(await tellOrigin(parts, params.origin)), ...done }
    },
  }
}

function mount(server: FastifyInstance, route: Route, handler: unknown): void {
  const handle = handler as (asked: unknown, request: FastifyRequest) => Promise<unknown>
  server.route({
    method: route.method,
    url: pathOf(route),
    config: { access: route.access },
    async handler(request, reply) {
      const asked = readRequest(route, request)
      const answer = asked instanceof Refusal ? asked : await handle(asked, request)
      return answer instanceof Refusal ? refuse(reply, answer) : answer
    },
  })
}

function readRequest(route: Route, request: FastifyRequest): object | Refusal {
  const asked: Record<string, unknown> = {}
  const parts = { params: route.params, query: route.query, body: route.body?.schema }
  for (const [part, schema] of Object.entries(parts)) {
    if (schema === undefined) continue
    const value = read(schema, request[part as keyof typeof parts] ?? {})
    if (value instanceof Refusal) return value
    asked[part] = value
  }
  return asked
}

const pathOf = ({ path }: Route): string => path.replace(/\{(\w+)\}/g, ':$1')
const refuse = (reply: FastifyReply, { status, problem, retryAfterS }: Refusal): FastifyReply => {
  if (retryAfterS !== undefined) reply.header('retry-after', String(retryAfterS))
  return reply.code(status).send(problem)
}

function addStream(server: FastifyInstance, { config }: ApiParts): void {
  const streams = outcomeStreams(config.redisUrl, config.heartbeatMs)
  server.addHook('preClose', () => streams.close())
  server.route({
    method: routes.streamOutcomes.method,
    url: pathOf(routes.streamOutcomes),
    config: { access: routes.streamOutcomes.access },
    exposeHeadRoute: false, // a HEAD would read for nobody
    async handler(request, reply) {
      const wish = read(routes.streamOutcomes.query, request.query)
      if (wish instanceof Refusal) return refuse(reply, wish)
      const refusal = await streams.serve({ ...wish, client: request.ip }, reply.raw, () => {
        reply.hijack()
        reply.raw.writeHead(200, {
          ...(reply.getHeaders() as Record<string, string>),
          'content-type': 'text/event-stream; charset=utf-8',
          'x-accel-buffering': 'no', // nginx would gather events
        })
      })
      return refusal === undefined ? reply : refuse(reply, refusal)
    },
  })
}

function addIntake(scope: FastifyInstance, { config, queues, redisAnswers }: ApiParts): void {
  const intake = queues.filter((queue) => queue.name === CANDIDATES)
  scope.removeAllContentTypeParsers() // JSON too is read by us, so that all shapes name their line in one way
  scope.addContentTypeParser(Object.keys(INTAKE_TYPES), { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  )
  const wrongType = new Refusal(
    415,
    'content-type',
    `a content-type is needed: ${Object.keys(INTAKE_TYPES).join(', ')}`,
  )
  scope.setErrorHandler<FastifyError>((error, _request, reply) => {
    if (error.code !== 'FST_ERR_CTP_INVALID_MEDIA_TYPE') throw error // the server's own handler answers
    return refuse(reply, wrongType)
  })
  const room = bodyRoom()
  scope.addHook('onRequest', async (request, reply) => {
    if (room.acquire(request.headers['content-length'], reply.raw)) return
    return refuse(reply, new Refusal(503, 'busy', 'other large bodies are coming in: send this one again', 1))
  })
  const { access } = routes.addCandidates
  scope.post(
    pathOf(routes.addCandidates),
    { config: { access }, bodyLimit: BODY_MAX_BYTES },
    async (request, reply) => {
      const query = read(routes.addCandidates.query, request.query)
      if (query instanceof Refusal) return refuse(reply, query)
      const type = (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
      const shape = INTAKE_TYPES[type]
      if (shape === undefined || !Buffer.isBuffer(request.body)) return refuse(reply, wrongType)
      const text = textOf(request.body)
      if (text instanceof Refusal) return refuse(reply, text)
      const candidates = readBody(text, shape, config.agents, query.agent)
      if (!('candidates' in candidates)) return reply.code(400).send(candidates)
      if (!(await redisAnswers())) return reply.code(503).send({ ...unavailable('no answer'), stored: 0 })
      const { stored, refusal } = await store(intake, candidates.candidates)
      if (refusal !== undefined) return reply.code(503).send({ ...unavailable(refusal), stored })
      return reply.code(202).send({ count: stored })
    },
  )
}

/** Without its byte order mark. Of text in another encoding what is lost would make other URLs than those meant. */
function textOf(body: Buffer): string | Refusal {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    return new Refusal(
      400,
      'not-utf-8',
      'the body is not text in UTF-8: write it in that encoding, without compression',
    )
  }
}

export function unavailable(why: unknown): Problem {
  return { error: 'redis-away', message: `Redis does not answer: ${why instanceof Error ? why.message : String(why)}` }
}
