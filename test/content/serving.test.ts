/** Real gateway, fetcher and console on a real Redis: from an outcome to the page, from whichever machine. */
import { cp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { freePort } from '@decorum/cli/local-redis/testing'
import { type Content, type Outcome, openContent, openFrontier } from '@decorum/client'
import { main as consoleMain } from '@decorum/console'
import { writeReference } from '@decorum/content'
import { main as fetcherMain } from '@decorum/fetcher'
import { main as gatewayMain } from '@decorum/gateway'
import { DEFAULT_CRAWL, outcomesKey } from '@decorum/protocol'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { answerOf, rawOrigin } from '../fetcher/support/raw-origin.ts'
import { redisForTest } from '../support/redis.ts'
import { newFolder } from './support/kept.ts'

const PAGE = '<title>kept</title><a href="/next" rel=nofollow>next</a>'
const redis = await redisForTest()
const [archive, other] = [await newFolder(afterAll), await newFolder(afterAll)]
/** An address of its own: whoever takes that port before the fetcher does, takes it at another one. */
const HOST = '127.95.0.1'
const port = await freePort()
const base = `http://${HOST}:${port}`
const TOKEN = 'the-token-of-the-fleet'
const common = {
  REDIS_URL: redis.url,
  DECORUM_AGENTS: JSON.stringify([{ name: 'decorum', userAgent: 'decorum/1 (+https://example.com/bot)' }]),
  DECORUM_ALLOW_ADDRESSES: '127.0.0.0/8',
  DEFAULT_DELAY_MS: '20',
  LOG_LEVEL: 'silent',
  FETCH_PROCESSES: '0',
}
const remote = { ...common, ARCHIVE_DIR: archive, HOST, PORT: String(port), CONTENT_URL: base, CONTENT_TOKEN: TOKEN }

let services: { port: number; stop(): Promise<void> }[]
let consoleUrl: string
let kept: Extract<Outcome, { kind: 'fetched' }>
let content: Content
let contentOfInvalid: Content | undefined
beforeAll(async () => {
  services = [await gatewayMain(common), await fetcherMain(remote)]
  const board = await consoleMain({ ...common, CONTENT_TOKEN: TOKEN, ARCHIVE_DIR: other })
  services.push(board)
  consoleUrl = `http://127.0.0.1:${board.port}`
  const site = await rawOrigin((socket, { path }) =>
    path === '/robots.txt'
      ? socket.write(answerOf(404, {}, ''))
      : socket.write(answerOf(200, { 'content-type': 'text/html' }, PAGE)),
  )
  const frontier = await openFrontier({ redis: redis.url, content: { token: TOKEN } })
  await frontier.enqueue([{ url: `${site.origin}/page` }, { url: 'ftp://not-this.test/' }])
  const seen = new Map<string, Content | undefined>()
  for await (const { outcome, ack, content: one } of frontier.outcomes({ group: 'test' })) {
    seen.set(outcome.kind, one)
    await ack()
    if (outcome.kind === 'fetched') kept = outcome
    if (seen.size === 2) break
  }
  await frontier.close()
  contentOfInvalid = seen.get('invalid')
  content = seen.get('fetched') as Content
})
afterAll(async () => {
  for (const service of services) await service.stop()
})
const refOf = (): string => kept.archive?.ref as string
const ask = (
  url: string,
  ref = refOf(),
  headers: Record<string, string> = { authorization: `Bearer ${TOKEN}` },
  method = 'GET',
) => fetch(`${url}/v1/content?ref=${encodeURIComponent(ref)}`, { headers, method })
const codeOf = (read: Promise<unknown>) =>
  read.then(
    () => 'none',
    (error: { code: string }) => error.code,
  )

test('a frontier is handed the content with the outcome, and reads it from the fetcher that keeps it', async () => {
  expect(refOf().startsWith(`warc+${base}/decorum-`)).toBe(true)
  expect(content.status).toBe(200)
  expect(contentOfInvalid).toBeUndefined()
  expect(await content.text()).toBe(PAGE)
  expect(await content.links()).toEqual([{ url: new URL('/next', kept.url).href, nofollow: true }])
})

test('the bytes come whole, in ranges, as a head, or not at all when they are known', async () => {
  for (const url of [base, consoleUrl]) {
    const whole = await ask(url)
    expect(whole.status).toBe(200)
    expect(whole.headers.get('content-type')).toBe('application/gzip')
    expect(whole.headers.get('cache-control')).toContain('immutable')
    const bytes = Buffer.from(await whole.arrayBuffer())
    expect(bytes.length).toBe(kept.archive?.length)
    expect(gunzipSync(bytes).toString()).toContain(PAGE)
    const auth = { authorization: `Bearer ${TOKEN}` }
    const range = async (value: string) => {
      const part = await ask(url, refOf(), { ...auth, range: value })
      return [part.status, part.headers.get('content-range'), Buffer.from(await part.arrayBuffer())] as const
    }
    const last = bytes.length - 1
    expect(await range('bytes=2-5')).toEqual([206, `bytes 2-5/${bytes.length}`, bytes.subarray(2, 6)])
    expect(await range('bytes=-7')).toEqual([206, `bytes ${last - 6}-${last}/${bytes.length}`, bytes.subarray(-7)])
    expect(await range(`bytes=${last}-`)).toEqual([206, `bytes ${last}-${last}/${bytes.length}`, bytes.subarray(last)])
    expect((await range(`bytes=${last + 1}-`)).slice(0, 2)).toEqual([416, `bytes */${bytes.length}`])
    for (const odd of ['bytes=5-2', 'bytes=a-b', 'lines=1-2', 'bytes=0-1,3-4']) expect((await range(odd))[0]).toBe(200)
    const etag = whole.headers.get('etag') as string
    expect((await ask(url, refOf(), { ...auth, 'if-none-match': etag })).status).toBe(304)
    expect((await ask(url, refOf(), { ...auth, range: 'bytes=0-0', 'if-range': '"another"' })).status).toBe(200)
    const head = await ask(url, refOf(), auth, 'HEAD')
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([
      200,
      String(bytes.length),
      '',
    ])
  }
})

test('without the token the fetcher tells nothing; a frontier that only reaches the console needs none', async () => {
  expect((await ask(base, refOf(), {})).status).toBe(401)
  expect((await ask(base, refOf(), { authorization: 'Bearer another-token' })).status).toBe(401)
  expect(await codeOf(openContent(refOf(), { fetchers: [base] }))).toBe('forbidden')
  expect(await codeOf(openContent(refOf())), 'a reference alone leads to no request').toBe('elsewhere')
  expect(await (await openContent(refOf(), { via: consoleUrl })).text()).toBe(PAGE)
})

test('references that are none, of other folders, and of what is not there: 400 and 410', async () => {
  const name = kept.archive?.file as string
  const at = { name, offset: kept.archive?.offset as number, length: kept.archive?.length as number }
  const stranger = await newFolder() // the very file, in a folder that is none of the fleet's
  await cp(archive, stranger, { recursive: true })
  expect(await (await openContent(writeReference(stranger, at))).text()).toBe(PAGE)
  for (const url of [base, consoleUrl]) {
    for (const wrong of [
      '',
      'x',
      '/etc/passwd',
      'warc+file:///etc/passwd?offset=0&length=1',
      refOf().replace('/decorum-', '/..%2fdecorum-'),
    ])
      expect((await ask(url, wrong)).status, wrong).toBe(400)
    const foreign = await ask(url, writeReference(stranger, at))
    expect([foreign.status, await foreign.json()]).toMatchObject([410, { type: 'gone' }])
    const missing = await ask(url, writeReference(base, { ...at, name: 'decorum-none.warc.gz' }))
    expect([missing.status, await missing.json()]).toMatchObject([410, { type: 'gone' }])
    expect(
      (await ask(url, writeReference(base, { ...at, name: 'decorum-none.warc.gz' }), undefined, 'HEAD')).status,
    ).toBe(410)
    const beyond = await ask(url, writeReference(base, { ...at, offset: 1_000_000_000 }))
    expect([beyond.status, await beyond.json()]).toMatchObject([410, { type: 'damaged' }])
  }
  expect((await fetch(`${base}/v1/content`, { headers: { authorization: `Bearer ${TOKEN}` } })).status).toBe(400)
  expect((await ask(base, refOf(), { authorization: `Bearer ${TOKEN}` }, 'POST')).status).toBe(405)
})

test('a page in a folder of yet another machine is elsewhere for the console too, which is not gone', async () => {
  const place = { name: 'decorum-1.warc.gz', offset: 0, length: 10 }
  const far = writeReference(other, place).replace(/^warc\+file:\/\/[^/]+/, 'warc+file://another-machine')
  expect(await codeOf(openContent(far, { via: consoleUrl }))).toBe('elsewhere')
})

test('the token goes to no address that a reference alone names: not from a frontier, and not from openContent', async () => {
  const stranger = await rawOrigin(answerOf(200, {}, 'secrets').toString('latin1'))
  const named = refOf().replace(base, stranger.origin)
  expect(await codeOf(openContent(named, { token: TOKEN }))).toBe('elsewhere')
  expect(await codeOf(openContent(refOf(), { token: TOKEN, fetchers: [stranger.origin] }))).toBe('elsewhere')
  const stored = named.replace(/^warc\+http.*\/(decorum-[^?]*)(.*)$/, 'warc+s3://pages/crawl/$1$2')
  const until = `${stored}&until=${encodeURIComponent(stranger.origin)}`
  expect(await codeOf(openContent(until, { token: TOKEN }))).toBe('elsewhere')
  for (const wrong of ['crawler-1:9000', 'ftp://crawler-1'])
    await expect(openContent(refOf(), { token: TOKEN, fetchers: [wrong] })).rejects.toBeInstanceOf(TypeError)
  // As somebody who can write to the stream of outcomes might have it
  const frontier = await openFrontier({ redis: redis.url, content: { token: TOKEN } })
  const reading = frontier.outcomes({ group: 'forged', from: 'now' })
  const next = reading.next()
  const writer = new Redis(redis.url)
  onTestFinished(() => writer.disconnect())
  const stream = outcomesKey('{decorum:0}', DEFAULT_CRAWL)
  await expect.poll(async () => JSON.stringify(await writer.xinfo('GROUPS', stream))).toContain('forged')
  for (const ref of [named, until, refOf()])
    await writer.xadd(stream, '*', 'o', JSON.stringify({ ...kept, archive: { ...kept.archive, ref } }))
  const codes: string[] = []
  for (const delivery of [await next, await reading.next(), await reading.next()])
    codes.push(await codeOf(delivery.value?.content?.text() as Promise<string>))
  await frontier.close()
  expect(codes).toEqual(['unavailable', 'unavailable', 'none'])
  expect(stranger.connections).toBe(0)
})

test('the console asks nobody but fetchers of the fleet, and shows its token to nobody else', async () => {
  const stranger = await rawOrigin(answerOf(200, {}, 'secrets').toString('latin1'))
  const reply = await ask(
    consoleUrl,
    writeReference(stranger.origin, { name: 'decorum-1.warc.gz', offset: 0, length: 10 }),
  )
  expect(reply.status).toBe(503)
  expect(stranger.connections).toBe(0)
})

test('`as=body` of the console: the page without its content coding, and nothing that a browser would show', async () => {
  const body = (ref: string, method = 'GET') =>
    fetch(`${consoleUrl}/v1/content?as=body&ref=${encodeURIComponent(ref)}`, { method })
  const answer = await body(refOf())
  expect([answer.status, await answer.text()]).toEqual([200, PAGE])
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    'content-type': 'application/octet-stream',
    'content-disposition': 'attachment',
    'content-security-policy': "sandbox; default-src 'none'",
    'x-content-type-options': 'nosniff',
  })
  expect((await body(refOf(), 'HEAD')).status).toBe(200)
  expect((await body(refOf().replace(/offset=\d+/, 'offset=1'))).status, 'not the start of a record').toBe(410)
  expect((await body(refOf().replace(base, 'http://127.0.0.1:1'))).status, 'no fetcher of the fleet').toBe(503)
  expect((await body(refOf().replace('length=', 'length=9'))).status).toBe(410)
  expect((await fetch(`${consoleUrl}/v1/content?as=text&ref=${encodeURIComponent(refOf())}`)).status).toBe(400)
})

