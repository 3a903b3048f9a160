/**
 * Nothing that runs costs more when more waits: gateway, console, a reader of outcomes and a fetcher played by hand do the
 * same work on a real Redis before and after the backlog has grown a thousandfold. MONITOR shows every command, the
 * scripts' own included. What they cost in time is measured by `npm run bench lanes`.
 */

import { openFrontier } from '@decorum/client'
import { main as startConsole } from '@decorum/console'
import { main as startGateway } from '@decorum/gateway'
import { LedgerUnavailableError, MAX_ITEMS } from '@decorum/ledger'
import type { Order } from '@decorum/protocol'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { type CommandBook, commandBook, complaintAbout } from './support/command-book.ts'
import { type HandFetcher, handFetcher } from './support/hand-fetcher.ts'

const TAG = '{decorum:0}'
const GROWTH = 1_000
const LANES = 50
const URLS = 100
const WORK = { hosts: 40, perHost: 5 }
const HOUR = 3_600_000

const redis = await redisForTest()
const raw = new Redis(redis.url)
const settings = {
  REDIS_URL: redis.url,
  DECORUM_CONTACT: 'https://bot.example/',
  DEFAULT_DELAY_MS: '0',
  RESERVE_MS: '1000',
  LOG_LEVEL: 'silent',
}
type Service = Awaited<ReturnType<typeof startGateway>>
let gateway: Service
let board: Service
let fetcher: HandFetcher
let frontier: Awaited<ReturnType<typeof openFrontier>>

beforeAll(async () => {
  gateway = await startGateway(settings)
  board = await startConsole({ ...settings, PORT: '0' })
  fetcher = await handFetcher(redis.url, 1)
  // A call that a busy Redis does not answer in time, or that is under way at the end: the lease ends by itself.
  fetcher.each((order) => void answer(order).catch(unlessAway))
  frontier = await openFrontier({ redis: redis.url })
  await raw.xgroup('CREATE', `${TAG}:outcomes`, 'reads-nothing', '0', 'MKSTREAM') // so that outcomes stay unread
})
afterAll(async () => {
  await frontier.close()
  await fetcher.close()
  await board.stop()
  await gateway.stop()
  raw.disconnect()
})

/** A small web: host 0 is too busy at first, host 1 redirects, host 2 has no robots.txt to give, of host 3 an order is lost. */
const troubled = new Set<string>()
function unlessAway(error: unknown): void {
  if (!(error instanceof LedgerUnavailableError)) throw error
}

async function answer(order: Order): Promise<void> {
  const kind = /-(\d+)\.example$/.exec(order.origin)?.[1]
  const first = (what: string): boolean =>
    !troubled.has(`${what} ${order.origin}`) && !!troubled.add(`${what} ${order.origin}`)
  if (kind === '3' && first('lost')) return
  if (!(await fetcher.tryStart(order))) return // on a busy machine a reservation may end before: the order comes again
  if (order.kind === 'robots') return fetcher.rules(order, kind === '2' ? 503 : 200, 'user-agent: *\ndisallow: /no')
  if (kind === '0' && first('busy')) {
    await fetcher.ledger.complete({ ...order, load: { kind: 'asked-for-less', retryAfterMs: 50 }, elapsedMs: 0 })
    return
  }
  const redirects = kind === '1' && order.path === '/0'
  await fetcher.page(order, redirects ? { to: `${order.origin}/elsewhere`, id: `${order.id}~1` } : undefined)
}

