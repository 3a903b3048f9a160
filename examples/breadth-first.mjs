// A breadth-first crawl of the hosts of some URLs: REDIS_URL=redis://… node breadth-first.mjs https://example.org/ …
import { openFrontier } from '@decorum/client'

const { REDIS_URL: redis, CONTENT_VIA: via, MOST = '1000' } = process.env
const frontier = await openFrontier({ redis, content: via ? { via } : {} })
const seeds = process.argv.slice(2).map((url) => new URL(url).href)
if (seeds.length === 0) throw new Error('begin with at least one URL')
const hosts = new Set(seeds.map((url) => new URL(url).host))
const run = `breadth-first-${Date.now()}`
const seen = new Set()
let open = 0
async function add(urls, depth) {
  const fresh = urls.filter((url) => hosts.has(new URL(url).host) && !seen.has(url)).slice(0, MOST - seen.size)
  for (const url of fresh) seen.add(url)
  open += fresh.length
  await frontier.enqueue(fresh.map((url) => ({ url, meta: { run, depth } })))
}
await add(seeds, 0)
for await (const { outcome, content, ack } of frontier.outcomes({ group: run })) {
  if (outcome.meta?.run === run) {
    const links = content?.status === 200 ? await content.links().catch(() => []) : [] // a body that cannot be decoded
    console.log(JSON.stringify({ kind: outcome.kind, url: outcome.url, ...outcome.meta, links: links.length }))
    const urls = links.filter(({ nofollow }) => !nofollow).map(({ url }) => url)
    await add(urls, outcome.meta.depth + 1)
    if (outcome.kind !== 'redirected') open-- // what it leads to has an outcome of its own
  }
  await ack()
  if (open === 0) break
}
await frontier.removeGroup(run).then(() => frontier.close())
