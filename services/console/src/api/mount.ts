/** Puts the contract's operations on the server: what is asked is read by its schemas before anything is done. */
import type { FastifyInstance } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import type { ConsoleConfig } from '../config.ts'
import { act, listOperations, unknownAgent } from './act.ts'
import { check } from './check.ts'
import { routes } from './contract.ts'
import { describeOrigin, type ToldOrigin } from './describe-origin.ts'
import { listOrigins } from './list-origins.ts'
import { addIntake } from './mount-intake.ts'
import { describeApi } from './openapi.ts'
import { outcomeStreams } from './outcomes-stream.ts'
import type { ApiParts } from './parts.ts'
import { Refusal, readBySchemas } from './route.ts'

export async function addApi(server: FastifyInstance, parts: ApiParts): Promise<void> {
  await server.register(async (scope) => {
    readBySchemas(scope)
    await describeApi(scope, parts.version)
    addOperations(scope, parts)
    addStream(scope, parts)
    await scope.register(async (intake) => addIntake(intake, parts))
  })
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

function addOperations(scope: FastifyInstance, parts: ApiParts): void {
  const api = scope.withTypeProvider<ZodTypeProvider>()
  const { ledger, config } = parts
  const { agents } = config
  api.route({
    ...routes.viewPartitions,
    handler: () => Promise.all(ledger.tags.map((_, partition) => ledger.viewPartition(partition))),
  })
  api.route({ ...routes.viewOrigin, handler: ({ params }) => tellOrigin(parts, params.origin) })
  api.route({ ...routes.listOrigins, handler: ({ query }) => listOrigins(ledger, agents, query) })
  api.route({
    ...routes.listOperations,
    async handler({ query }) {
      return { operations: await listOperations(ledger, query.limit, query.origin) }
    },
  })
  api.route({
    ...routes.check,
    async handler({ query }) {
      const agent = agents.find(query.agent)
      return agent === undefined ? unknownAgent(agents) : check(ledger, agent, query.url)
    },
  })
  api.route({
    ...routes.actOnOrigin,
    async handler({ params, body }) {
      const done = await act(ledger, agents, params.origin, body, defaultBy(config))
      return done instanceof Refusal ? done : { ...(await tellOrigin(parts, params.origin)), ...done }
    },
  })
}

/**
 * The stream writes to the socket itself. @fastify/sse 0.6 was read: its send waits until the response can take more, and an
 * outcome is acknowledged only when the operating system has taken its bytes.
 */
function addStream(scope: FastifyInstance, { config }: ApiParts): void {
  const streams = outcomeStreams(config.redisUrl, config.heartbeatMs)
  scope.addHook('preClose', () => streams.close())
  scope.withTypeProvider<ZodTypeProvider>().route({
    ...routes.streamOutcomes,
    async handler(request, reply) {
      const refusal = await streams.serve({ ...request.query, client: request.ip }, reply.raw, () => {
        reply.hijack()
        reply.raw.writeHead(200, {
          ...(reply.getHeaders() as Record<string, string>),
          'content-type': 'text/event-stream; charset=utf-8',
          'x-accel-buffering': 'no', // nginx would gather events
        })
      })
      return refusal ?? reply
    },
  })
}
