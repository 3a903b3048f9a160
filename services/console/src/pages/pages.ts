/** The pages: the overview, one page per origin with its forms, and what they are made of. */
import { readFileSync } from 'node:fs'
import { printableUrl, readUrl } from '@decorum/protocol'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { act, listOperations, unknownAgent } from '../api/act.ts'
import { OPERATIONS } from '../api/answers.ts'
import { check } from '../api/check.ts'
import { defaultBy, tellOrigin } from '../api/mount.ts'
import type { ApiParts } from '../api/parts.ts'
import { ActionBody, OriginPath, StopBody } from '../api/questions.ts'
import { Refusal, read, refuse } from '../api/route.ts'
import { changeStops, listStops } from '../api/stops.ts'
import type { Look } from '../watch/looks.ts'
import type { Pace } from '../watch/pace.ts'
import { actionOf, type FormFields } from './origin-forms.ts'
import { type OriginPageFacts, originFacts, originPage } from './origin-page.ts'
import { overviewMain, overviewPage } from './overview-page.ts'
import { type StopFields, type StopsPageFacts, stopRequestOf, stopsPage } from './stops-page.ts'

export type PageParts = ApiParts & { look: () => Promise<Look>; pace: Pace }

const OPERATIONS_SHOWN = 10
const FORM_MAX_BYTES = 16_384

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
  addStops(scope, parts)
  addOrigin(scope, parts)
}

const page = (reply: FastifyReply, text: string): FastifyReply => reply.type('text/html; charset=utf-8').send(text)

function addOverview(scope: FastifyInstance, { look, pace, config, version }: PageParts): void {
  const facts = async () => ({ look: await look(), pace, outcomesLimit: config.outcomesLimit, version })
  scope.get('/', READ, async (_request, reply) => page(reply, overviewPage(await facts())))
  scope.get('/overview', READ, async (_request, reply) => page(reply, overviewMain(await facts()).text))
}

function addStatic(scope: FastifyInstance): void {
  for (const [name, type] of [
    ['console.css', 'text/css; charset=utf-8'],
    ['console.js', 'text/javascript; charset=utf-8'],
    ['icon.svg', 'image/svg+xml'],
  ] as const) {
    const body = readFileSync(new URL(`./static/${name}`, import.meta.url))
    scope.get(`/static/${name}`, READ, (_request, reply) => reply.type(type).send(body))
  }
}

function addStops(scope: FastifyInstance, { ledger, config, version }: PageParts): void {
  const by = defaultBy(config)
  const show = async (more: Partial<StopsPageFacts> = {}): Promise<string> =>
    stopsPage({ told: more.told ?? (await listStops(ledger, false)), by, version, ...more })
  scope.get('/stops', READ, async (_request, reply) => page(reply, await show()))
  scope.post('/stops', WRITE, async (request, reply) => {
    const fields = (request.body ?? {}) as StopFields
    const isConfirmed = fields.action === 'lift' || fields.confirm === 'yes'
    const asked = isConfirmed ? read(StopBody, stopRequestOf(fields)) : NOT_CONFIRMED
    const told = asked instanceof Refusal ? asked : await changeStops(ledger, asked, by)
    if (told instanceof Refusal)
      return page(reply.code(told.status), await show({ problem: { message: told.problem.message, fields } }))
    return told.unreached === undefined ? reply.redirect('/stops', 303) : page(reply, await show({ told }))
  })
}
const NOT_CONFIRMED = new Refusal(400, 'not-confirmed', 'a stop has to be confirmed')

type Asking = FastifyRequest<{ Params: { origin: string }; Querystring: Record<string, unknown> }>

function addOrigin(scope: FastifyInstance, parts: PageParts): void {
  const { ledger, config, version } = parts
  const { agents } = config
  const show = async (origin: string, more: Partial<OriginPageFacts>): Promise<string> => {
    const [told, operations] = await Promise.all([
      tellOrigin(parts, origin),
      listOperations(ledger, OPERATIONS_SHOWN, origin),
    ])
    return originPage({ origin: told, operations, version, agents: agents.list, by: defaultBy(config), ...more })
  }
  /** the origin of the address, or the refusal is sent */
  const originOf = (request: Asking): string | Refusal => {
    const asked = read(OriginPath, request.params)
    return asked instanceof Refusal ? asked : asked.origin
  }

  // Whatever address is typed or pasted: its origin's page
  scope.get('/origins', READ, async (request: FastifyRequest<{ Querystring: { origin?: unknown } }>, reply) => {
    const text = typeof request.query.origin === 'string' ? request.query.origin.trim() : ''
    const at = readUrl(text.includes('://') ? text : `https://${text}`)
    if (!('refused' in at)) return reply.redirect(`/origins/${encodeURIComponent(at.origin)}`, 303)
    return refuse(reply, new Refusal(400, at.refused, `'${printableUrl(text, 200)}' is no origin: ${at.refused}`))
  })
  scope.get('/origins/:origin', READ, async (request: Asking, reply) => {
    const origin = originOf(request)
    if (origin instanceof Refusal) return refuse(reply, origin)
    const { done } = request.query
    const shown = {
      done: OPERATIONS.find((one) => one === done),
      asked: await askedAbout(parts, origin, request.query),
    }
    return page(reply, await show(origin, shown))
  })
  scope.get('/origins/:origin/facts', READ, async (request: Asking, reply) => {
    const origin = originOf(request)
    if (origin instanceof Refusal) return refuse(reply, origin)
    const [told, operations] = await Promise.all([
      tellOrigin(parts, origin),
      listOperations(ledger, OPERATIONS_SHOWN, origin),
    ])
    return page(reply, originFacts({ origin: told, operations }).text)
  })
  scope.get('/origins/:origin/robots.txt', READ, async (request: Asking, reply) => {
    const origin = originOf(request)
    if (origin instanceof Refusal) return refuse(reply, origin)
    const { state } = await ledger.viewOrigin(origin, [])
    const body = state.copy && (await ledger.body(ledger.partitionOf(origin), state.copy.hash))
    if (body === undefined) return refuse(reply, new Refusal(404, 'no-copy', 'no copy of its robots.txt is stored'))
    return reply.type('text/plain; charset=utf-8').send(body) // written by a stranger: browsers must not take it for anything else
  })
  scope.post('/origins/:origin', WRITE, async (request: Asking, reply) => {
    const origin = originOf(request)
    if (origin instanceof Refusal) return refuse(reply, origin)
    const fields = (request.body ?? {}) as FormFields
    const action = read(ActionBody, actionOf(fields))
    const done = action instanceof Refusal ? action : await act(ledger, agents, origin, action, defaultBy(config))
    if (done instanceof Refusal) {
      return page(reply.code(done.status), await show(origin, { problem: { problem: done.problem, fields } }))
    }
    // Shown by a request of its own, so that loading the page again does nothing twice
    return reply.redirect(`/origins/${encodeURIComponent(origin)}?done=${encodeURIComponent(fields.action ?? '')}`, 303)
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
  if (agent === undefined) return { ...asked, problem: unknownAgent(agents).problem }
  const at = readUrl(origin + (path.startsWith('/') ? path : `/${path}`))
  if ('refused' in at) return { ...asked, problem: { error: at.refused, message: `this is no path: ${at.refused}` } }
  return { ...asked, answer: await check(ledger, agent, at) }
}
