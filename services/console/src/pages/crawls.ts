/** The pages of crawls, and the actions of their forms. */
import { DEFAULT_CRAWL } from '@decorum/protocol'
import { Problem, read } from '@decorum/runtime/http-api'
import { z } from 'zod'
import { changeCrawl, forgetCrawl, noSuchCrawl } from '../api/crawls.ts'
import { defaultBy } from '../api/mount.ts'
import { CrawlBody, CrawlPath } from '../api/questions.ts'
import { Form, frameOf, type PageParts, type PageRequest, type PageScope, READ, WRITE } from './answer-page.ts'
import { type CrawlPageFacts, crawlChangeOf, crawlPage, crawlsPage } from './crawls-page.ts'
import { type Fields, notConfirmed } from './forms.ts'

const SHOWN = 200
const PageQuery = z.object({
  done: z.enum(['pause', 'resume', 'weight', 'limits', 'cancel']).optional().catch(undefined),
})
const params = CrawlPath

export function addCrawls(scope: PageScope, parts: PageParts): void {
  const { ledger, pace } = parts
  const find = async (name: string) => (await ledger.crawls()).find((crawl) => crawl.name === name)
  const show = async (request: PageRequest, name: string, more: Partial<CrawlPageFacts>): Promise<string> => {
    const [crawl, readers] = await Promise.all([find(name), ledger.readers(name)])
    if (crawl === undefined) throw noSuchCrawl(name)
    return crawlPage(frameOf(parts, request), { crawl, readers, pace, ...more })
  }
  scope.get('/crawls', READ, async (request) =>
    crawlsPage(frameOf(parts, request), (await ledger.crawls()).slice(0, SHOWN), pace),
  )
  scope.get('/crawls/:crawl', { ...READ, schema: { params, querystring: PageQuery } }, (request) =>
    show(request, request.params.crawl, request.query),
  )
  scope.post('/crawls/:crawl', { ...WRITE, schema: { params, body: Form } }, async (request, reply) => {
    const { crawl } = request.params
    const fields = request.body
    const done = await change(crawl, fields, defaultBy(request))
    if (done instanceof Problem) {
      reply.code(done.status)
      return show(request, crawl, { refused: { problem: done, fields } })
    }
    return reply.redirect(fields.action === 'forget' ? '/crawls' : `/crawls/${crawl}?done=${fields.action}`, 303)
  })

  async function change(crawl: string, fields: Fields, by: string): Promise<unknown> {
    if (fields.action === 'forget') return forgetCrawl(ledger, crawl)
    if (fields.action === 'cancel' && fields.confirm !== 'yes') return notConfirmed('this')
    if (crawl !== DEFAULT_CRAWL && (await find(crawl)) === undefined) return noSuchCrawl(crawl)
    const body = read(CrawlBody, crawlChangeOf(fields))
    return body instanceof Problem ? body : changeCrawl(ledger, crawl, body, by)
  }
}
