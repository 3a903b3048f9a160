/** The ready cache, against a real server whose answers the test chooses, on a clock that the test moves. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { type RobotsCache, type RobotsCacheOptions, robotsCache } from '@decorum/robots/cache'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'

const HOUR = 3_600_000
let answer: (request: IncomingMessage, response: ServerResponse) => void
let asked: string[] = []
let now = 0
const server = createServer((request, response) => {
  asked.push(`${request.url} ${request.headers['user-agent']}`)
  answer(request, response)
})
let origin: string

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.83.17.1', resolve))
  origin = `http://127.83.17.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => server.close())
beforeEach(() => {
  asked = []
  now = 1_800_000_000_000
  answer = (_, response) => response.end('user-agent: mybot\ndisallow: /closed\n')
})

const cache = (more: Partial<RobotsCacheOptions> = {}): RobotsCache =>
  robotsCache({ userAgent: 'MyBot/1.0 (+https://h.example)', now: () => now, ...more })

test('three lines: may this be fetched?', async () => {
  const robots = cache()
  expect(await robots.isAllowed(`${origin}/open`)).toBe(true)
  expect(await robots.isAllowed(new URL(`${origin}/closed`))).toBe(false)
  expect(asked).toEqual(['/robots.txt MyBot/1.0 (+https://h.example)'])
  expect((await robots.rules(origin))?.isAllowed('/closed', 'mybot')).toBe(false)
})
test('a hundred questions at once are one request', async () => {
  const robots = cache()
  await Promise.all(Array.from({ length: 100 }, (_, i) => robots.isAllowed(`${origin}/${i}`)))
  expect(asked).toHaveLength(1)
})
test('a failure allows nothing, says until when, and is not asked again before', async () => {
  answer = (_, response) => response.writeHead(503).end()
  const robots = cache()
  expect(await robots.judge(`${origin}/open`)).toEqual({
    kind: 'wait',
    why: 'unreachable',
    until: expect.any(Number) as number,
  })
  expect(await robots.isAllowed(`${origin}/open`)).toBe(false)
  expect(asked).toHaveLength(1)
  now += HOUR
  answer = (_, response) => response.writeHead(404).end()
  expect(await robots.isAllowed(`${origin}/open`)).toBe(true)
  expect(asked).toHaveLength(2)
})
test('it is asked again when it is no longer fresh, as its headers say', async () => {
  answer = (_, response) => response.setHeader('cache-control', 'max-age=7200').end('')
  const robots = cache()
  await robots.isAllowed(origin)
  now += HOUR
  await robots.isAllowed(origin)
  expect(asked).toHaveLength(1)
  now += HOUR
  answer = (_, response) => response.end('user-agent: *\ndisallow: /')
  expect(await robots.isAllowed(`${origin}/open`)).toBe(false)
})
test('five redirects are followed, a sixth is as no file, and one to another scheme is a failure', async () => {
  const hops = (most: number) => (request: IncomingMessage, response: ServerResponse) => {
    const hop = Number(/\d+$/.exec(request.url ?? '')?.[0] ?? 0)
    if (hop === most) response.end('user-agent: *\ndisallow: /')
    else response.writeHead(302, { location: `/hop${hop + 1}` }).end()
  }
  answer = hops(5)
  expect(await cache().isAllowed(`${origin}/x`)).toBe(false)
  answer = hops(6)
  expect(await cache().judge(`${origin}/x`)).toMatchObject({ kind: 'allowed', why: 'unavailable' })
  answer = (_, response) => response.writeHead(301, { location: 'file:///etc/passwd' }).end()
  expect(await cache().judge(`${origin}/x`)).toMatchObject({ kind: 'wait' })
})
test('a redirect to itself, or back to where it came from, is asked for once and is a failure, not a site without rules', async () => {
  for (const [to, requests] of [
    ['/robots.txt#again', 1],
    ['/there', 2],
  ] as const) {
    asked.length = 0
    answer = ({ url }, response) =>
      response.writeHead(302, { location: url === '/robots.txt' ? to : '/robots.txt' }).end()
    expect(await cache().judge(`${origin}/x`)).toMatchObject({ kind: 'wait' })
    expect(asked).toHaveLength(requests)
  }
})
test('gzip that no header names is read, and is a failure without its end', async () => {
  const packed = gzipSync('user-agent: *\ndisallow: /private\n')
  answer = (_, response) => response.end(packed)
  expect(await cache().isAllowed(`${origin}/private`)).toBe(false)
  expect(await cache().isAllowed(`${origin}/open`)).toBe(true)
  answer = (_, response) => response.end(packed.subarray(0, -12))
  expect(await cache().judge(`${origin}/open`)).toMatchObject({ kind: 'wait' })
})
test('no more origins are kept than it was told, and no more of a file than 500 KiB', async () => {
  const robots = cache({ maxOrigins: 1 })
  await robots.isAllowed(origin)
  await robots.isAllowed(origin.replace('127.83.17.1', '127.83.17.2')).catch(() => undefined)
  await robots.isAllowed(origin)
  expect(asked).toHaveLength(2)
  answer = (_, response) => response.end(`user-agent: *\n${'#\n'.repeat(400_000)}disallow: /\n`)
  expect(await cache().isAllowed(`${origin}/x`)).toBe(true)
})
test('what has no robots.txt is refused by name', async () => {
  await expect(cache().isAllowed('ftp://h.example/')).rejects.toThrow('ftp: has no robots.txt')
})
