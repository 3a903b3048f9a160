/**
 * The drill of docs/operating.md#backup: a copy of Redis's files, taken while a fleet works, is started as another server. What came
 * after the copy is lost, nothing else is, and no site is visited early.
 */
import { cp, mkdtemp, readdir, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type LedgerWithViews, openLedgerWithViews } from '@decorum/ledger/views'
import { Redis } from 'ioredis'
import { expect, inject, onTestFinished, test } from 'vitest'
import { outcomeOf, TAG, url } from '../ledger/ledger-for-test.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'

/** All of it is over before the lane that is due after 8 s, and nothing ends while a busy machine keeps the test from running. */
const TIMES = { leaseMs: 6_000, quarantineMs: 500, reserveMs: 6_000 }
const LANES = 40
const origin = (n: number): string => `http://s${n}.test`
const store = (ledger: LedgerWithViews, from: number, to: number) =>
  ledger.store(
    0,
    Array.from({ length: to - from }, (_, n) => url(`u${from + n}`, { origin: origin((from + n) % LANES) })),
  )
const all = { limit: 100, aheadMs: 0, inFlightLimit: 1_000, peek: 1 }

/** Commands that the page names; nothing of Redis may rewrite the file while it is copied. */
async function backUp(server: TestRedis): Promise<string> {
  const redis = new Redis(server.url)
  await redis.config('SET', 'auto-aof-rewrite-percentage', '0')
  await expect.poll(async () => /aof_rewrite_in_progress:(\d)/.exec(await redis.info('persistence'))?.[1]).toBe('0')
  const dir = await mkdtemp(join(inject('redisFolder'), 'backup-'))
  await cp(join(server.dir, 'appendonlydir'), join(dir, 'appendonlydir'), { recursive: true })
  await redis.config('SET', 'auto-aof-rewrite-percentage', '100')
  redis.disconnect()
  return dir
}

async function open(server: TestRedis): Promise<LedgerWithViews> {
  const ledger = await openLedgerWithViews({ redis: server.url, partitions: 1, ...TIMES })
  onTestFinished(() => ledger.close())
  return ledger
}

async function granted(ledger: LedgerWithViews) {
  for (;;) {
    const found = await ledger.reserve(0, all)
    if (found.kind === 'reserved') return found.lanes
    await sleep(Math.min(found.waitMs ?? 20, 20))
  }
}

test.each(['whole', 'cut in its last command'])(
  'a copy that is %s: what came after it is lost, the rest waits its time',
  async (kind) => {
    const first = await startRedis({ appendonly: true })
    onTestFinished(() => first.stop())
    const ledger = await open(first)
    await store(ledger, 0, 400)
    const lanes = await granted(ledger)
    expect(lanes).toHaveLength(LANES)
    const [inFlight, done, ...others] = lanes
    if (inFlight === undefined || done === undefined) throw new Error('no lanes')
    const start = (lane: typeof done) => {
      const { agent, fence } = lane
      return ledger.start({ agent, origin: lane.origin, fence, kind: 'page', version: 0, delayMs: 1_000 })
    }
    expect(await start(inFlight)).toMatchObject({ kind: 'granted' })
    expect(await start(done)).toMatchObject({ kind: 'granted' })
    const exchange = {
      agent: done.agent,
      origin: done.origin,
      fence: done.fence,
      elapsedMs: 0,
      load: { kind: 'normal' },
    } as const
    const dueAt = ledger.now() + 8_000
    await ledger.complete({ ...exchange, delayMs: 8_000, outcome: outcomeOf(done.urls[0]?.id ?? '') })
    await ledger.resolve(
      0,
      others.map(({ agent, origin: at, fence }) => ({
        agent,
        origin: at,
        fence,
        dropped: [],
        next: { kind: 'release' },
      })),
    )
    const before = await ledger.viewPartition(0)
    const dir = await backUp(first)
    await store(ledger, 400, 500) // after the copy: lost with it
    const cut = kind !== 'whole'
    if (cut) {
      const folder = join(dir, 'appendonlydir')
      const file = join(folder, (await readdir(folder)).find((name) => name.includes('.incr.')) ?? '')
      await truncate(file, (await stat(file)).size - 5)
    }

    const second = await startRedis({ appendonly: true, dir, isNew: false })
    onTestFinished(() => second.stop())
    const heldFrom = Date.now()
    const restored = await open(second)
    expect(await restored.reserve(0, all)).toMatchObject({ kind: 'wait', why: 'startup-hold' })
    const after = await restored.viewPartition(0)
    expect([after.waiting, after.unread]).toEqual([before.waiting, before.unread])

    const seen = new Map<string, number>()
    while (!seen.has(inFlight.origin) || !seen.has(done.origin)) {
      await restored.reap(0)
      for (const { agent, origin: at, fence } of await granted(restored)) {
        const answer = await restored.start({ agent, origin: at, fence, kind: 'page', version: 0, delayMs: 60_000 })
        if (answer.kind === 'granted' && !seen.has(at)) seen.set(at, restored.now())
      }
    }
    // A few milliseconds: `now` is never ahead of the ledger's time, and lags by a round trip at most.
    expect(Math.min(...seen.values())).toBeGreaterThanOrEqual(heldFrom + TIMES.leaseMs + TIMES.quarantineMs - 50)
    expect(seen.get(done.origin)).toBeGreaterThanOrEqual(dueAt - 50)
    expect(seen.size).toBe(LANES)
    const raw = new Redis(second.url)
    onTestFinished(() => raw.disconnect())
    expect(await raw.xlen(`${TAG}:outcomes`)).toBe(1)
  },
)

test('a dump.rdb alone is loaded only without an append-only file, which is switched on afterwards', async () => {
  const first = await startRedis({ appendonly: false })
  onTestFinished(() => first.stop())
  const redis = new Redis(first.url)
  await redis.set('kept', 'x')
  await redis.save()
  redis.disconnect()
  const copy = async () => {
    const dir = await mkdtemp(join(inject('redisFolder'), 'dump-'))
    await cp(join(first.dir, 'dump.rdb'), join(dir, 'dump.rdb'))
    return dir
  }
  const start = async (appendonly: boolean, dir: string) => {
    const server = await startRedis({ appendonly, dir, isNew: false })
    const asked = new Redis(server.url)
    onTestFinished(async () => {
      asked.disconnect()
      await server.stop()
    })
    return { server, asked }
  }
  expect(await (await start(true, await copy())).asked.get('kept')).toBeNull()
  const dir = await copy()
  const { server, asked } = await start(false, dir)
  expect(await asked.get('kept')).toBe('x')
  await asked.config('SET', 'appendonly', 'yes')
  await expect.poll(async () => /aof_rewrite_in_progress:(\d)/.exec(await asked.info('persistence'))?.[1]).toBe('0')
  await expect.poll(async () => (await readdir(join(dir, 'appendonlydir'))).join()).toContain('manifest')
  await server.stop()
  expect(await (await start(true, dir)).asked.get('kept')).toBe('x')
})
