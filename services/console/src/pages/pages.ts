/** The pages: the overview, operators' forms, the page of each origin; read-only pages are in looking.ts. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { readUrl } from '@decorum/protocol'
import { plainText } from '@decorum/robots'
import { Problem, read } from '@decorum/runtime/http-api'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { act, listOperations, unknownAgent } from '../api/act.ts'
import { OPERATIONS } from '../api/answers.ts'
import { check } from '../api/check.ts'
import { defaultBy, reportOrigin } from '../api/mount.ts'
import { changePolicy } from '../api/policies.ts'
import { ActionBody, OriginPath, StopBody } from '../api/questions.ts'
import { changeStops, listStops } from '../api/stops.ts'
import { frameOf, type PageParts, page } from './answer-page.ts'
import { addCrawls } from './crawls.ts'
import { addLogin } from './login.ts'
import { addLooking } from './looking.ts'
import { actionOf, type FormFields } from './origin-forms.ts'
import { type OriginFacts, type OriginPageFacts, originFacts, originPage } from './origin-page.ts'
import { overviewMain, overviewPage } from './overview-page.ts'
import { policyOf } from './policy-form.ts'
import { siteOwnersPage } from './site-owners-page.ts'
import { type StopFields, type StopsPageFacts, stopRequestOf, stopsPage } from './stops-page.ts'

const OPERATIONS_SHOWN = 10
const FORM_MAX_BYTES = 64 * 1024

const READ = { config: { access: 'read' } } as const
const WRITE = { config: { access: 'write' } } as const

export function addPages(scope: FastifyInstance, parts: PageParts): void {
  scope.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: FORM_MAX_BYTES },
    (_request, body, done) => done(null, Object.fromEntries(new URLSearchParams(String(body)))),
  )
  addOverview(scope, parts)
  addStatic(scope)
  addLogin(scope, parts)
  addLooking(scope, parts)
  addStops(scope, parts)
  addOrigin(scope, parts)
  addCrawls(scope, parts)
  addSiteOwners(scope, parts)
}

function addOverview(scope: FastifyInstance, parts: PageParts): void {
  const { look, pace, config } = parts
  const facts = async () => ({ look: await look(), pace, outcomesLimit: config.outcomesLimit })
  scope.get('/', READ, async (request, reply) =>
    page(reply, overviewPage({ ...(await facts()), frame: frameOf(parts, request) })),
  )
  scope.get('/overview', READ, async (_request, reply) => page(reply, overviewMain(await facts()).text))
}

const CSS = 'text/css; charset=utf-8'
const JAVASCRIPT = 'text/javascript; charset=utf-8'

/** Files of the login page are open; they reveal nothing about the fleet. */
function addStatic(scope: FastifyInstance): void {
  const { resolve } = createRequire(import.meta.url)
  const uplot = join(dirname(resolve('uplot/package.json')), 'dist')
  const own = join(import.meta.dirname, 'static')
  for (const [name, file, type, access] of [
    ['console.css', join(own, 'console.css'), CSS, 'open'],
    ['icon.svg', join(own, 'icon.svg'), 'image/svg+xml', 'open'],
    ['console.js', join(own, 'console.js'), JAVASCRIPT, 'read'],
    ['idiomorph.js', resolve('idiomorph/dist/idiomorph.min.js'), JAVASCRIPT, 'read'],
    ['charts.js', join(own, 'charts.js'), JAVASCRIPT, 'read'],
    ['uplot.js', join(uplot, 'uPlot.iife.min.js'), JAVASCRIPT, 'read'],
    ['uplot.css', join(uplot, 'uPlot.min.css'), CSS, 'read'],
  ] as const) {
    const body = readFileSync(file)
    scope.get(`/static/${name}`, { config: { access } }, (_request, reply) => reply.type(type).send(body))
  }
}

/** Open: a User-Agent links to it. */
function addSiteOwners(scope: FastifyInstance, { config: { agents, contact } }: PageParts): void {
  scope.get('/site-owners', { config: { access: 'open' } }, (_request, reply) =>
    page(reply, siteOwnersPage({ agents: agents.list, contact })),
  )
}

function addStops(scope: FastifyInstance, parts: PageParts): void {
  const { ledger } = parts
  const show = async (request: FastifyRequest, more: Partial<StopsPageFacts> = {}): Promise<string> => {
    const told = more.told ?? (await listStops(ledger, false))
    return stopsPage({ told, by: defaultBy(request), frame: frameOf(parts, request), ...more })
  }
  scope.get('/stops', READ, async (request, reply) => page(reply, await show(request)))
  scope.post('/stops', WRITE, async (request, reply) => {
    const by = defaultBy(request)
    const fields = (request.body ?? {}) as StopFields
    const isConfirmed = fields.action === 'lift' || fields.confirm === 'yes'
    const asked = isConfirmed ? read(StopBody, stopRequestOf(fields)) : NOT_CONFIRMED
    const told = asked instanceof Problem ? asked : await changeStops(ledger, asked, by)
    if (told instanceof Problem)
      return page(reply.code(told.status), await show(request, { problem: { message: told.message, fields } }))
    return told.unreached === undefined ? reply.redirect('/stops', 303) : page(reply, await show(request, { told }))
  })
}
const NOT_CONFIRMED = new Problem(400, 'not-confirmed', 'a stop has to be confirmed')

