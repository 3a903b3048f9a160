/** Agents that not every process knows: of a deploy under way, or taken out of the settings. */
import { readDocument, UNKNOWN_AGENT_WAIT_MS } from '@decorum/config'
import { connectForConfig, readCurrent, write } from '@decorum/config/fleet-config'
import { main as fetcherMain } from '@decorum/fetcher'
import { main as gatewayMain } from '@decorum/gateway'
import type { StoreItem } from '@decorum/ledger'
import { type LedgerWithViews, openLedgerWithViews } from '@decorum/ledger/views'
import { partitionTags } from '@decorum/protocol'
import { afterAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { rawOrigin } from '../fetcher/support/raw-origin.ts'
import { PATIENT } from '../support/patient.ts'
import { redisForTest } from '../support/redis.ts'
import { watchOutcomes } from './support/outcomes.ts'

const redis = await redisForTest()
const outcomes = watchOutcomes(redis.url, partitionTags(1))
const ledger: LedgerWithViews = await openLedgerWithViews({ redis: redis.url, partitions: 1, ...PATIENT })
afterAll(async () => {
  outcomes.close()
  await ledger.close()
})

const settings = (...names: string[]) => ({
  REDIS_URL: redis.url,
  DECORUM_AGENTS: JSON.stringify(names.map((name) => ({ name, userAgent: `${name} (+https://bot.example/)` }))),
  DECORUM_ALLOW_ADDRESSES: '127.0.0.0/8',
  DEFAULT_DELAY_MS: '50',
  FETCH_CONCURRENCY: '4',
  FETCH_PROCESSES: '0',
  LOG_LEVEL: 'silent',
})
/** What `decorum config apply` does: the configuration has these agents from now on. */
async function configure(...names: string[]): Promise<void> {
  const link = await connectForConfig(redis.url)
  const current = await readCurrent(link)
  const values = readDocument(
    { DECORUM_AGENTS: JSON.parse(settings(...names).DECORUM_AGENTS) as object },
    current?.values,
  )
  await write(link, current?.version ?? 0, { values, by: 'a test', reason: '', via: 'apply' })
  link.disconnect()
}
async function start(main: typeof gatewayMain, ...names: string[]) {
  const service = await main(settings(...names))
  let stopping: Promise<void> | undefined
  const stop = () => (stopping ??= service.stop())
  onTestFinished(stop)
  return { port: service.port, stop }
}
const waitingUrl = (agent: string, origin: string, id: string, lifeMs = 3_600_000): StoreItem => ({
  lane: { agent, origin },
  pending: { id, path: `/${id}`, expiresAt: Date.now() + lifeMs, hops: 0, priority: 'normal' },
})
const ended = async (prefix: string) => (await outcomes.all()).filter(({ id }) => id.startsWith(prefix))

beforeEach(async () => {
  const { holdUntil = 0, now } = await ledger.viewPartition(0)
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, holdUntil - now)))
})

test('forty lanes of an agent that the fetchers do not know yet take no slots; they say why they wait, and go on later', async () => {
  const site = await rawOrigin((socket) => void socket.write('HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n'))
  const old = await start(fetcherMain, 'old-bot')
  await configure('old-bot', 'new-bot')
  await start(gatewayMain, 'old-bot', 'new-bot')
  const lanes = Array.from({ length: 40 }, (_, n) => `http://127.60.0.${n + 1}:9`)
  const storedAt = performance.now()
  await ledger.store(0, [...lanes.map((origin, n) => waitingUrl('new-bot', origin, `new-${n}`))])
  const seen = new Set<string>()
  const seenGivenBack = async () => {
    for (const { origin, lane } of await ledger.viewLanes(0, { order: 'latest', limit: 200 }))
      if (lane.heldBy === 'unknown-agent') seen.add(origin.origin)
    return seen.size
  }
  // Every order of theirs has come and gone: 40 lanes through the 8 orders that four slots allow.
  await expect.poll(seenGivenBack, { interval: 50 }).toBe(40)
  await ledger.store(
    0,
    Array.from({ length: 5 }, (_, n) => waitingUrl('old-bot', site.origin, `old-${n}`)),
  )
  await expect.poll(async () => (await ended('old')).length, { interval: 50 }).toBe(5)
  const metrics = await (await fetch(`http://127.0.0.1:${old.port}/metrics`)).text()
  const timesGivenBack = Number(/_refused_total\{why="unknown-agent"\} (\d+)/.exec(metrics)?.[1])
  expect(timesGivenBack).toBeGreaterThanOrEqual(40)
  const turns = 1 + Math.floor((performance.now() - storedAt) / UNKNOWN_AGENT_WAIT_MS)
  expect(timesGivenBack, 'none of them has been tried again and again').toBeLessThanOrEqual(40 * turns)
  expect(await ended('new')).toEqual([])

  await start(fetcherMain, 'old-bot', 'new-bot')
  await old.stop()
  await expect.poll(async () => (await ended('new')).length, { interval: 100 }).toBeGreaterThan(0)
})

test('a URL whose agent was taken out of the settings ends when it expires', async () => {
  await ledger.store(0, [
    waitingUrl('gone-bot', 'http://127.60.1.1:9', 'gone-1', 200),
    waitingUrl('gone-bot', 'http://127.60.1.1:9', 'gone-2', 300),
    waitingUrl('gone-bot', 'http://127.60.1.1:9', 'gone-3'),
  ])
  await configure('old-bot')
  await start(gatewayMain, 'old-bot')
  await ledger.announce({ role: 'fetcher', id: 'by-hand', slots: 10 }, 20_000)
  await expect.poll(async () => (await ended('gone')).length, { interval: 50 }).toBe(2)
  expect(await ended('gone')).toMatchObject(
    ['gone-1', 'gone-2'].map((id) => ({ id, kind: 'expired', reason: 'unknown-agent', attempts: 0 })),
  )
  await expect
    .poll(async () => (await ledger.viewOrigin('http://127.60.1.1:9', ['gone-bot'])).lanes[0])
    .toMatchObject({ waiting: 1, state: 'waiting', heldBy: 'unknown-agent' })
})
