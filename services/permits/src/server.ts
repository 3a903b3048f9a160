/** The routes: each reads its request, calls permits.ts and writes the answer. */
import type { PermitToken } from '@decorum/config'
import { LedgerUnavailableError } from '@decorum/ledger'
import { bodyRoom } from '@decorum/runtime/body-room'
import { takeJson } from '@decorum/runtime/json-bodies'
import { noJsonSchema } from '@decorum/runtime/no-json-schema'
import type { Registry } from '@decorum/runtime/prom-client'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify'
import type { Logger } from 'pino'
import { holderOf } from './access.ts'
import type { Asked } from './ask.ts'
import type { Token } from './config.ts'
import { Keys } from './idempotency.ts'
import { nextRequest } from './next-request.ts'
import { openApi } from './openapi.ts'
import type { Permits } from './permits.ts'
import { Problem } from './problem.ts'
import { readBody } from './read-body.ts'
import {
  AskBody,
  ExtendBody,
  KeyHeader,
  type OrderGiven,
  PermitPath,
  PoolPath,
  PoolQuery,
  RequestBody,
  RobotsQuery,
} from './schemas.ts'
import { tracedAsk } from './traced.ts'
import { verdict } from './verdict.ts'
import { type Caller, GoneError } from './waiting.ts'

/** A hundred URLs of 8 KB each. */
const BODY_MAX_BYTES = 1024 * 1024
/** Around a body in base64: headers and the rest of a completion. */
const COMPLETION_BYTES = BODY_MAX_BYTES
/** Longer than a caller may wait, and than common clients keep an idle connection. */
const KEEP_ALIVE_MS = 72_000
const HEADERS_WITHIN_MS = 10_000

declare module 'fastify' {
  interface FastifyContextConfig {
    /** answered without a token */
    isOpen?: true
  }
  interface FastifyRequest {
    token: Token
  }
}

export type ServerParts = {
  permits: Permits
  tokens: PermitToken[] | undefined
  registry: Registry
  count: (what: string) => void
  log: Logger
  version: string
}

