/** The pages of crawls, and the actions of their forms. */
import { DEFAULT_CRAWL } from '@decorum/protocol'
import { Problem, read } from '@decorum/runtime/http-api'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { changeCrawl, forgetCrawl } from '../api/crawls.ts'
import { defaultBy } from '../api/mount.ts'
import { CrawlBody, CrawlPath } from '../api/questions.ts'
import { frameOf, type PageParts, page } from './answer-page.ts'
import {
  type CrawlFacts,
  type CrawlPageFacts,
  crawlChangeOf,
  crawlFacts,
  crawlPage,
  crawlsFacts,
  crawlsPage,
} from './crawls-page.ts'
import type { FormFields } from './origin-forms.ts'

const READ = { config: { access: 'read' } } as const
const WRITE = { config: { access: 'write' } } as const
const SHOWN = 200
const DONE = ['pause', 'resume', 'weight', 'cancel'] as const

type Asking = FastifyRequest<{ Params: { crawl: string }; Querystring: Record<string, unknown> }>

export function addCrawls(scope: FastifyInstance, parts: PageParts): void {
  const { ledger, pace } = parts
  const list = async () => ({ crawls: (await ledger.crawls()).slice(0, SHOWN), pace })
  scope.get('/crawls', READ, async (request, reply) =>
    page(reply, crawlsPage({ ...(await list()), frame: frameOf(parts, request) })),
  )
  scope.get('/crawls/facts', READ, async (_request, reply) => page(reply, crawlsFacts(await list()).text))

  const factsOf = async (request: Asking): Promise<CrawlFacts | Problem> => {
    const asked = read(CrawlPath, request.params)
    if (asked instanceof Problem) return asked
    const [all, readers] = await Promise.all([ledger.crawls(), ledger.readers(asked.crawl)])
    const crawl = all.find(({ name }) => name === asked.crawl)
    if (crawl === undefined) return new Problem(404, 'no-such-crawl', `there is no crawl '${asked.crawl}'`)
    return { crawl, readers, pace }
  }
  const show = async (request: Asking, more: Partial<CrawlPageFacts> = {}): Promise<string | Problem> => {
    const facts = await factsOf(request)
    if (facts instanceof Problem) return facts
    return crawlPage({ ...facts, frame: frameOf(parts, request), by: defaultBy(request), ...more })
  }
  scope.get('/crawls/:crawl', READ, async (request: Asking, reply) => {
    const shown = await show(request, { done: DONE.find((one) => one === request.query.done) })
    return shown instanceof Problem ? shown : page(reply, shown)
  })
  scope.get('/crawls/:crawl/facts', READ, async (request: Asking, reply) => {
    const facts = await factsOf(request)
    return facts instanceof Problem ? facts : page(reply, crawlFacts(facts).text)
  })
  scope.post('/crawls/:crawl', WRITE, async (request: Asking, reply) => {
    const asked = read(CrawlPath, request.params)
    if (asked instanceof Problem) return asked
    const fields = (request.body ?? {}) as FormFields
    const done = await changed(asked.crawl, fields, defaultBy(request))
    if (done instanceof Problem) {
      const shown = await show(request, { problem: { problem: done, fields } })
      return shown instanceof Problem ? shown : page(reply.code(done.status), shown)
    }
    if (fields.action === 'forget') return reply.redirect('/crawls', 303)
    return reply.redirect(`/crawls/${asked.crawl}?done=${encodeURIComponent(fields.action ?? '')}`, 303)
  })

  async function changed(crawl: string, fields: FormFields, by: string): Promise<unknown> {
    if (fields.action === 'forget') return forgetCrawl(ledger, crawl)
    if (fields.action === 'cancel' && fields.confirm !== 'yes')
      return new Problem(400, 'not-confirmed', 'that it is cancelled for good has to be confirmed')
    if (crawl !== DEFAULT_CRAWL && !(await ledger.crawls()).some(({ name }) => name === crawl))
      return new Problem(404, 'no-such-crawl', `there is no crawl '${crawl}'`)
    const body = read(CrawlBody, crawlChangeOf(fields))
    return body instanceof Problem ? body : changeCrawl(ledger, crawl, body, by)
  }
}
