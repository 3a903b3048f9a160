/** The API described: OpenAPI 3.1, which speaks JSON Schema 2020-12, from the schemas that requests are read by. */
import { z } from 'zod'
import * as schema from './schemas.ts'

type Json = Record<string, unknown>
type Operation = {
  id: string
  summary: string
  path?: z.ZodObject
  query?: z.ZodObject
  key?: true
  body?: z.ZodType
  answers: Record<number, [description: string, schema?: z.ZodType, type?: string]>
}

/** The default of PAGE_MAX_BYTES. */
const MOST_BYTES = 10 * 1024 * 1024

const problem = (what: string): [string, z.ZodType, string] => [what, schema.ProblemAnswer, 'application/problem+json']
const COMMON = {
  400: problem('cannot be read'),
  401: problem('a token is needed'),
  503: problem('Redis does not answer'),
}
/** Of the routes of one permit. */
const OF_PERMIT = { 404: problem('no permit of this holder'), 410: problem('not held any more') }

const PATHS: Record<string, Record<string, Operation>> = {
  '/v1/permits': {
    post: {
      id: 'askForPermit',
      summary: 'A permit for one request, at once or in turn within waitMs',
      key: true,
      body: schema.AskBody,
      answers: {
        201: ['granted; Location names the permit', schema.GrantedAnswer],
        200: ['not yet: ask again after retryAfterMs', schema.WaitAnswer],
        403: problem('robots.txt forbids it (disallowed), or the token may not ask for it (forbidden)'),
        409: problem('never visited: blocked, no contact, guarded address or port, robots.txt itself'),
        410: problem('the permit of this Idempotency-Key has ended'),
        422: problem('this Idempotency-Key came with another request'),
        429: problem('too many callers of this token wait'),
      },
    },
  },
  '/v1/permits/{permit}': {
    get: {
      id: 'viewPermit',
      summary: 'Whether it is still held',
      answers: { 200: ['held', schema.HeldAnswer] },
    },
    patch: {
      id: 'extendPermit',
      summary: 'The exchange takes longer: a new lease, counted from now',
      body: schema.ExtendBody,
      answers: { 200: ['extended', schema.HeldAnswer] },
    },
    delete: {
      id: 'returnPermit',
      summary: 'Nothing was sent; the delay is owed all the same',
      answers: { 200: ['given back', schema.EndedAnswer] },
    },
  },
  '/v1/permits/{permit}/completion': {
    post: {
      id: 'completePermit',
      summary: 'The exchange is over, to its last byte or its failure: the delay starts now',
      body: z.union([schema.CompletionBody, schema.orderCompletionBody(MOST_BYTES)]),
      answers: { 200: ['completed; also when it had been', schema.EndedAnswer] },
    },
  },
  '/v1/permits/{permit}/requests': {
    post: {
      id: 'nextRequest',
      summary: 'One more request of the same origin under the permit of an order, when its delay is over',
      body: schema.RequestBody,
      answers: {
        201: ['it may go', schema.RequestAnswer],
        403: problem('robots.txt forbids it'),
        409: problem('no more requests now'),
      },
    },
  },
  '/v1/pools/{pool}/orders': {
    post: {
      id: 'takeOrders',
      summary: 'Stored URLs for a worker of this pool, each with its permit; none when none came within waitMs',
      path: schema.PoolPath,
      query: schema.PoolQuery,
      answers: {
        200: ['the orders', schema.OrdersAnswer],
        403: problem('this token is not for the pool'),
        404: problem('no agent names this pool'),
      },
    },
  },
  '/v1/robots': {
    get: {
      id: 'judgeUrl',
      summary: 'What robots.txt says of a URL, without a permit',
      query: schema.RobotsQuery,
      answers: { 200: ['the verdict, cacheable for its stated age', schema.RobotsAnswer] },
    },
  },
  '/v1/shadow': {
    get: {
      id: 'shadowReport',
      summary: 'What would have waited or been refused of the requests in shadow mode that this process heard of',
      answers: { 200: ['counts, and the lanes with most of them', schema.ShadowAnswer] },
    },
    delete: { id: 'forgetShadow', summary: 'The record starts anew', answers: { 204: ['forgotten'] } },
  },
}

export function openApi(version: string): Json {
  const paths = Object.fromEntries(
    Object.entries(PATHS).map(([path, operations]) => [
      path,
      Object.fromEntries(Object.entries(operations).map(([method, operation]) => [method, describe(path, operation)])),
    ]),
  )
  return {
    openapi: '3.1.1',
    info: {
      title: 'Decorum permits',
      version,
      description: 'Permits for other crawlers: one request at a time in each lane of (agent, origin).',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    paths,
    components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
    security: [{}, { token: [] }],
  }
}

function describe(route: string, { id, summary, path, query, key, body, answers }: Operation): Json {
  const isOfPermit = route.includes('{permit}')
  const all: Operation['answers'] = { ...answers, ...(isOfPermit ? OF_PERMIT : {}), ...COMMON }
  const parameters = [...parametersOf('path', isOfPermit ? schema.PermitPath : path), ...parametersOf('query', query)]
  if (key) parameters.push({ name: 'Idempotency-Key', in: 'header', required: false, schema: print(schema.KeyHeader) })
  return {
    operationId: id,
    summary,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body && { requestBody: { content: { 'application/json': { schema: print(body) } } } }),
    responses: Object.fromEntries(
      Object.entries(all).map(([status, [description, shape, type = 'application/json']]) => [
        status,
        { description, ...(shape && { content: { [type]: { schema: print(shape) } } }) },
      ]),
    ),
  }
}

function parametersOf(place: 'path' | 'query', shape: z.ZodObject | undefined): Json[] {
  if (shape === undefined) return []
  const { properties = {}, required = [] } = print(shape) as { properties?: Record<string, Json>; required?: string[] }
  return Object.entries(properties).map(([name, one]) => ({
    name,
    in: place,
    required: required.includes(name),
    schema: one,
  }))
}

function print(shape: z.ZodType): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(shape, { io: 'input' }) as Json
  return rest
}
