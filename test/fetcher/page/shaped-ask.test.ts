/** Requests that a candidate has shaped: what the site is asked, what is read of its answer, and what the outcome says. */
import { gzipSync } from 'node:zlib'
import type { Page, Sink } from '@decorum/fetcher/testing'
import type { RequestShape } from '@decorum/protocol'
import { expect, test } from 'vitest'
import { whenDeadlinePasses } from '../support/clock.ts'
import { page, pageOrder, robots } from '../support/orders.ts'
import { answerOf, rawOrigin } from '../support/raw-origin.ts'
import { polite, testConnections } from '../support/tools.ts'

const connections = testConnections()
const fetchedBy = async (origin: string, request: RequestShape, over: Parameters<typeof page>[2] = {}) => {
  const { outcome, candidate } = await page(connections, pageOrder(origin, '/a', { request }), over)
  if (outcome?.kind !== 'fetched') throw new Error(JSON.stringify(outcome))
  return { ...outcome, candidate }
}
const linesOf = (head: string | undefined): string[] => (head ?? '').trimEnd().split('\r\n')

/** A sink that only remembers what it was given. */
function remembering(): Sink & { pages: Page[] } {
  const pages: Page[] = []
  return { pages, keepsBodies: true, store: async (one) => void pages.push(one), close: async () => {} }
}

test('the agent stays who it is; what the frontier adds comes after, and the archive has the head as it was sent', async () => {
  const site = await rawOrigin((socket) => socket.write(answerOf(200, { 'content-type': 'text/html' }, 'x')))
  const sink = remembering()
  const request: RequestShape = {
    headers: { 'Accept-Language': 'de', 'X-Note': 'a\u00e9' },
    ifNoneMatch: '"v1"',
    ifModifiedSince: 'Sat, 21 Nov 2026 08:00:00 GMT',
    accept: ['text/html', 'image/*'],
  }
  await fetchedBy(site.origin, request, { sink })
  expect(linesOf(site.asked[0]?.head)).toEqual([
    'GET /a HTTP/1.1',
    `host: ${new URL(site.origin).host}`,
    'connection: keep-alive',
    `user-agent: ${polite.userAgent}`,
    'accept: text/html, image/*',
    'accept-encoding: gzip, deflate, br, zstd',
    'accept-language: de',
    'x-note: a\u00e9',
    'if-none-match: "v1"',
    'if-modified-since: Sat, 21 Nov 2026 08:00:00 GMT',
  ])
  expect(sink.pages[0]?.requestHead).toBe(site.asked[0]?.head)
})

test('304 to validators is unchanged and nothing is kept; 304 to anything else is an answer like any other', async () => {
  const site = await rawOrigin('HTTP/1.1 304 Not Modified\r\netag: "v1"\r\n\r\n')
  const sink = remembering()
  expect(await fetchedBy(site.origin, { ifNoneMatch: '"v1"' }, { sink })).toMatchObject({
    status: 304,
    unchanged: true,
    bytes: 0,
    headers: [['etag', '"v1"']],
  })
  expect(sink.pages).toEqual([])
  expect(await fetchedBy(site.origin, {}, { sink })).not.toHaveProperty('unchanged')
  expect(sink.pages).toHaveLength(1)
})

test('200 to validators is a page as usual', async () => {
  const site = await rawOrigin((socket) => socket.write(answerOf(200, { etag: '"v2"' }, 'new')))
  const sink = remembering()
  const outcome = await fetchedBy(site.origin, { ifNoneMatch: '"v1"' }, { sink })
  expect(outcome).toMatchObject({ status: 200, bytes: 3 })
  expect(outcome).not.toHaveProperty('unchanged')
  expect(sink.pages).toHaveLength(1)
})

test('HEAD: the head alone, whatever length it tells; nothing is kept', async () => {
  const site = await rawOrigin((socket) =>
    socket.write('HTTP/1.1 200 Fine\r\ncontent-length: 5000\r\ncontent-encoding: gzip\r\ncontent-type: a/b\r\n\r\n'),
  )
  const sink = remembering()
  const outcome = await fetchedBy(site.origin, { method: 'HEAD', accept: ['text/html'] }, { sink })
  expect(linesOf(site.asked[0]?.head)[0]).toBe('HEAD /a HTTP/1.1')
  expect(outcome).toMatchObject({
    status: 200,
    bytes: 0,
    truncated: '',
    headers: expect.arrayContaining([['content-length', '5000']]),
  })
  expect(sink.pages).toEqual([])
})