/** Lanes whose clock runs for another hour; URLs in them, every other one of high priority; outcomes that nobody reads. */
async function grow(from: number, to: number): Promise<void> {
  const origin = (n: number): string => `http://b${n % (LANES * GROWTH)}.backlog.example`
  const lanes = to === URLS ? [0, LANES] : [LANES, LANES * GROWTH]
  for (let at = lanes[0] as number; at < (lanes[1] as number); at += 1_000) {
    const some = Array.from({ length: Math.min(1_000, (lanes[1] as number) - at) }, (_, i) => origin(at + i))
    const pipeline = raw.pipeline()
    pipeline.zadd(`${TAG}:due`, ...some.flatMap((name) => [Date.now() + HOUR, `decorum ${name}`]))
    for (const name of some) pipeline.hset(`${TAG}:o:${name}`, 's', '{}', 'v', '1', 'g:decorum', '1000')
    for (const name of some) pipeline.xadd(`${TAG}:outcomes`, '*', 'o', JSON.stringify({ id: name, kind: 'expired' }))
    await pipeline.exec()
  }
  for (let at = from; at < to; at += MAX_ITEMS) {
    const items = Array.from({ length: Math.min(MAX_ITEMS, to - at) }, (_, i) => {
      const n = to === URLS ? (at + i) % LANES : LANES + ((at + i) % (LANES * GROWTH - LANES))
      const priority = n % 2 === 0 ? ('high' as const) : ('normal' as const)
      const pending = {
        id: `backlog-${at + i}`,
        path: `/${at + i}`,
        expiresAt: Date.now() + 9 * HOUR,
        hops: 0,
        priority,
      }
      return { lane: { agent: 'decorum', origin: origin(n) }, pending }
    })
    await fetcher.ledger.store(0, items)
  }
}

type Round = {
  urls: number
  unbounded: string[]
  counts: Map<string, number>
  /** commands behind what the console showed and did */
  looked: number
  /** commands of an idle round */
  idle: number
}

/** The same work, with its own hosts each time. */
async function round(name: string): Promise<Round> {
  const host = (n: number): string => `http://${name}-${n}.example`
  const { hosts, perHost } = WORK
  const candidates = Array.from({ length: hosts * perHost }, (_, i) => ({
    url: `${host(i % hosts)}/${Math.floor(i / hosts)}`,
    id: `${name}-${i}`,
  }))
  candidates.push({ url: `${host(7)}/no`, id: `${name}-disallowed` }, { url: 'mailto:somebody', id: `${name}-invalid` })
  const wanted = new Set(candidates.map(({ id }) => id).filter((id) => Number(id.split('-')[1]) % hosts !== 2)) // host 2 waits
  wanted.add(`${name}-1~1`)
  const urls = wanted.size
  const book = await commandBook(redis.url)
  const reader = (async () => {
    for await (const { outcome, ack } of frontier.outcomes({ group: name, from: 'now' })) {
      await ack()
      wanted.delete(outcome.id)
      if (wanted.size === 0) return
    }
  })()
  await book.next('XREADGROUP')
  await frontier.enqueue(candidates)
  await brokenJob(`${name}-broken`)
  await reader
  const counts = book.counts()
  const looked = await commandsOf(book, () => Promise.all([look(host(5)), look(host(2))]))
  const idle = await idleRound(book)
  book.close()
  return { urls, unbounded: book.unbounded(), counts, looked, idle }
}

async function commandsOf(book: CommandBook, work: () => Promise<unknown>): Promise<number> {
  const before = book.count
  await work()
  return book.count - before
}