test('without CONTENT_TOKEN only programs of this machine are answered, and references name the folder', async () => {
  const local = await fetcherMain({ ...common, ARCHIVE_DIR: other })
  const url = `http://127.0.0.1:${local.port}`
  try {
    const nothing = writeReference(other, { name: 'decorum-1.warc.gz', offset: 0, length: 10 })
    expect((await ask(url, nothing, {})).status).toBe(410)
    expect((await ask(url, nothing, { origin: 'https://site.test' })).status).toBe(403)
    expect((await ask(url, nothing, { 'sec-fetch-site': 'cross-site' })).status).toBe(403)
    expect((await fetch(`${url}/livez`)).status).toBe(200)
  } finally {
    await local.stop()
  }
})

test('what was removed is gone, in one sentence, however it is asked for', async () => {
  for (const name of await readdir(archive)) await rm(join(archive, name))
  expect((await ask(base)).status).toBe(410)
  expect((await ask(consoleUrl)).status).toBe(410)
  const later = await openContent(refOf(), { token: TOKEN, fetchers: [base] }).catch((error: Error) => error)
  expect(later).toMatchObject({
    name: 'ContentError',
    code: 'gone',
    message: expect.stringContaining('not there any more'),
  })
  expect(await content.text(), 'what was read stays').toBe(PAGE)
})

test('a fetcher that has stopped is unavailable, which is not gone', async () => {
  await services[1]?.stop()
  expect((await ask(consoleUrl)).status).toBe(503)
  expect(await codeOf(openContent(refOf(), { token: TOKEN, fetchers: [base] }))).toBe('unavailable')
})

test('while Redis does not answer, the console says so: ask again', async () => {
  await redis.stop()
  const reply = await ask(consoleUrl)
  expect([reply.status, await reply.json()]).toMatchObject([
    503,
    { type: 'unavailable', detail: 'Redis does not answer' },
  ])
})
