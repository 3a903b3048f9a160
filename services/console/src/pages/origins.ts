/** The list of origins, the page of each, and the actions of its forms. */
import { readUrl } from '@decorum/protocol'
import { plainText } from '@decorum/robots'
import { Problem } from '@decorum/runtime/http-api'
import { z } from 'zod'
import type { Viewer } from '../access/sessions.ts'
import { act, listOperations, unknownAgent } from '../api/act.ts'
import { OPERATIONS } from '../api/answers.ts'
import { check } from '../api/check.ts'
import { listOrigins } from '../api/list-origins.ts'
import { defaultBy, reportOrigin } from '../api/mount.ts'
import { changePolicy } from '../api/policies.ts'
import { ActionBody, ListQuery, OriginPath, PolicyBody, RemovePolicyQuery, SitePath } from '../api/questions.ts'
import { afterForm, Form, type PageParts, type PageScope, READ, readThen, WRITE } from './answer-page.ts'
import type { Page } from './layout.ts'
import { actionOf } from './origin-forms.ts'
import { type OriginPageFacts, originPage } from './origin-page.ts'
import { originsPage } from './origins-page.ts'
import { originPath } from './parts.ts'
import { policyChangeOf } from './policy-form.ts'

const OPERATIONS_SHOWN = 10
const PageQuery = z.object({
  done: z
    .enum([...OPERATIONS, 'policy'])
    .optional()
    .catch(undefined),
  path: z.string().optional(),
  agent: z.string().optional(),
})
const params = OriginPath

export function addOrigins(scope: PageScope, parts: PageParts): void {
  const { ledger, config } = parts
  const { agents } = config
  const show = async (viewer: Viewer, origin: string, more: Partial<OriginPageFacts>): Promise<Page> => {
    const [described, operations, notes] = await Promise.all([
      reportOrigin(parts, origin),
      listOperations(ledger, OPERATIONS_SHOWN, origin),
      ledger.notesOf(origin),
    ])
    return originPage(viewer, {
      origin: described,
      operations,
      notes,
      agents: agents.list,
      ...more,
    })
  }
  scope.get('/origins', READ, async (request, reply) => {
    // A form also sends empty fields
    const given = Object.entries(request.query as Record<string, unknown>).filter(([, value]) => value !== '')
    const list = await readThen(ListQuery, Object.fromEntries(given), (wish) => listOrigins(ledger, agents, wish))
    if (list instanceof Problem) reply.code(list.status)
    const texts = given.filter((one): one is [string, string] => typeof one[1] === 'string')
    return originsPage(Object.fromEntries(texts), list)
  })
  scope.get('/origins/:origin', { ...READ, schema: { params, querystring: PageQuery } }, async (request) => {
    const { origin } = request.params
    const { done, path, agent } = request.query
    const requested = path === undefined ? undefined : await checkedPath(parts, origin, path, agent)
    return show(request, origin, { done, requested })
  })
  scope.get('/origins/:origin/robots.txt', { ...READ, schema: { params } }, async (request, reply) => {
    const { origin } = request.params
    const { state } = await ledger.viewOrigin(origin, [])
    const body = state.copy && (await ledger.body(ledger.partitionOf(origin), state.copy.hash))
    if (body === undefined) throw new Problem(404, 'no-copy', 'no copy of its robots.txt is stored')
    return reply.type('text/plain; charset=utf-8').send(Buffer.from(plainText(body))) // untrusted text: browsers must not interpret it as anything else
  })
  scope.post('/origins/:origin', { ...WRITE, schema: { params, body: Form } }, async (request, reply) => {
    const { origin } = request.params
    const fields = request.body
    const by = defaultBy(request)
    const done = await readThen(ActionBody, actionOf(fields), (action) => act(ledger, agents, origin, action, by))
    return afterForm(reply, done, `${originPath(origin)}?done=${fields.action}`, (problem) =>
      show(request, origin, { refused: { problem, fields } }),
    )
  })
  scope.post('/origins/:origin/policy', { ...WRITE, schema: { params, body: Form } }, async (request, reply) => {
    const { origin } = request.params
    const fields = request.body
    const PolicyForm = (fields.action === 'remove' ? RemovePolicyQuery : PolicyBody).extend(SitePath.shape)
    const given = { site: fields.site, ...policyChangeOf(fields) }
    const done = await readThen(PolicyForm, given, (wish) => changePolicy(parts, wish.site, wish, defaultBy(request)))
    return afterForm(reply, done, `${originPath(origin)}?done=policy`, (problem) =>
      show(request, origin, { policyRefused: { problem, fields } }),
    )
  })
}

async function checkedPath(
  { ledger, config: { agents } }: PageParts,
  origin: string,
  path: string,
  name: string | undefined,
): Promise<OriginPageFacts['requested']> {
  const agent = agents.find(name || undefined)
  if (agent === undefined) return { path, agent: '', answer: unknownAgent(agents) }
  const at = readUrl(origin + (path.startsWith('/') ? path : `/${path}`))
  const answer =
    'refused' in at ? new Problem(400, at.refused, `this is no path: ${at.refused}`) : await check(ledger, agent, at)
  return { path, agent: agent.name, answer }
}
