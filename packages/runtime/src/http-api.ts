/**
 * The HTTP stack of services for outside programs: one Fastify whose requests are bounded before they are parsed, validated by zod
 * (`readBySchemas`), and answered with a problem (RFC 9457) when they fail. `openapi.ts` describes its routes.
 */
import { PROBLEM_TYPE, printableUrl, REQUEST_HEAD_BYTES } from '@decorum/protocol'
import { systemClock } from '@decorum/protocol/time'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifySchemaCompiler,
  type FastifyTypeProvider,
} from 'fastify'
import type { Logger } from 'pino'
import { z } from 'zod'
import { bodyRoom, SMALL_BYTES } from './body-room.ts'
import { takeJson } from './json-bodies.ts'
import { Problem } from './problem.ts'

export { Problem }

export type HttpApiOptions = {
  log: Logger
  /** `usualBytes`: limit of one body, unless its route has another; `mostBytes`: limit on any route */
  usualBytes: number
  mostBytes: number
  /** a request that has not arrived completely by then is dropped; an answer has no time limit */
  requestMs: number
  trustProxy?: false | string[]
  /** authorizes the caller: called before the body is read, so that an unauthorized request costs only its head */
  guard: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>
  /** identifies the sender of a body, so that one caller leaves room for others */
  callerOf?: (request: FastifyRequest) => string
  /** the problem for an error of another class; undefined: its status decides */
  explain: (error: FastifyError) => Problem | undefined
  onProblem?: (problem: Problem, reply: FastifyReply) => void
}

/** Longer than common clients keep an idle connection, and than a caller may wait for a permit. */
const KEEP_ALIVE_MS = 72_000
/** Limit for the head of a request: a connection that sends nothing is closed after this. */
const HEADERS_WITHIN_MS = 10_000
/** How often connections are checked for the limits of a head and of a whole request. */
const CHECK_EVERY_MS = 1_000

/** Makes a server that does not listen yet. Routes and plugins are added afterwards. */
export function openHttpApi(options: HttpApiOptions): FastifyInstance {
  const { log, requestMs, explain, onProblem } = options
  // Fastify's own lines are logged only for failures: one open page of the console causes a request every two seconds.
  const loggerInstance: FastifyBaseLogger = log.child({}, { level: log.level === 'info' ? 'warn' : log.level })
  const sendProblem = (reply: FastifyReply, problem: Problem): FastifyReply => {
    const { status, more } = problem
    onProblem?.(problem, reply)
    if (status === 429 || status === 503)
      reply.header('retry-after', String(Math.ceil(Number(more.retryAfterMs ?? 1_000) / 1_000)))
    const text = JSON.stringify(problem)
    reply.code(status).type(PROBLEM_TYPE)
    return isLargeAndUnread(reply.request) ? sendUnread(reply, text) : reply.send(text)
  }
  const server = Fastify({
    loggerInstance,
    schemaController: { compilersFactory: { buildValidator: refused, buildSerializer: refused } },
    pluginTimeout: 0, // no limit: a slow machine needs longer to load plugins
    childLoggerFactory: (logger) => logger, // a logger for each waiting caller would take much memory
    trustProxy: options.trustProxy ?? false,
    bodyLimit: options.usualBytes,
    // A path that cannot be decoded belongs to no route, so the error handler below is not called for it.
    frameworkErrors: (error, _request, reply) =>
      void sendProblem(reply as FastifyReply, new Problem(error.statusCode ?? 400, 'bad-request', error.message)),
    forceCloseConnections: true, // an idle connection of a browser does not delay the end
    routerOptions: { maxParamLength: 8_192 }, // room for an origin with its escapes
    keepAliveTimeout: KEEP_ALIVE_MS,
    requestTimeout: requestMs,
    http: {
      maxHeaderSize: REQUEST_HEAD_BYTES,
      headersTimeout: Math.min(HEADERS_WITHIN_MS, requestMs),
      connectionsCheckingInterval: Math.min(CHECK_EVERY_MS, requestMs),
    },
  })
  takeJson(server)
  const holdRoom = bodiesBounded(options)
  server.addHook('onRequest', async (request, reply) => {
    try {
      await options.guard(request, reply)
      if (reply.sent) return await reply
      holdRoom(request, reply)
      return undefined
    } catch (error) {
      if (error instanceof Problem) return sendProblem(reply, error) // not through the error handler: a plugin may have its own
      throw error
    }
  })
  server.setNotFoundHandler((request) => {
    throw noRoute(request)
  })
  server.setErrorHandler<FastifyError>((error, request, reply) => {
    if (error instanceof Problem) return sendProblem(reply, error)
    const explained = explain(error)
    if (explained !== undefined) return sendProblem(reply, explained)
    const status = error.statusCode ?? 500
    if (status < 500) return sendProblem(reply, new Problem(status, 'bad-request', error.message))
    request.log.error({ err: error }, 'a request failed')
    return sendProblem(reply, new Problem(status, 'internal', 'the log of this process says why'))
  })
  return server
}

