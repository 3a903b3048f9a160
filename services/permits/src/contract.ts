/** Every operation of the API: the server mounts these (server.ts), and /openapi.json describes them. */
import { type Answer, answer, type Operation, problem } from '@decorum/runtime/openapi'
import * as schema from './schemas.ts'

/** Default of PAGE_MAX_BYTES, for the description of the API; the server checks completions against the setting. */
const MOST_BYTES = 10 * 1024 * 1024

const COMMON = {
  400: problem('cannot be read'),
  401: problem('a token is needed'),
  503: problem('Redis does not answer'),
}
/** Answers that all routes of one permit have. */
const OF_PERMIT = { ...COMMON, 404: problem('no permit of this holder'), 410: problem('not held any more') }
const ENDED: Answer = answer('ended; also when it had been', schema.EndedAnswer)

export const routes = {
  requestPermit: {
    method: 'POST',
    url: '/v1/permits',
    schema: {
      operationId: 'askForPermit',
      summary: 'A permit for one request, at once or in turn within waitMs',
      headers: schema.KeyHeader,
      body: schema.PermitBody,
      response: {
        ...COMMON,
        201: answer('granted; Location names the permit', schema.GrantedAnswer),
        200: answer('not yet: ask again after retryAfterMs', schema.WaitAnswer),
        403: problem('robots.txt forbids it (disallowed), or the token may not ask for it (forbidden)'),
        409: problem('never visited: blocked, no contact, guarded address or port, robots.txt itself'),
        410: problem('the permit of this Idempotency-Key has ended'),
        422: problem('this Idempotency-Key came with another request'),
        429: problem('too many callers of this token wait'),
      },
    },
  },
  viewPermit: {
    method: 'GET',
    url: '/v1/permits/:permit',
    schema: {
      operationId: 'viewPermit',
      summary: 'Whether a permit is still held',
      params: schema.PermitPath,
      response: { ...OF_PERMIT, 200: answer('held', schema.HeldAnswer) },
    },
  },
  extendPermit: {
    method: 'PATCH',
    url: '/v1/permits/:permit',
    schema: {
      operationId: 'extendPermit',
      summary: 'The exchange takes longer: a new lease, counted from now',
      params: schema.PermitPath,
      body: schema.ExtendBody,
      response: { ...OF_PERMIT, 200: answer('extended', schema.HeldAnswer) },
    },
  },
  returnPermit: {
    method: 'DELETE',
    url: '/v1/permits/:permit',
    schema: {
      operationId: 'returnPermit',
      summary: 'Nothing was sent; the delay is still owed',
      params: schema.PermitPath,
      response: { ...OF_PERMIT, 200: ENDED },
    },
  },
  completePermit: {
    method: 'POST',
    url: '/v1/permits/:permit/completion',
    schema: {
      operationId: 'completePermit',
      summary: 'The exchange is over, to its last byte or its failure: the delay starts now',
      params: schema.PermitPath,
      body: schema.CompletionBody.or(schema.orderCompletionBody(MOST_BYTES)),
      response: { ...OF_PERMIT, 200: ENDED },
    },
  },
  nextRequest: {
    method: 'POST',
    url: '/v1/permits/:permit/requests',
    schema: {
      operationId: 'nextRequest',
      summary: 'One more request of the same origin under the permit of an order, when its delay is over',
      params: schema.PermitPath,
      body: schema.RequestBody,
      response: {
        ...OF_PERMIT,
        201: answer('it may go', schema.RequestAnswer),
        403: problem('robots.txt forbids it'),
        409: problem('no more requests now'),
      },
    },
  },
  takeOrders: {
    method: 'POST',
    url: '/v1/pools/:pool/orders',
    schema: {
      operationId: 'takeOrders',
      summary: 'Stored URLs for a worker of this pool, each with its permit; none when none came within waitMs',
      params: schema.PoolPath,
      querystring: schema.PoolQuery,
      response: {
        ...COMMON,
        200: answer('the orders', schema.OrdersAnswer),
        403: problem('this token is not for the pool'),
        404: problem('no agent names this pool'),
      },
    },
  },
  judgeUrl: {
    method: 'GET',
    url: '/v1/robots',
    schema: {
      operationId: 'judgeUrl',
      summary: 'What robots.txt says of a URL, without a permit',
      querystring: schema.RobotsQuery,
      response: { ...COMMON, 200: answer('the verdict, cacheable for its stated age', schema.RobotsAnswer) },
    },
  },
  shadowReport: {
    method: 'GET',
    url: '/v1/shadow',
    schema: {
      operationId: 'shadowReport',
      summary: 'Requests in shadow mode of this process that would have waited or been refused',
      response: {
        ...COMMON,
        200: answer(
          'totals, and the lanes whose requests would have waited or been refused most often',
          schema.ShadowAnswer,
        ),
      },
    },
  },
  forgetShadow: {
    method: 'DELETE',
    url: '/v1/shadow',
    schema: {
      operationId: 'forgetShadow',
      summary: 'The record starts anew',
      response: { ...COMMON, 204: { description: 'forgotten' } },
    },
  },
} as const satisfies Record<string, Operation>
