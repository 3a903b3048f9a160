/** The routes: each calls permits.ts and writes the answer. */

import type { PermitToken } from '@decorum/config'
import { LedgerUnavailableError } from '@decorum/ledger'
import { openHttpApi, readBySchemas } from '@decorum/runtime/http-api'
import { openApi } from '@decorum/runtime/openapi'
import type { Registry } from '@decorum/runtime/prometheus'
import { type Caller, GoneError, Problem, type Token } from '@decorum/sending/granting'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Logger } from 'pino'
import { holderOf } from './access.ts'
import type { PermitAnswer } from './ask.ts'
import { routes } from './contract.ts'
import { Keys } from './idempotency.ts'
import { nextRequest } from './next-request.ts'
import type { Permits } from './permits.ts'
import type { OrderGiven } from './schemas.ts'
import { tracedGrant } from './traced.ts'
import { verdict } from './verdict.ts'

/** A hundred URLs of 8 KB each. */
const BODY_MAX_BYTES = 1024 * 1024
/** Extra bytes around a body in base64: headers and the rest of a completion. */
const COMPLETION_BYTES = BODY_MAX_BYTES
const REQUEST_WITHIN_MS = 10_000

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
  const { desk, shadow, granter, holding, held, pools } = permits
  const { ledger, traces, config } = desk
  const completionMaxBytes = COMPLETION_BYTES + Math.ceil(config.PAGE_MAX_BYTES / 3) * 4
  const server = openHttpApi({
    log,
    usualBytes: BODY_MAX_BYTES,
    mostBytes: completionMaxBytes,
    requestMs: REQUEST_WITHIN_MS,
    async guard(request) {
      if (!request.is404 && request.routeOptions.config.isOpen !== true)
        request.token = holderOf(request.headers, tokens)
    },
    callerOf: ({ token }) => token?.name ?? '',
    explain(error) {
      if (error instanceof GoneError) return new Problem('caller-gone', 'nobody waits for this answer')
      if (!(error instanceof LedgerUnavailableError)) return undefined
      return new Problem('ledger-away', 'Redis does not answer: ask again', { retryAfterMs: 1_000 })
    },
    onProblem({ type, status }, reply) {
      if (status === 401) reply.header('www-authenticate', 'Bearer')
      count(type)
    },
  })
  const keys = new Keys<PermitAnswer>(permits.desk.ledger.clock)
  const document = openApi(
    Object.values(routes),
    {
      title: 'Decorum permits',
      version,
      description: 'Permits for other crawlers: one request at a time in each lane of (agent, origin).',
    },
    { type: 'http', scheme: 'bearer' },
  )

  const open = { config: { isOpen: true } } as const
  server.get('/livez', open, () => ({ status: 'alive' }))
  server.get('/readyz', open, (_, reply) =>
    ledger.isReady()
      ? { status: 'ready' }
      : reply.code(503).send({ status: 'waiting', message: 'Redis does not answer' }),
  )
  server.get('/metrics', open, async (_, reply) => reply.type(registry.contentType).send(await registry.metrics()))
  server.get('/openapi.json', open, () => document)

  const api = readBySchemas(server)
  api.route({
    ...routes.requestPermit,
    async handler(request, reply) {
      const { token, body: requested, headers } = request
      const key = headers['idempotency-key']
      const caller = callerOf(reply)
      const parent = typeof headers.traceparent === 'string' ? headers.traceparent : undefined
      const grant = (by: Caller) => tracedGrant(traces, parent, requested, () => granter.grant(requested, token, by))
      const answer =
        key === undefined
          ? await grant(caller)
          : await keys.once(`${token.name} ${key}`, JSON.stringify(requested), caller, {
              first: grant,
              keepMs: (known) => (known.status === 201 ? known.body.leaseMs : 0),
              again: (known) => granter.again(known, token),
            })
      count(answer.status === 201 ? 'granted' : 'wait')
      if (answer.status === 200) return answer.body
      // A caller with an idempotency key may request the same permit again, so the permit is not released.
      if (key === undefined && reply.raw.destroyed && answer.permit !== undefined) {
        await desk.giveBack(answer.permit)
        return reply
      }
      return reply.code(201).header('location', `/v1/permits/${answer.body.permit}`).send(answer.body)
    },
  })
  api.route({
    ...routes.viewPermit,
    handler: async ({ params: { permit }, token }) => held(permit).view(permit, token),
  })
  api.route({
    ...routes.extendPermit,
    async handler({ params: { permit }, body, token }) {
      count('extended')
      return held(permit).extend(permit, body.leaseMs, token)
    },
  })
  const endedAs = (permit: string, ended: string) => {
    count(ended)
    return { permit, ended }
  }
  api.route({
    ...routes.returnPermit,
    handler: async ({ params: { permit }, token }) => endedAs(permit, await held(permit).unused(permit, token)),
  })
  void server.register(async (scope) => {
    readBySchemas(scope, false).route({
      ...routes.completePermit,
      bodyLimit: completionMaxBytes,
      handler: async ({ params: { permit }, body, token }) =>
        endedAs(permit, await held(permit).complete(permit, body as unknown, token)),
    })
  })
  api.route({
    ...routes.nextRequest,
    async handler({ params: { permit }, body: { url }, token }, reply) {
      const answer = await nextRequest(permit, url, token, desk, holding)
      count('next')
      return reply.code(201).send(answer)
    },
  })
  api.route({
    ...routes.takeOrders,
    async handler({ params: { pool }, query: { max, waitMs }, token }, reply) {
      const orders: OrderGiven[] = await pools.request(pool, max, waitMs, token, callerOf(reply))
      for (const _ of orders) count('order')
      if (reply.raw.destroyed) {
        await pools.releaseUndelivered(orders)
        return reply
      }
      return { orders }
    },
  })
  api.route({
    ...routes.judgeUrl,
    async handler({ query: { url, agent }, token }, reply) {
      const answer = await verdict(url, agent, token, desk)
      const seconds = Math.floor(answer.maxAgeMs / 1_000)
      reply.header('cache-control', seconds > 0 ? `private, max-age=${seconds}` : 'no-store')
      return answer
    },
  })
  api.route({ ...routes.shadowReport, handler: ({ token }) => shadow.report(token) })
  api.route({
    ...routes.forgetShadow,
    handler({ token }, reply) {
      shadow.clear(token)
      return reply.code(204).send()
    },
  })
  return server
}

function callerOf({ raw }: FastifyReply): Caller {
  const caller: Caller = { isGone: false }
  raw.once('close', () => {
    caller.isGone = true
    caller.onGone?.()
  })
  return caller
}