/** How long a client that is still sending has to read the answer. */
const UNREAD_MS = 1_000

/** Whether a large body, or one of unknown length, has not arrived completely. */
function isLargeAndUnread({ raw, headers }: FastifyRequest): boolean {
  const { 'content-length': length, 'transfer-encoding': coding } = headers
  return !raw.complete && (coding !== undefined || Number(length ?? 0) > SMALL_BYTES)
}

/**
 * Node reads the rest of a body once its request has been answered. Here the rest is not read: the connection is closed instead, after the
 * client has had time to read the answer.
 */
function sendUnread(reply: FastifyReply, text: string): FastifyReply {
  const { raw, statusCode } = reply
  reply.header('connection', 'close').header('content-length', Buffer.byteLength(text)).hijack()
  for (const [name, value] of Object.entries(reply.getHeaders())) if (value !== undefined) raw.setHeader(name, value)
  raw.writeHead(statusCode)
  raw.write(text)
  systemClock.timeout(() => raw.destroy(), UNREAD_MS).unref()
  return reply
}

/** Fastify's own compilers of JSON Schema, ajv and fast-json-stringify, are not loaded (100 modules: docs/decisions/0010-compiled-code-is-kept.md). */
const refused = (): never => {
  throw new Error('a route has a JSON Schema, and Fastify was started without what compiles one')
}

const noRoute = ({ method, url }: FastifyRequest): Problem =>
  new Problem(404, 'not-found', `there is no ${method} ${printableUrl(url, 200)}`)

/** Large bodies are read only while there is room for all of them; the body of a request without a route is not read. */
function bodiesBounded({ mostBytes, callerOf }: HttpApiOptions) {
  const room = bodyRoom(mostBytes)
  return (request: FastifyRequest, { raw }: FastifyReply): void => {
    if (request.is404) throw noRoute(request)
    const { 'content-length': length, 'transfer-encoding': coding } = request.headers
    const hasBody = length !== undefined || coding !== undefined
    if (!hasBody || request.method === 'GET' || request.method === 'HEAD') return // their bodies are not read
    const most = request.routeOptions.bodyLimit ?? mostBytes // also for a body without a length
    if (!room.acquire(Math.min(Number(length ?? most), most), raw, callerOf?.(request)))
      throw new Problem(503, 'busy', 'other large bodies are coming in: send this one again')
  }
}

/** The input, parsed by the schema; or a Problem with the first error. */
export function read<T extends z.ZodType>(schema: T, given: unknown): z.output<T> | Problem {
  const parsed = schema.safeParse(given ?? {})
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  const where = issue?.path.join('.') ?? ''
  const type = issue?.code === 'custom' && typeof issue.params?.error === 'string' ? issue.params.error : 'bad-request'
  return new Problem(400, type, `${where === '' ? '' : `${where}: `}${issue?.message ?? 'cannot be read'}`)
}

/** Adds an error to a schema's refinement, with a type for programs. */
export function complain(context: z.RefinementCtx, error: string, message: string): never {
  context.addIssue({ code: 'custom', message, params: { error } })
  return z.NEVER
}

/** The types of requests, from the schemas of their route. */
export interface ByZod extends FastifyTypeProvider {
  validator: this['schema'] extends z.ZodType ? z.output<this['schema']> : unknown
}

const byZod: FastifySchemaCompiler<z.ZodType> =
  ({ schema }) =>
  (data: unknown) => {
    const value = read(schema, data)
    return value instanceof Problem ? { error: value } : { value }
  }

/**
 * Requests to routes of this scope are parsed by their schemas. Answers are not checked against theirs each time: tests do that.
 * @param bodies  false: handlers read the body themselves
 */
export function readBySchemas(scope: FastifyInstance, bodies = true) {
  scope.setValidatorCompiler<z.ZodType>((route) => (bodies || route.httpPart !== 'body' ? byZod(route) : () => true))
  scope.setSerializerCompiler(() => JSON.stringify)
  return scope.withTypeProvider<ByZod>()
}
