/** Read-only pages: origins, failures, the last hours, readers, fleet, configuration, one URL. */
import { DEFAULT_CRAWL } from '@decorum/protocol'
import { Problem, read } from '@decorum/runtime/http-api'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { cancel } from '../api/candidates.ts'
import { viewConfiguration, viewFleet } from '../api/fleet.ts'
import { listOrigins } from '../api/list-origins.ts'
import { defaultBy } from '../api/mount.ts'
import { CandidatePath, CandidateQuery, HISTORY_MINUTES, HistoryQuery, ListQuery } from '../api/questions.ts'
import { forget } from '../api/readers.ts'
import { find } from '../find.ts'
import { readersOfOthers } from '../watch/crawl-readers.ts'
import { readHistory } from '../watch/history.ts'
import { reasonsOf } from '../watch/reasons.ts'
import { frameOf, type PageParts, page } from './answer-page.ts'
import { configurationPage } from './configuration-page.ts'
import { failuresFacts, failuresPage } from './failures-page.ts'
import { fleetFacts, fleetPage } from './fleet-page.ts'
import { hoursPage } from './hours-page.ts'
import type { FormFields } from './origin-forms.ts'
import { type OriginsAsked, originsPage } from './origins-page.ts'
import { readerOf, readersFacts, readersPage } from './readers-page.ts'
import { urlsPage } from './urls-page.ts'

const READ = { config: { access: 'read' } } as const
const WRITE = { config: { access: 'write' } } as const
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

  scope.get('/hours', READ, async (request: Asking, reply) => {
    const asked = read(HistoryQuery, request.query)
    const minutes = asked instanceof Problem ? HISTORY_MINUTES : asked.minutes
    return page(reply, hoursPage({ history: await readHistory(ledger, minutes), frame: frameOf(parts, request) }))
  })

  const readers = async () => {
    const [list, unread, crawls] = await Promise.all([
      ledger.readers(DEFAULT_CRAWL),
      ledger.unread(DEFAULT_CRAWL),
      ledger.crawls(),
    ])
    const all = [...list, ...(await readersOfOthers(ledger, crawls))]
    return { readers: all, unread: unread.reduce((sum, n) => sum + n, 0), limit: config.outcomesLimit }
  }
  const showReaders = async (request: FastifyRequest, more: { sentence?: string; failed?: boolean } = {}) =>
    readersPage({ ...(await readers()), frame: frameOf(parts, request), by: defaultBy(request), ...more })
  scope.get('/readers', READ, async (request: Asking, reply) => {
    const { forgotten } = request.query
    const done = typeof forgotten === 'string' ? { sentence: `Forgotten: ${forgotten}.` } : {}
    return page(reply, await showReaders(request, done))
  })
  scope.post('/readers', WRITE, async (request, reply) => {
    const { reader = '', reason = '', by = '', confirm } = (request.body ?? {}) as FormFields
    const { crawl, group } = readerOf(reader)
    const who = by.trim() === '' ? defaultBy(request) : by.trim()
    const done =
      confirm === 'yes'
        ? await forget(ledger, { crawl, group, reason: reason.trim(), by: who, force: false })
        : new Problem(400, 'not-confirmed', 'it has to be confirmed')
    if (done instanceof Problem) {
      const sentence = `Not done: ${done.message}.`
      return page(reply.code(done.status), await showReaders(request, { sentence, failed: true }))
    }
    return reply.redirect(`/readers?forgotten=${encodeURIComponent(group)}`, 303)
  })
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
    const frame = frameOf(parts, request)
    // A form also sends empty fields
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

/** Most URLs that are shown; the same URL may be stored under many ids. */
const MOST_SHOWN = 20

function addUrls(scope: FastifyInstance, parts: PageParts): void {
  const { ledger, config } = parts
  const { agents } = config
  const keys = () => agents.list.map(({ key }) => key)
  const show = async (request: FastifyRequest, reply: FastifyReply, asked: string, done?: string) => {
    const sentence = done === undefined ? {} : { sentence: done }
    const facts = { asked, found: [], now: ledger.wall(), frame: frameOf(parts, request) }
    if (asked === '') return page(reply, urlsPage({ ...facts, ...sentence }))
    const answer = await find(ledger, keys(), asked)
    switch (answer.kind) {
      case 'origin':
        return reply.redirect(`/origins/${encodeURIComponent(answer.origin)}`, 303)
      case 'candidates':
        return page(reply, urlsPage({ ...facts, ...sentence, found: answer.found.slice(0, MOST_SHOWN) }))
      case 'nothing':
        return page(answer.wrong ? reply.code(400) : reply, urlsPage({ ...facts, ...answer, ...sentence }))
      default:
        return answer satisfies never
    }
  }
  scope.get('/urls', READ, (request: Asking, reply) => {
    const { what, done } = request.query
    const asked = typeof what === 'string' ? what.trim() : ''
    return show(request, reply, asked, done === 'cancelled' ? 'It was cancelled.' : undefined)
  })
  scope.post('/urls', WRITE, async (request, reply) => {
    const { what = '', id, url = '', crawl } = (request.body ?? {}) as Record<string, string | undefined>
    const asked = read(CandidateQuery, { crawl, ...(url === '' ? {} : { url }) })
    const which = read(CandidatePath, { id })
    if (asked instanceof Problem) return asked
    if (which instanceof Problem) return which
    const done = await cancel(ledger, agents, { ...asked, ...which })
    if (done instanceof Problem) return show(request, reply.code(done.status), what, `Not done: ${done.message}.`)
    return reply.redirect(`/urls?done=cancelled&what=${encodeURIComponent(what)}`, 303)
  })
}
