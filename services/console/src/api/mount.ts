/** Mounts the contract's operations on the server: requests are validated by its schemas before anything is done. */

import { sitemapsOf } from '@decorum/ledger/views'
import { type ByZod, Problem, readBySchemas } from '@decorum/runtime/http-api'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { readHistory } from '../watch/history.ts'
import { reasonsOf } from '../watch/reasons.ts'
import { act, listOperations, unknownAgent } from './act.ts'
import { cancel, reportCandidate } from './candidates.ts'
import { check } from './check.ts'
import { contentHandler } from './content.ts'
import { routes } from './contract.ts'
import { changeCrawl, forgetCrawl } from './crawls.ts'
import { type DescribedOrigin, describeOrigin } from './describe-origin.ts'
import { viewConfiguration, viewFleet } from './fleet.ts'
import { listOrigins } from './list-origins.ts'
import { addIntake } from './mount-intake.ts'
import { addOutcomes } from './mount-outcomes.ts'
import { describeApi } from './openapi.ts'
import type { ApiParts } from './parts.ts'
import { changePolicy } from './policies.ts'
import { forget, listReaders } from './readers.ts'
import { changeStops, listStops } from './stops.ts'

export async function addApi(server: FastifyInstance, parts: ApiParts): Promise<void> {
  await server.register(async (scope) => {
    readBySchemas(scope)
    await describeApi(scope, parts.version)
    addOperations(scope, parts)
    addOutcomes(scope, parts)
    addContent(scope, parts)
    await scope.register(async (intake) => addIntake(intake, parts))
  })
}

/** The origin after the action, or as it is. */
export async function reportOrigin({ ledger, config }: ApiParts, origin: string): Promise<DescribedOrigin> {
  const agents = config.agents.list.map((agent) => agent.key)
  const view = await ledger.viewOrigin(origin, agents)
  const sitemaps = await sitemapsOf(ledger, view)
  return { ...describeOrigin(view, config.agents), ...(sitemaps === undefined ? {} : { sitemaps }) }
}

/** The operator if the request names none: the login. */
export const defaultBy = ({ who }: Pick<FastifyRequest, 'who'>): string => who?.user ?? 'console'

function addOperations(scope: FastifyInstance, parts: ApiParts): void {
  const api = scope.withTypeProvider<ByZod>()
  const { ledger, config } = parts
  const { agents } = config
  api.route({
    ...routes.viewPartitions,
    handler: () => Promise.all(ledger.tags.map((_, partition) => ledger.viewPartition(partition))),
  })
  api.route({ ...routes.listStops, handler: ({ query }) => listStops(ledger, query.ended) })
  api.route({ ...routes.changeStops, handler: (request) => changeStops(ledger, request.body, defaultBy(request)) })
  api.route({ ...routes.viewOrigin, handler: ({ params }) => reportOrigin(parts, params.origin) })
  api.route({ ...routes.listOrigins, handler: ({ query }) => listOrigins(ledger, agents, query) })
  api.route({
    ...routes.listOperations,
    async handler({ query }) {
      return { operations: await listOperations(ledger, query.limit, query.origin) }
    },
  })
  api.route({
    ...routes.listCrawls,
    async handler() {
      return { crawls: await ledger.crawls() }
    },
  })
  api.route({
    ...routes.changeCrawl,
    handler: (request) => changeCrawl(ledger, request.params.crawl, request.body, defaultBy(request)),
  })
  api.route({ ...routes.forgetCrawl, handler: ({ params }) => forgetCrawl(ledger, params.crawl) })
  api.route({
    ...routes.viewNotes,
    async handler({ params }) {
      return { notes: await ledger.notesOf(params.origin) }
    },
  })
  api.route({ ...routes.viewHistory, handler: ({ query }) => readHistory(ledger, query.minutes) })
  api.route({
    ...routes.listFailures,
    async handler() {
      return { reasons: await reasonsOf(ledger) }
    },
  })
  api.route({ ...routes.viewFleet, handler: () => viewFleet(parts) })
  api.route({ ...routes.viewConfiguration, handler: () => viewConfiguration(parts) })
  api.route({
    ...routes.viewCandidate,
    handler: ({ params, query }) => reportCandidate(ledger, agents, { ...query, ...params }),
  })
  api.route({
    ...routes.cancelCandidate,
    handler: ({ params, query }) => cancel(ledger, agents, { ...query, ...params }),
  })
  api.route({
    ...routes.listReaders,
    async handler({ query }) {
      return { readers: await listReaders(ledger, query.crawl, config.outcomesLimit) }
    },
  })
  api.route({
    ...routes.forgetReader,
    handler: (request) => forget(ledger, request.params.group, request.query, defaultBy(request)),
  })
  api.route({
    ...routes.setPolicy,
    handler: (request) => changePolicy(parts, request.params.site, request.body, defaultBy(request)),
  })
  api.route({
    ...routes.removePolicy,
    handler: (request) => changePolicy(parts, request.params.site, request.query, defaultBy(request)),
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
    async handler(request) {
      const { params, body } = request
      const done = await act(ledger, agents, params.origin, body, defaultBy(request))
      return done instanceof Problem ? done : { ...(await reportOrigin(parts, params.origin)), ...done }
    },
  })
}

/** The record is streamed to the socket: up to the size of a page, in ranges, and not JSON. */
function addContent(scope: FastifyInstance, { config, ledger }: ApiParts): void {
  const send = contentHandler(config.content, ledger)
  scope.withTypeProvider<ByZod>().route({
    ...routes.getContent,
    async handler(request, reply) {
      for (const [name, value] of Object.entries(reply.getHeaders()))
        if (value !== undefined) reply.raw.setHeader(name, value)
      reply.hijack()
      const { ref, as } = request.query
      await send({ ...ref, as }, request.raw, reply.raw)
      return reply
    },
  })
}
