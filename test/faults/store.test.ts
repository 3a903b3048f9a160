/** A fleet that keeps its pages in an S3-compatible store: the store goes away, the fetcher is killed, and no page is lost or there twice. */
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Outcome, openContent, openFrontier } from '@decorum/client'
import { expect, test } from 'vitest'
import { WARCParser } from 'warcio'
import { folder, site, startDecorum } from '../cli/decorum.ts'
import { testStore } from '../fetcher/support/object-store.ts'
import { redisForTest } from '../support/redis.ts'

const redis = await redisForTest()
const PAGES = 80
/** About 3 KB that do not shrink, another for each page. */
const bodyOf = (path: string): string =>
  `page ${path} ${Array.from({ length: 700 }, (_, n) => (n * 7_919 + path.length * 31 + Number(path.slice(1)) * 101) % 9_973).join(' ')}`

test('a fetcher killed while it uploads, a store that refuses until the folder is full: every page is there once', async () => {
  const store = await testStore()
  const pages = join(await folder(), 'pages')
  await mkdir(pages)
  const { access } = store
  const env = {
    REDIS_URL: redis.url,
    DECORUM_CONTACT: 'https://example.com/bot',
    DEFAULT_DELAY_MS: '5',
    PAGE_SINK: 's3',
    S3_ENDPOINT: access.endpoint,
    S3_BUCKET: `${access.bucket}/${access.prefix}`,
    S3_ACCESS_KEY_ID: access.accessKeyId,
    S3_SECRET_ACCESS_KEY: access.secretAccessKey,
    ARCHIVE_MAX_BYTES: '30000',
    ARCHIVE_DIR: pages,
    LEASE_MS: '6000',
    FETCH_DEADLINE_MS: '3000',
    QUARANTINE_MS: '500',
    FETCH_PROCESSES: '0', // so that the kill meets the one that fetches
    FETCH_CONCURRENCY: '4',
  }
  const { origin, asked } = await site((request, response) => {
    if (request.url === '/robots.txt') return false
    response.setHeader('content-type', 'text/plain')
    response.end(bodyOf(request.url ?? ''))
    return true
  })
  const gateway = startDecorum(['gateway'], { env })
  let fetcher = startDecorum(['fetcher'], { env })
  const board = startDecorum(['console'], { env: { ...env, PORT: '0', ARCHIVE_DIR: '' } })
  const frontier = await openFrontier({ redis: redis.url, content: { s3: access } })
  await frontier.enqueue(Array.from({ length: PAGES }, (_, n) => ({ url: `${origin}/${n}`, id: String(n) })))
  const outcomes: Outcome[] = []
  const reading = (async () => {
    for await (const { outcome, content, ack } of frontier.outcomes({ group: 'test' })) {
      if (outcome.kind === 'fetched') expect(await content?.text()).toBe(bodyOf(new URL(outcome.url).pathname))
      outcomes.push(outcome)
      await ack()
      if (outcomes.length === PAGES) return
    }
  })()

  // Killed in the middle of an upload
  store.door = { kind: 'slow', ms: 400 }
  await expect
    .poll(() => outcomes.length > 10 && store.seen.at(-1)?.method === 'PUT' && store.seen.at(-1)?.status === 0)
    .toBe(true)
  fetcher.child.kill('SIGKILL')
  await fetcher.result

  // The store refuses: the folder fills, and the crawl pauses
  store.door = { kind: 'status', status: 507 }
  fetcher = startDecorum(['fetcher'], { env })
  await fetcher.hears('no more pages are fetched until the store has taken some')
  const before = asked.length
  const stalled = store.seen.length
  await expect.poll(() => store.seen.length > stalled + 2).toBe(true) // it was asked again, and the crawl has waited
  expect(asked.length - before, 'what had been accepted before the pause').toBeLessThan(30)
  expect(outcomes.length).toBeLessThan(PAGES)

  store.door = { kind: 'open' }
  await reading
  expect(new Set(outcomes.map(({ id }) => id)).size).toBe(PAGES)
  expect(outcomes.map(({ kind }) => kind)).toEqual(outcomes.map(() => 'fetched'))
  fetcher.child.kill('SIGTERM')
  expect((await fetcher.result).code).toBe(0)
  expect(await readdir(pages)).toEqual([])

  // Each outcome's page is in the store, once
  const records: string[] = []
  for (const name of store.names().filter((one) => one.endsWith('.warc.gz')))
    for await (const record of new WARCParser(new Blob([new Uint8Array(store.bytes(name))]).stream())) {
      if (record.warcType === 'response' && !record.warcTargetURI?.endsWith('/robots.txt'))
        records.push(record.warcTargetURI ?? '')
      for await (const _ of record);
    }
  const named = new Set(outcomes.map((outcome) => (outcome.kind === 'fetched' ? outcome.archive?.ref : '')))
  expect(named.size).toBe(PAGES)
  // A page that was kept and whose outcome was lost with the killed process is fetched again: at most one per slot
  expect(records.length - PAGES).toBeLessThanOrEqual(4)
  expect(new Set(records).size).toBe(PAGES)
  for (const ref of named) expect(await (await openContent(ref ?? '', { s3: access })).text()).toMatch(/^page \/\d+ /)

  // The console reads the store for those who have no key of it
  await board.hears(/"port":\d+/)
  const [, port] = /"port":(\d+)/.exec(board.said()) ?? []
  const [ref = ''] = named
  const via = `http://127.0.0.1:${port}`
  expect(await (await openContent(ref, { via })).text()).toMatch(/^page /)
  const url = `${via}/v1/content?ref=${encodeURIComponent(ref)}`
  const part = await fetch(url, { headers: { range: 'bytes=1-3' } })
  expect([part.status, part.headers.get('content-range')?.startsWith('bytes 1-3/')]).toEqual([206, true])
  expect((await part.arrayBuffer()).byteLength).toBe(3)
  const foreign = await fetch(url.replace('crawl%2F', 'other%2F'))
  expect(foreign.status, 'of another prefix: not ours').toBe(410)
  await frontier.close()
  gateway.child.kill('SIGTERM')
  await gateway.result
})
