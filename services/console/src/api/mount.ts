/** Mounts the contract's operations on the server: requests are validated by its schemas before anything is done. */

import { sitemapsOf } from '@decorum/ledger/views'
import { type ByZod, Problem, readBySchemas } from '@decorum/runtime/http-api'
import type { FastifyInstance, RouteHandlerMethod } from 'fastify'
import type { z } from 'zod'
import type { Viewer } from '../access/sessions.ts'
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

/** The present state of an origin, with its sitemaps if they are known. */
export async function reportOrigin({ ledger, config }: ApiParts, origin: string): Promise<DescribedOrigin> {
  const agents = config.agents.list.map((agent) => agent.key)
  const view = await ledger.viewOrigin(origin, agents)
  const sitemaps = await sitemapsOf(ledger, view)
  return { ...describeOrigin(view, config.agents), ...(sitemaps === undefined ? {} : { sitemaps }) }
}

/** The operator if the request names none: the user of its login, or 'console' without logins. */
export const defaultBy = ({ who }: Viewer): string => who?.user ?? 'console'

type Route = (typeof routes)[keyof typeof routes]
type Parsed<R extends Route, Part extends string> =
  R['schema'] extends Record<Part, infer T extends z.ZodType> ? z.output<T> : undefined
/** A request after its parts were parsed by the schemas of its route. */
type Given<R extends Route> = Viewer & {
  params: Parsed<R, 'params'>
  query: Parsed<R, 'querystring'>
  body: Parsed<R, 'body'>
}

function addOperations(scope: FastifyInstance, parts: ApiParts): void {
  const { ledger, config } = parts
  const { agents } = config
  const serve = <R extends Route>(route: R, handler: (request: Given<R>) => unknown) =>
    scope.route({ ...route, handler: handler as RouteHandlerMethod })
  serve(routes.viewPartitions, () => Promise.all(ledger.tags.map((_, partition) => ledger.viewPartition(partition))))
  serve(routes.listStops, ({ query }) => listStops(ledger, query.ended))
  serve(routes.changeStops, (request) => changeStops(ledger, request.body, defaultBy(request)))
  serve(routes.viewOrigin, ({ params }) => reportOrigin(parts, params.origin))
  serve(routes.listOrigins, ({ query }) => listOrigins(ledger, agents, query))
  serve(routes.listOperations, async ({ query }) => ({
    operations: await listOperations(ledger, query.limit, query.origin),
  }))
  serve(routes.listCrawls, async () => ({ crawls: await ledger.crawls() }))
  serve(routes.changeCrawl, (request) => changeCrawl(ledger, request.params.crawl, request.body, defaultBy(request)))
  serve(routes.forgetCrawl, ({ params }) => forgetCrawl(ledger, params.crawl))
  serve(routes.viewNotes, async ({ params }) => ({ notes: await ledger.notesOf(params.origin) }))
  serve(routes.viewHistory, ({ query }) => readHistory(ledger, query.minutes))
  serve(routes.listFailures, async () => ({ reasons: await reasonsOf(ledger) }))
  serve(routes.viewFleet, () => viewFleet(parts))
  serve(routes.viewConfiguration, () => viewConfiguration(parts))
  serve(routes.viewCandidate, ({ params, query }) => reportCandidate(ledger, agents, { ...query, ...params }))
  serve(routes.cancelCandidate, ({ params, query }) => cancel(ledger, agents, { ...query, ...params }))
  serve(routes.listReaders, async ({ query }) => ({
    readers: await listReaders(ledger, query.crawl, config.outcomesLimit),
  }))
  serve(routes.forgetReader, (request) => forget(ledger, request.params.group, request.query, defaultBy(request)))
  serve(routes.setPolicy, (request) => changePolicy(parts, request.params.site, request.body, defaultBy(request)))
  serve(routes.removePolicy, (request) => changePolicy(parts, request.params.site, request.query, defaultBy(request)))
  serve(routes.check, async ({ query }) => {
    const agent = agents.find(query.agent)
    return agent === undefined ? unknownAgent(agents) : check(ledger, agent, query.url)
  })
  serve(routes.actOnOrigin, async (request) => {
    const { params, body } = request
    const done = await act(ledger, agents, params.origin, body, defaultBy(request))
    return done instanceof Problem ? done : { ...(await reportOrigin(parts, params.origin)), ...done }
  })
}

/** Streams the record to the socket, because it may be as large as a page, is sent in ranges, and is not JSON. */
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