test('a body of another type is not read: the connection ends after the head, and the outcome says so', async () => {
  const ended: boolean[] = []
  const site = await rawOrigin((socket, { path }) => {
    const type = path === '/none' ? '' : 'content-type: video/mp4\r\n'
    socket.write(`HTTP/1.1 200 Fine\r\n${type}content-length: 100000000\r\n\r\n`)
    socket.on('close', () => ended.push(true))
  })
  const sink = remembering()
  const shape: RequestShape = { accept: ['text/html'] }
  expect(await fetchedBy(site.origin, shape, { sink })).toMatchObject({ status: 200, truncated: 'type', bytes: 0 })
  await expect.poll(() => ended.length).toBe(1)
  const { outcome } = await page(connections, pageOrder(site.origin, '/none', { request: shape }))
  expect(outcome).toMatchObject({ kind: 'fetched', truncated: 'type' })
  expect(sink.pages[0]?.answer).toMatchObject({ truncated: 'type' })
})

test('the end of an exchange comes as soon as the candidate says, but never later than the fleet says', async () => {
  const site = await rawOrigin((socket) => socket.write(answerOf(200, {}, 'x'.repeat(1_000))))
  expect(await fetchedBy(site.origin, { maxBytes: 10 })).toMatchObject({ bytes: 10, truncated: 'length' })
  expect(await fetchedBy(site.origin, { maxBytes: 1_000 }, { pageMaxBytes: 20 })).toMatchObject({
    bytes: 20,
    truncated: 'length',
  })
  const silent = await rawOrigin(() => {})
  const last = pageOrder(silent.origin, '/', { attempt: 5, request: { deadlineMs: 100 } })
  const isAsked = () => silent.asked.length === 1
  const { outcome } = await whenDeadlinePasses(100, isAsked, () => page(connections, last))
  expect(outcome).toMatchObject({ kind: 'failed', reason: 'timeout', detail: 'no answer within 100 ms' })
})

test('maxBytes counts bytes on the wire: a small one cuts a bomb before it is decoded', async () => {
  const bomb = gzipSync(Buffer.alloc(10_000_000))
  const site = await rawOrigin((socket) => socket.write(answerOf(200, { 'content-encoding': 'gzip' }, bomb)))
  expect(await fetchedBy(site.origin, { maxBytes: 100 })).toMatchObject({ bytes: 100, truncated: 'length' })
})

test('a redirect that is to be reported is an answer that says where it leads; nothing is made of its target', async () => {
  const site = await rawOrigin((socket) => socket.write(answerOf(301, { location: '/b?c' }, 'moved')))
  expect(await fetchedBy(site.origin, { redirects: 'report' })).toMatchObject({
    status: 301,
    to: `${site.origin}/b?c`,
    bytes: 5,
    candidate: undefined,
  })
  const odd = await rawOrigin((socket) => socket.write(answerOf(302, { location: 'mailto:a@b.test' }, '')))
  expect(await fetchedBy(odd.origin, { redirects: 'report' })).not.toHaveProperty('to')
})

test('a redirect that is followed keeps the shape for its target, except for the validators', async () => {
  const site = await rawOrigin((socket) => socket.write(answerOf(302, { location: '/b' }, '')))
  const request: RequestShape = { headers: { 'accept-language': 'de' }, ifNoneMatch: '"v1"', maxBytes: 9 }
  const { outcome, candidate } = await page(connections, pageOrder(site.origin, '/a', { request }))
  expect(outcome).toMatchObject({ kind: 'redirected' })
  expect(candidate).toMatchObject({ url: `${site.origin}/b`, headers: { 'accept-language': 'de' }, maxBytes: 9 })
  expect(candidate).not.toHaveProperty('ifNoneMatch')
})

test('429 and 503 mean the same whatever the shape', async () => {
  const site = await rawOrigin((socket) => socket.write(answerOf(429, { 'retry-after': '7' }, '')))
  const { load, outcome } = await page(
    connections,
    pageOrder(site.origin, '/', { request: { method: 'HEAD', redirects: 'report' } }),
  )
  expect(load).toEqual({ kind: 'asked-for-less', retryAfterMs: 7_000 })
  expect(outcome).toBeUndefined()
})

test('requests for robots.txt are always the same', async () => {
  const site = await rawOrigin((socket) => socket.write(answerOf(200, {}, 'User-agent: *\n')))
  await robots(connections, site.origin)
  expect(linesOf(site.asked[0]?.head)).toEqual([
    'GET /robots.txt HTTP/1.1',
    `host: ${new URL(site.origin).host}`,
    'connection: keep-alive',
    `user-agent: ${polite.userAgent}`,
    'accept: */*',
    'accept-encoding: gzip, deflate, br, zstd',
  ])
})