export function buildServer(parts: ServerParts): FastifyInstance {
  const { permits, tokens, registry, count, log, version } = parts
  const { desk, shadow, asking, holding, held, pools } = permits
  const { ledger, traces, config } = desk
  const completionMaxBytes = COMPLETION_BYTES + Math.ceil(config.PAGE_MAX_BYTES / 3) * 4
  const loggerInstance: FastifyBaseLogger = log.child({}, { level: log.level === 'info' ? 'warn' : log.level })
  const server = Fastify({
    loggerInstance,
    schemaController: noJsonSchema,
    pluginTimeout: 0, // a slow machine takes its time
    childLoggerFactory: (logger) => logger, // one logger for each caller that waits would be a good part of its memory
    bodyLimit: BODY_MAX_BYTES,
    // A path that cannot be decoded belongs to no route, so the handler of errors below is not called for it.
    frameworkErrors: (error, _request, reply) =>
      void tell(reply as FastifyReply, new Problem('bad-request', error.message)),
    forceCloseConnections: true,
    keepAliveTimeout: KEEP_ALIVE_MS,
    requestTimeout: HEADERS_WITHIN_MS,
    routerOptions: { maxParamLength: 8_192 },
    http: { headersTimeout: HEADERS_WITHIN_MS },
  })
  takeJson(server)
  const room = bodyRoom(completionMaxBytes)
  // Before the body is read: who may not ask costs this process a head.
  server.addHook('onRequest', async (request, { raw }) => {
    if (request.is404 || request.routeOptions.config.isOpen === true) return
    request.token = holderOf(request.headers, tokens)
    const { headers, token } = request
    const hasBody = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
    if (hasBody && !room.acquire(headers['content-length'], raw, token.name))
      throw new Problem('busy', 'other large bodies are coming in: send this one again')
  })
  const keys = new Keys<Asked>()
  const document = openApi(version)

  server.setNotFoundHandler((request, reply) =>
    tell(reply, new Problem('not-found', `there is no ${request.method} ${request.url.slice(0, 200)}`)),
  )
  server.setErrorHandler<FastifyError>((error, request, reply) => {
    if (error instanceof Problem) {
      count(error.type)
      return tell(reply, error)
    }
    if (error instanceof GoneError) return reply.code(499).send()
    if (error instanceof LedgerUnavailableError) {
      count('ledger-away')
      return tell(reply, new Problem('ledger-away', 'Redis does not answer: ask again', { retryAfterMs: 1_000 }))
    }
    const status = error.statusCode ?? 500
    if (status < 500)
      return reply
        .code(status)
        .type(PROBLEM)
        .send({ ...new Problem('bad-request', error.message).toJSON(), status })
    request.log.error({ err: error }, 'a request failed')
    return tell(reply, new Problem('internal', 'the log of this process says why'))
  })

  const open = { config: { isOpen: true } } as const
  server.get('/livez', open, () => ({ status: 'alive' }))
  server.get('/readyz', open, (_, reply) =>
    ledger.isReady()
      ? { status: 'ready' }
      : reply.code(503).send({ status: 'waiting', message: 'Redis does not answer' }),
  )
  server.get('/metrics', open, async (_, reply) => reply.type(registry.contentType).send(await registry.metrics()))
  server.get('/openapi.json', open, () => document)

  const by = ({ token }: FastifyRequest): Token => token

  server.post('/v1/permits', async (request, reply) => {
    const token = by(request)
    const asked = readBody(AskBody, request.body)
    const given = request.headers['idempotency-key']
    const key = given === undefined ? undefined : readBody(KeyHeader, given)
    const caller = callerOf(reply)
    const { traceparent } = request.headers
    const parent = typeof traceparent === 'string' ? traceparent : undefined
    const ask = (by: Caller) => tracedAsk(traces, parent, asked, () => asking.ask(asked, token, by))
    const answer =
      key === undefined
        ? await ask(caller)
        : await keys.once(`${token.name} ${key}`, JSON.stringify(asked), caller, {
            first: ask,
            keepMs: (known) => (known.status === 201 ? known.body.leaseMs : 0),
            again: (known) => asking.again(known, token),
          })
    count(answer.status === 201 ? 'granted' : 'wait')
    if (answer.status === 200) return answer.body
    // A caller with an idempotency key comes again for the same permit.
    if (key === undefined && reply.raw.destroyed && answer.permit !== undefined) {
      await desk.giveBack(answer.permit)
      return reply
    }
    return reply.code(201).header('location', `/v1/permits/${answer.body.permit}`).send(answer.body)
  })

  const idOf = (request: FastifyRequest): string => readBody(PermitPath, request.params).permit
  server.get('/v1/permits/:permit', async (request) => {
    const [permit, token] = [idOf(request), by(request)]
    return held(permit).view(permit, token)
  })
  server.patch('/v1/permits/:permit', async (request) => {
    const token = by(request)
    const { leaseMs } = readBody(ExtendBody, request.body)
    const permit = idOf(request)
    count('extended')
    return held(permit).extend(permit, leaseMs, token)
  })
  server.delete('/v1/permits/:permit', async (request) => {
    const [permit, token] = [idOf(request), by(request)]
    const ended = await held(permit).unused(permit, token)
    count(ended)
    return { permit, ended }
  })
  server.post('/v1/permits/:permit/completion', { bodyLimit: completionMaxBytes }, async (request) => {
    const [permit, token] = [idOf(request), by(request)]
    const ended = await held(permit).complete(permit, request.body, token)
    count(ended)
    return { permit, ended }
  })
  server.post('/v1/permits/:permit/requests', async (request, reply) => {
    const [permit, token] = [idOf(request), by(request)]
    const answer = await nextRequest(permit, readBody(RequestBody, request.body).url, token, desk, holding)
    count('next')
    return reply.code(201).send(answer)
  })
  server.post('/v1/pools/:pool/orders', async (request, reply) => {
    const token = by(request)
    const { max, waitMs } = readBody(PoolQuery, request.query)
    const { pool } = readBody(PoolPath, request.params)
    const orders: OrderGiven[] = await pools.ask(pool, max, waitMs, token, callerOf(reply))
    for (const _ of orders) count('order')
    if (reply.raw.destroyed) {
      await pools.releaseUndelivered(orders)
      return reply
    }
    return { orders }
  })
  server.get('/v1/robots', async (request, reply) => {
    const token = by(request)
    const { url, agent } = readBody(RobotsQuery, request.query)
    const answer = await verdict(url, agent, token, desk)
    const seconds = Math.floor(answer.maxAgeMs / 1_000)
    reply.header('cache-control', seconds > 0 ? `private, max-age=${seconds}` : 'no-store')
    return answer
  })
  server.get('/v1/shadow', (request) => shadow.report(by(request)))
  server.delete('/v1/shadow', (request, reply) => {
    shadow.clear(by(request))
    return reply.code(204).send()
  })
  return server
}

const PROBLEM = 'application/problem+json'

function tell(reply: FastifyReply, problem: Problem): FastifyReply {
  if (problem.type === 'unauthorized') reply.header('www-authenticate', 'Bearer')
  if (problem.status === 429 || problem.status === 503) reply.header('retry-after', '1')
  return reply.code(problem.status).type(PROBLEM).send(problem.toJSON())
}

function callerOf({ raw }: FastifyReply): Caller {
  const caller: Caller = { isGone: false }
  raw.once('close', () => {
    caller.isGone = true
    caller.onGone?.()
  })
  return caller
}
