// Visits pages again and fetches only those that have changed: REDIS_URL=redis://… node revisit.mjs known.json https://example.org/ …
import { readFile, writeFile } from 'node:fs/promises'
import { openFrontier } from '@decorum/client'

const [file, ...urls] = process.argv.slice(2)
const known = JSON.parse(await readFile(file, 'utf8').catch(() => '{}'))
const frontier = await openFrontier({ redis: process.env.REDIS_URL })
const run = `revisit-${Date.now()}`
const headerOf = ({ headers }, wanted) => headers.find(([name]) => name.toLowerCase() === wanted)?.[1]
await frontier.enqueue(urls.map((url) => ({ url, meta: { run, url }, ...known[url]?.validators })))
let open = urls.length
for await (const { outcome, ack } of frontier.outcomes({ group: run })) {
  if (outcome.meta?.run === run && outcome.kind !== 'redirected') {
    const { url } = outcome.meta
    if (outcome.kind === 'fetched' && !outcome.unchanged) {
      const validators = { ifNoneMatch: headerOf(outcome, 'etag'), ifModifiedSince: headerOf(outcome, 'last-modified') }
      validators.knownDigest = outcome.digest // for sites without validators
      known[url] = { validators, ref: outcome.archive?.ref }
    }
    const { kind, unchanged = false, bytes = 0 } = outcome
    console.log(JSON.stringify({ url, kind, unchanged, bytes, ref: known[url]?.ref }))
    open--
  }
  await ack()
  if (open === 0) break
}
await writeFile(file, JSON.stringify(known))
await frontier.removeGroup(run).then(() => frontier.close())
