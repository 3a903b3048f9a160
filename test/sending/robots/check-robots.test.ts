/** A person's question for a robots.txt as a visit of the fleet: on the real ledger, by a process that stands still meanwhile. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Agent } from '@decorum/config'
import { readConfig } from '@decorum/fetcher/config'
import { type Ledger, LedgerUnavailableError } from '@decorum/ledger'
import { openLedgerWithViews } from '@decorum/ledger/views'
import { checkRobots } from '@decorum/sending/robots'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { answerOf, rawOrigin } from '../../fetcher/support/raw-origin.ts'
import { polite } from '../../fetcher/support/tools.ts'
import { PATIENT } from '../../support/patient.ts'
import { redisForTest } from '../../support/redis.ts'

const redis = await redisForTest()
const ledger = await openLedgerWithViews({ redis: redis.url, partitions: 1, leaseMs: 45_000, ...PATIENT })
// the first hold of an empty ledger
beforeAll(async () => {
  while ((await ledger.viewPartition(0)).holdUntil !== undefined) await sleep(20)
})
afterAll(() => ledger.close())
afterEach(() => vi.restoreAllMocks())

const RULES = 'User-agent: *\nDisallow: /private\n'
const env = { REDIS_URL: redis.url, DECORUM_ALLOW_ADDRESSES: '127.0.0.0/8', DECORUM_CONTACT: 'https://example.com/bot' }
const HAND_MS = 400
let hosts = 0
const host = () => `127.93.0.${++hosts}`

async function visit(origin: string, its: Ledger = ledger, more: Record<string, string> = {}, by: Partial<Agent> = {}) {
  const { version } = await ledger.viewOrigin(origin, [])
  const agent = { ...polite, minDelayMs: 50, ...by }
  const config = readConfig({ ...env, ...more })
  return await checkRobots({
    origin,
    agent,
    settings: { ...config, fetchDeadlineMs: config.FETCH_DEADLINE_MS, leaseMs: config.LEASE_MS },
    fleet: { ledger: its, version },
    patienceMs: 5_000,
  })
}

/** The wall clock has gone on by this, as after a process or its machine has stood still. */
function standStill(ms: number): void {
  const real = Date.now.bind(Date)
  vi.spyOn(Date, 'now').mockImplementation(() => real() + ms)
}

test('nothing is sent by a process that stood still for longer than its lease before it had the answer that it may', async () => {
  const site = await rawOrigin(answerOf(200, {}, RULES).toString(), { host: host() })
  const late: Ledger = {
    ...ledger,
    async acquire(request) {
      const entry = await ledger.acquire(request)
      if (request.kind === 'hop') standStill(60_000)
      return entry
    },
  }
  const answer = await visit(site.origin, late)
  expect(answer?.event).toBeUndefined()
  expect(site.asked).toEqual([])
})

test('an answer that a process held for longer than its lease is not recorded as a new one', async () => {
  const site = await rawOrigin(
    (socket) => {
      standStill(60_000)
      socket.write(answerOf(200, {}, RULES))
    },
    { host: host() },
  )
  const answer = await visit(site.origin)
  expect(answer?.event).toMatchObject({ status: 200 })
  expect((await ledger.viewOrigin(site.origin, [])).state.answer).toBeUndefined()
})

test('the ledger fails while the lane and that of its host are asked for: the pace groups that are held already are given back', async () => {
  const site = await rawOrigin(answerOf(200, {}, RULES).toString(), { host: host() })
  const released: string[] = []
  const failing: Ledger = {
    ...ledger,
    acquire: (request) =>
      request.kind === 'hop'
        ? Promise.reject(new LedgerUnavailableError('acquire', new Error('gone')))
        : ledger.acquire(request),
    resolve(partition, words) {
      released.push(...words.map(({ origin }) => origin))
      return ledger.resolve(partition, words)
    },
  }
  const groups = { lists: [{ name: 'cdn', hosts: [new URL(site.origin).hostname], delayMs: 20 }] }
  const visiting = visit(site.origin, failing, { PACE_GROUPS: JSON.stringify(groups) })
  await expect(visiting).rejects.toThrow(LedgerUnavailableError)
  expect(released).toEqual(['list://cdn'])
  expect(site.asked).toEqual([])
})

test('the ledger fails before it has answered what is known: nothing is sent, and the lane is free for the next who asks', async () => {
  const site = await rawOrigin(answerOf(200, {}, RULES).toString(), { host: host() })
  let looks = 0 // the first is before the turn
  const robotsStates: Ledger['robotsStates'] = (...about) =>
    ++looks === 1
      ? ledger.robotsStates(...about)
      : Promise.reject(new LedgerUnavailableError('states', new Error('gone')))
  const answer = await visit(site.origin, { ...ledger, robotsStates })
  expect(answer).toMatchObject({ unsent: 'not-sent', detail: "the ledger did not answer 'states': gone" })
  expect(site.asked).toEqual([])
  expect((await visit(site.origin))?.event).toMatchObject({ status: 200 })
})

test.each([
  ['a host with one pace', ''],
  ['ports with a pace of their own', '{"host":false}'],
])('the delay that is known is owed before a redirect: %s', async (_, groups) => {
  const record: { start: number; end: number }[] = []
  const site = await rawOrigin(
    (socket, { path, at }) => {
      socket.write(path === '/robots.txt' ? answerOf(301, { location: '/rules.txt' }) : answerOf(200, {}, RULES))
      record.push({ start: at, end: performance.now() })
    },
    { host: host() },
  )
  const until = Date.now() + 3_600_000
  await ledger.operate(
    { origin: site.origin, action: 'delay', delayMs: HAND_MS, until, by: 'ann', reason: 'a test' },
    [],
  )
  const answer = await visit(site.origin, ledger, { PACE_GROUPS: groups })
  expect(answer?.event).toMatchObject({ status: 200 })
  const [moved, found] = record
  expect((found?.start ?? 0) - (moved?.end ?? Infinity)).toBeGreaterThanOrEqual(HAND_MS)
})

test('an agent without a contact: the person gets the reason, and the URL that waits in the lane keeps its place without an outcome', async () => {
  const origin = 'http://203.0.114.1' // public; nothing is sent there
  const lane = { agent: polite.key, origin }
  const pending = { id: 'waiting', path: '/', expiresAt: 4_000_000_000_000, hops: 0, priority: 'normal' as const }
  await ledger.store(0, [{ lane, pending }])
  const answer = await visit(origin, ledger, {}, { honourVisitTime: false, hasContact: false })
  expect(answer).toMatchObject({ unsent: 'no-contact' })
  expect((await ledger.viewPartition(0)).unread).toBe(0)
  expect((await ledger.viewOrigin(origin, [polite.key])).lanes).toMatchObject([{ waiting: 1, head: { id: 'waiting' } }])
})
