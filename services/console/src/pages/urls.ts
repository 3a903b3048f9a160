/** The page of the search box, and the cancelling of a URL there. */
import { Problem, read } from '@decorum/runtime/http-api'
import type { FastifyReply } from 'fastify'
import { z } from 'zod'
import { cancel } from '../api/candidates.ts'
import { CandidatePath, CandidateQuery } from '../api/questions.ts'
import { find } from '../find.ts'
import { Form, frameOf, type PageParts, type PageRequest, type PageScope, READ, WRITE } from './answer-page.ts'
import { originPath } from './parts.ts'
import { urlsPage } from './urls-page.ts'

/** Most URLs that are shown; the same URL may be stored under many ids. */
const SHOWN = 20
const PageQuery = z.object({
  what: z.string().trim().default(''),
  done: z.literal('cancelled').optional().catch(undefined),
})

export function addUrls(scope: PageScope, parts: PageParts): void {
  const { ledger, config } = parts
  const { agents } = config
  const show = async (request: PageRequest, reply: FastifyReply, requested: string, sentence?: string) => {
    const facts = { requested, sentence, now: ledger.wall() }
    const frame = frameOf(parts, request)
    if (requested === '') return urlsPage(frame, facts)
    const keys = agents.list.map(({ key }) => key)
    const answer = await find(ledger, keys, requested)
    if (answer.kind === 'origin') return reply.redirect(originPath(answer.origin), 303)
    if (answer.kind === 'candidates') return urlsPage(frame, { ...facts, found: answer.found.slice(0, SHOWN) })
    if (answer.wrong) reply.code(400)
    return urlsPage(frame, { ...facts, origins: answer.origins, sentence: sentence ?? answer.sentence })
  }
  scope.get('/urls', { ...READ, schema: { querystring: PageQuery } }, (request, reply) => {
    const { what, done } = request.query
    return show(request, reply, what, done && 'It was cancelled.')
  })
  scope.post('/urls', { ...WRITE, schema: { body: Form } }, async (request, reply) => {
    const { what = '', id, url, crawl } = request.body
    const wish = read(CandidateQuery.extend(CandidatePath.shape), { id, crawl, ...(url ? { url } : {}) })
    if (wish instanceof Problem) return wish
    const done = await cancel(ledger, agents, wish)
    if (done instanceof Problem) return show(request, reply.code(done.status), what, `Not done: ${done.message}.`)
    return reply.redirect(`/urls?done=cancelled&what=${encodeURIComponent(what)}`, 303)
  })
}