type ShowOrigin = (request: FastifyRequest, origin: string, more: Partial<OriginPageFacts>) => Promise<string>
type Asking = FastifyRequest<{ Params: { origin: string }; Querystring: Record<string, unknown> }>

function addOrigin(scope: FastifyInstance, parts: PageParts): void {
  const { ledger, config } = parts
  const { agents } = config
  const factsOf = async (origin: string): Promise<OriginFacts> => {
    const [told, operations, notes] = await Promise.all([
      reportOrigin(parts, origin),
      listOperations(ledger, OPERATIONS_SHOWN, origin),
      ledger.notesOf(origin),
    ])
    return { origin: told, operations, notes }
  }
  const show: ShowOrigin = async (request, origin, more) => {
    const facts = await factsOf(origin)
    return originPage({
      ...facts,
      frame: frameOf(parts, request),
      agents: agents.list,
      by: defaultBy(request),
      ...more,
    })
  }
  /** returns the origin in the address, or sends the refusal */
  const originOf = (request: Asking): string | Problem => {
    const asked = read(OriginPath, request.params)
    return asked instanceof Problem ? asked : asked.origin
  }

  scope.get('/origins/:origin', READ, async (request: Asking, reply) => {
    const origin = originOf(request)
    if (origin instanceof Problem) return origin
    const { done } = request.query
    const shown = {
      done: ([...OPERATIONS, 'policy'] as const).find((one) => one === done),
      asked: await askedAbout(parts, origin, request.query),
    }
    return page(reply, await show(request, origin, shown))
  })
  scope.get('/origins/:origin/facts', READ, async (request: Asking, reply) => {
    const origin = originOf(request)
    if (origin instanceof Problem) return origin
    return page(reply, originFacts(await factsOf(origin)).text)
  })
  scope.get('/origins/:origin/robots.txt', READ, async (request: Asking, reply) => {
    const origin = originOf(request)
    if (origin instanceof Problem) return origin
    const { state } = await ledger.viewOrigin(origin, [])
    const body = state.copy && (await ledger.body(ledger.partitionOf(origin), state.copy.hash))
    if (body === undefined) return new Problem(404, 'no-copy', 'no copy of its robots.txt is stored')
    return reply.type('text/plain; charset=utf-8').send(Buffer.from(plainText(body))) // untrusted text: browsers must not interpret it as anything else
  })
  scope.post('/origins/:origin', WRITE, async (request: Asking, reply) => {
    const origin = originOf(request)
    if (origin instanceof Problem) return origin
    const fields = (request.body ?? {}) as FormFields
    const action = read(ActionBody, actionOf(fields))
    const done = action instanceof Problem ? action : await act(ledger, agents, origin, action, defaultBy(request))
    if (done instanceof Problem) {
      return page(reply.code(done.status), await show(request, origin, { problem: { problem: done, fields } }))
    }
    // A redirect to a separate request, so that reloading the page repeats nothing
    return reply.redirect(`/origins/${encodeURIComponent(origin)}?done=${encodeURIComponent(fields.action ?? '')}`, 303)
  })
  addPolicy(scope, parts, show)
}

/** The form of the policy: `FormFields` of policy-form.ts. */
function addPolicy(scope: FastifyInstance, parts: PageParts, show: ShowOrigin): void {
  scope.post('/origins/:origin/policy', WRITE, async (request: Asking, reply) => {
    const asked = read(OriginPath, request.params)
    if (asked instanceof Problem) return asked
    const { origin } = asked
    const fields = (request.body ?? {}) as FormFields
    const { site = '', reason = '', by = '' } = fields
    const done = await changePolicy(parts, {
      site: site.trim(),
      policy: policyOf(fields),
      reason: reason.trim(),
      by: by.trim() === '' ? defaultBy(request) : by.trim(),
    })
    if (done instanceof Problem)
      return page(reply.code(done.status), await show(request, origin, { policyProblem: { problem: done, fields } }))
    return reply.redirect(`/origins/${encodeURIComponent(origin)}?done=policy`, 303)
  })
}

async function askedAbout(
  { ledger, config: { agents } }: PageParts,
  origin: string,
  { path, agent: name }: Record<string, unknown>,
): Promise<OriginPageFacts['asked']> {
  if (typeof path !== 'string') return undefined
  const agent = agents.find(typeof name === 'string' && name !== '' ? name : undefined)
  const asked = { path, agent: agent?.key ?? '' }
  if (agent === undefined) return { ...asked, problem: unknownAgent(agents) }
  const at = readUrl(origin + (path.startsWith('/') ? path : `/${path}`))
  if ('refused' in at) return { ...asked, problem: new Problem(400, at.refused, `this is no path: ${at.refused}`) }
  return { ...asked, answer: await check(ledger, agent, at) }
}