/** Everything the console shows, and what it does to a lane of the backlog. */
async function look(origin: string): Promise<void> {
  const base = `http://127.0.0.1:${board.port}`
  const encoded = encodeURIComponent(origin)
  const states = ['in%20flight', 'back-off', 'robots', 'delay']
  const paths = [
    ...[
      '/',
      '/metrics',
      '/readyz',
      '/v1/operations',
      '/v1/readers',
      '/v1/candidates/backlog-2',
      `/v1/candidates/backlog-2?url=${encodeURIComponent('http://b2.backlog.example/2')}`,
      '/queues/api/queues',
      `/origins/${encoded}`,
      `/v1/origins/${encoded}`,
    ],
    ...['soonest', 'latest', 'in-flight'].map((sort) => `/v1/origins?sort=${sort}&limit=200`),
    ...states.map((state) => `/v1/origins?state=${state}`),
    '/v1/origins?reason=back-off&limit=200',
    '/v1/origins?domain=backlog.example&limit=200',
    '/v1/history',
    '/v1/failures',
    '/v1/fleet',
    '/v1/configuration',
    `/v1/origins/${encoded}/notes`,
    ...['/origins', '/origins?domain=b7.backlog.example', '/origins?reason=paused', '/urls?what=backlog-2'],
    ...['/crawls', '/crawls/default', '/failures', '/hours', '/readers', '/fleet', '/configuration', '/stops'],
    `/v1/check?url=${encoded}%2F1`,
  ]
  for (const path of paths) expect(`${path} ${(await fetch(base + path)).status}`).toMatch(/ [24]00$/)
  const lane = encodeURIComponent('http://b1.backlog.example')
  for (const action of ['pause', 'resume', 'refetch', 'drop']) {
    const body = JSON.stringify({ action, reason: 'to see what it costs' })
    const headers = { 'content-type': 'application/json' }
    expect((await fetch(`${base}/v1/origins/${lane}`, { method: 'PATCH', headers, body })).status).toBe(200)
  }
}

async function brokenJob(id: string): Promise<void> {
  await raw.hset(`${TAG}:candidates:${id}`, 'name', 'x', 'data', 'not JSON', 'opts', '{}', 'timestamp', Date.now())
  await raw.multi().lpush(`${TAG}:candidates:wait`, id).zadd(`${TAG}:candidates:marker`, 0, '0').exec()
}

/** Housekeeping alone, from one trimming of the outcomes (its rarest task, every tenth tick) to the next. */
async function idleRound(book: CommandBook): Promise<number> {
  await book.next('XINFO')
  const { count } = book
  await book.next('XINFO')
  return book.count - count
}

test('no command grows with the backlog, nor comes oftener: 100 → 100,000 URLs, 50 → 50,000 lanes, as many outcomes', async () => {
  await grow(0, URLS)
  const small = await round('small')
  await grow(URLS, URLS * GROWTH)
  const { lanes, waiting, unread } = await fetcher.ledger.viewPartition(0)
  expect({ lanes: lanes > 49_000, waiting: waiting > 99_000, unread: unread > 49_000 }).toEqual({
    lanes: true,
    waiting: true,
    unread: true,
  })
  const large = await round('large')

  expect([...small.unbounded, ...large.unbounded]).toEqual([])
  const commands = ({ counts, urls }: Round): number => [...counts.values()].reduce((sum, n) => sum + n, 0) / urls
  // A busy machine makes batches smaller, and what is asked once a second comes oftener between two ticks that are late: a few times
  // as many commands. What grows would be a thousandfold.
  const muchLess = GROWTH / 50
  expect(commands(large)).toBeLessThan(commands(small) * muchLess)
  expect(large.idle).toBeLessThan(small.idle * muchLess)
  expect(large.looked).toBeLessThan(LANES * GROWTH) // its lists end at 1,000 lanes, which 50 do not reach
})

test.each([
  ['KEYS', '*'],
  ['SMEMBERS', `${TAG}:ids:1`],
  ['HGETALL', `${TAG}:leases`],
  ['HKEYS', `${TAG}:lanes`],
  ['LRANGE', `${TAG}:q:bot http://a.example`, '0', '-1'],
  ['ZRANGE', `${TAG}:due`, '0', '-1'],
  ['ZRANGE', `${TAG}:due`, '-inf', '5', 'BYSCORE'],
  ['ZRANGEBYSCORE', `${TAG}:due`, '-inf', '5'],
  ['SCAN', '0', 'COUNT', '100'],
  ['SORT', `${TAG}:ids:1`],
  ['XRANGE', `${TAG}:outcomes`, '-', '+'],
  ['XREAD', 'STREAMS', `${TAG}:outcomes`, '0'],
  ['LREM', `${TAG}:candidates:wait`, '0', '1'],
])('the book complains about %s %s %s', (name, ...args) => {
  expect(complaintAbout(name, args.filter(Boolean))).toBeTypeOf('string')
})
