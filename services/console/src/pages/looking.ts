/** Pages that only show: origins, failures, the last hours, readers, fleet, configuration, one URL. */
import { DEFAULT_CRAWL, MAX_ID_CHARS, printableUrl, readUrl } from '@decorum/protocol'
import { Problem, read } from '@decorum/runtime/http-api'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { viewConfiguration, viewFleet } from '../api/fleet.ts'
import { listOrigins } from '../api/list-origins.ts'
import { HISTORY_MINUTES, ListQuery } from '../api/questions.ts'
import { candidateStatus } from '../candidate-status.ts'
import { readHistory } from '../watch/history.ts'
import { reasonsOf } from '../watch/reasons.ts'
import { frameOf, type PageParts, page } from './answer-page.ts'
import { configurationPage } from './configuration-page.ts'
import { failuresFacts, failuresPage } from './failures-page.ts'
import { fleetFacts, fleetPage } from './fleet-page.ts'
import { hoursPage } from './hours-page.ts'
import { type OriginsAsked, originsPage } from './origins-page.ts'
import { readersFacts, readersPage } from './readers-page.ts'
import { urlsPage } from './urls-page.ts'

const READ = { config: { access: 'read' } } as const
const SHOWN = 50

type Asking = FastifyRequest<{ Querystring: Record<string, unknown> }>

export function addLooking(scope: FastifyInstance, parts: PageParts): void {
  addOrigins(scope, parts)
  addUrls(scope, parts)
  const { ledger, config } = parts
  const failures = async () => ({ reasons: await reasonsOf(ledger), now: ledger.wall() })
  scope.get('/failures', READ, async (request, reply) =>
    page(reply, failuresPage({ ...(await failures()), frame: frameOf(parts, request) })),
  )
  scope.get('/failures/facts', READ, async (_request, reply) => page(reply, failuresFacts(await failures()).text))

  scope.get('/hours', READ, async (request, reply) => {
    const history = await readHistory(ledger, HISTORY_MINUTES)
    return page(reply, hoursPage({ history, frame: frameOf(parts, request) }))
  })

  const readers = async () => {
    const [list, unread] = await Promise.all([ledger.readers(DEFAULT_CRAWL), ledger.unread(DEFAULT_CRAWL)])
    return { readers: list, unread: unread.reduce((sum, n) => sum + n, 0), limit: config.outcomesLimit }
  }
  scope.get('/readers', READ, async (request, reply) =>
    page(reply, readersPage({ ...(await readers()), frame: frameOf(parts, request) })),
  )
  scope.get('/readers/facts', READ, async (_request, reply) => page(reply, readersFacts(await readers()).text))

  const fleet = async () => {
    const { members, config: version } = await viewFleet(parts)
    return { members, version }
  }
  scope.get('/fleet', READ, async (request, reply) =>
    page(reply, fleetPage({ ...(await fleet()), frame: frameOf(parts, request) })),
  )
  scope.get('/fleet/facts', READ, async (_request, reply) => page(reply, fleetFacts(await fleet()).text))

  scope.get('/configuration', READ, async (request, reply) => {
    const { current, history } = await viewConfiguration(parts)
    return page(reply, configurationPage({ current, history: history.slice(0, SHOWN), frame: frameOf(parts, request) }))
  })
}

function addOrigins(scope: FastifyInstance, parts: PageParts): void {
  const { ledger, config } = parts
  scope.get('/origins', READ, async (request: Asking, reply) => {
    // Whatever address is typed or pasted: its origin's page
    if (request.query.origin !== undefined) {
      const text = typeof request.query.origin === 'string' ? request.query.origin.trim() : ''
      const at = readUrl(text.includes('://') ? text : `https://${text}`)
      if (!('refused' in at)) return reply.redirect(`/origins/${encodeURIComponent(at.origin)}`, 303)
      return new Problem(400, at.refused, `'${printableUrl(text, 200)}' is no origin: ${at.refused}`)
    }
    const frame = frameOf(parts, request)
    // A form also sends the fields that were not filled in
    const asked = Object.fromEntries(
      Object.entries(request.query).filter(([, value]) => typeof value !== 'string' || value.trim() !== ''),
    )
    const wish = read(ListQuery, asked)
    const list = wish instanceof Problem ? wish : await listOrigins(ledger, config.agents, wish)
    if (list instanceof Problem)
      return page(reply.code(list.status), originsPage({ asked: textsOf(asked), problem: list.message, frame }))
    return page(reply, originsPage({ asked: textsOf(asked), list, frame }))
  })
}

const textsOf = (asked: Record<string, unknown>): OriginsAsked =>
  Object.fromEntries(Object.entries(asked).filter(([, value]) => typeof value === 'string'))

/** URLs that are shown; the same URL may be stored under many ids. */
const MOST_SHOWN = 20

function addUrls(scope: FastifyInstance, parts: PageParts): void {
  const { ledger, config } = parts
  scope.get('/urls', READ, async (request: Asking, reply) => {
    const { what } = request.query
    const asked = typeof what === 'string' ? what.trim() : ''
    const facts = { asked, found: [], now: ledger.wall(), frame: frameOf(parts, request) }
    if (asked === '') return page(reply, urlsPage(facts))
    const agents = config.agents.list.map(({ key }) => key)
    const at = /^https?:/i.test(asked) ? readUrl(asked) : undefined
    if (at !== undefined && 'refused' in at)
      return page(reply.code(400), urlsPage({ ...facts, problem: `This cannot be fetched at all: ${at.refused}.` }))
    if (at === undefined && asked.length > MAX_ID_CHARS)
      return page(reply.code(400), urlsPage({ ...facts, problem: 'This is neither a URL nor an id.' }))
    const which = { agents, crawl: DEFAULT_CRAWL, ...(at === undefined ? { id: asked } : { at }) }
    const { found, notKnown } = await candidateStatus(ledger, which)
    const problem = found.length === 0 ? { problem: `Not found; ${notKnown}.` } : {}
    return page(reply, urlsPage({ ...facts, found: found.slice(0, MOST_SHOWN), ...problem }))
  })
}
