/** The ledger on a real Redis Cluster: who answers for what, and what happens while a slot moves or a master is away. */
import { openFrontier } from '@decorum/client'
import { keysOf, LedgerUnavailableError, LedgerUnfitError, linkTo, PARTITIONS_KEY } from '@decorum/ledger'
import { answersOf } from '@decorum/ledger/stored'
import { openLedgerWithViews } from '@decorum/ledger/views'
import { CANDIDATES, JOB_NAMES, queueOptions, systemClock } from '@decorum/protocol'
import { addJobs, Queue } from '@decorum/protocol/bullmq'
import { Cluster, Redis } from 'ioredis'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { outcomeOf, url } from '../ledger/ledger-for-test.ts'
import { startCluster } from '../support/cluster.ts'
import { startRedis } from '../support/redis.ts'

const cluster = await startCluster()
afterAll(() => cluster.stop())
const PARTITIONS = 6
/** Nobody waits for them to end, and what is held has to be seen while it is. */
const TIMES = { leaseMs: 40_000, quarantineMs: 10_000 }
/** Where a call is not to be answered. */
const HASTY_MS = 1_000
const ask = { limit: 10, aheadMs: 0, inFlightLimit: 100, peek: 1 }

/** @param callDeadlineMs  on a busy machine an answer may take seconds */
async function open(callDeadlineMs = 30_000) {
  const ledger = await openLedgerWithViews({ redis: cluster.url, partitions: PARTITIONS, callDeadlineMs, ...TIMES })
  onTestFinished(() => ledger.close())
  const origins = ledger.tags.map((_, partition) => {
    for (let n = 0; ; n++) if (ledger.partitionOf(`http://s${n}.test`) === partition) return `http://s${n}.test`
  })
  return { ledger, origins }
}

/** Of each partition: when its epoch began, and until when it has held everything, ms of the ledger's time. */
async function epochsOf(tags: string[]): Promise<{ began: number; holdUntil: number }[]> {
  const link = linkTo(cluster.url, { away: 'wait' })
  onTestFinished(() => link.disconnect())
  return Promise.all(
    tags.map(async (tag) => {
      const [id, hold] = await link.hmget(keysOf(tag).epoch, 'id', 'hold')
      return { began: Number(id) / 1_000, holdUntil: Number(hold) }
    }),
  )
}

test('six partitions lie two on each master, and the same calls reach each', async () => {
  const { ledger, origins } = await open()
  const homes = await Promise.all(ledger.tags.map((tag) => cluster.homeOf(tag)))
  expect(homes.toSorted((a, b) => a - b)).toEqual([0, 0, 1, 1, 2, 2])
  expect(ledger.warnings).toEqual([])
  for (const [partition, origin] of origins.entries())
    expect(await ledger.store(partition, [url(`one-${partition}`, { origin })])).toMatchObject({ stored: 1 })
  await expect.poll(async () => (await ledger.members()).length).toBe(0)
  await ledger.announce({ id: 'x', role: 'gateway', slots: 0 })
  expect(await ledger.members()).toEqual([{ id: 'x', role: 'gateway', slots: 0 }])
})

test('what is redirected too often was neither answered nor stored, and is not taken for it', async () => {
  const tag = '{decorum:2}'
  const link = new Cluster(cluster.url.split(','), { maxRedirections: 0 }) // the first one is too often
  const queue = new Queue(CANDIDATES, { connection: link, ...queueOptions(tag) })
  onTestFinished(() => queue.close().finally(() => link.disconnect()))
  await queue.waitUntilReady()
  await link.pipeline().get(`${tag}:none`).exec()
  const heal = await cluster.redirectForEver(tag)
  onTestFinished(heal)
  const job = { name: JOB_NAMES.candidates, data: { candidates: [] } }
  await expect(addJobs(queue, [job, job])).rejects.toThrow()
  await expect(
    answersOf(link.pipeline().set(`${tag}:a`, '1').set(`${tag}:b`, '1'), { clock: systemClock, ms: 5_000 }, 'test'),
  ).rejects.toThrow(LedgerUnavailableError)
  await heal()
  expect(await link.exists(`${tag}:a`)).toBe(0)
  await expect(
    answersOf(link.pipeline().set(`${tag}:a`, '1'), { clock: systemClock, ms: 5_000 }, 'test'),
  ).resolves.toEqual(['OK'])
})

test('a wake-up is heard from whichever master it comes', async () => {
  const { ledger, origins } = await open()
  const heard = new Set<number>()
  await ledger.onWake((partition) => heard.add(partition))
  for (const [partition] of origins.entries()) {
    const free = `http://wake.s${partition}.test`
    const at = ledger.partitionOf(free)
    // What is due already would keep a new one from being the first.
    await expect.poll(() => ledger.reserve(at, ask)).toMatchObject({ why: 'nothing-due' })
    await ledger.store(at, [url(`wake-${partition}`, { origin: free })])
    await expect.poll(() => heard.has(at)).toBe(true)
  }
})

test('while a slot moves its partition answers no call: half of it is never mistaken for the whole', async () => {
  const { ledger, origins } = await open()
  const { ledger: hasty } = await open(HASTY_MS)
  const [tag = '', origin = ''] = [ledger.tags[1], origins[1]]
  await ledger.store(
    1,
    Array.from({ length: 60 }, (_, n) => url(`m${n}`, { origin: `${origin}:${8_000 + n}` })),
  )
  const before = await ledger.viewPartition(1)
  let refused = 0
  const to = ((await cluster.homeOf(tag)) + 1) % 3
  const gone = await cluster.moveTag(tag, to, async () => {
    for (const call of [
      () => hasty.reserve(1, ask),
      () => hasty.store(1, [url('late', { origin })]),
      () => hasty.acquire({ lanes: [{ agent: 'bot', origin }], kind: 'hop', delayMs: 1 }),
      () => hasty.viewPartition(1),
    ]) {
      await expect(call()).rejects.toBeInstanceOf(LedgerUnavailableError)
      refused++
    }
    expect(await ledger.store(0, [url('elsewhere', { origin: origins[0] as string })])).toMatchObject({ stored: 1 })
  })
  expect(refused).toBe(4)
  expect(gone).toBeGreaterThan(60)
  expect(await cluster.homeOf(tag)).toBe(to)
  const after = await ledger.viewPartition(1)
  expect(after).toMatchObject({ waiting: before.waiting, lanes: before.lanes })
  // Another server is another run: what the first one granted may still be on the wire.
  expect(after.holdUntil ?? 0).toBeGreaterThan(after.now)
  expect(await ledger.reserve(1, ask)).toMatchObject({ kind: 'wait', why: 'startup-hold' })
  expect((await ledger.viewPartition(0)).holdUntil).toBeUndefined()
})

test('a master that is away stops only its own partitions, also for processes that start meanwhile; back, its partitions have a startup hold', async () => {
  const { ledger, origins } = await open(HASTY_MS)
  const victim = await cluster.homeOf(ledger.tags[5] as string)
  expect(await cluster.homeOf(PARTITIONS_KEY), 'who starts needs the list of partitions').not.toBe(victim)
  const homes = await Promise.all(ledger.tags.map((tag) => cluster.homeOf(tag)))
  const epochs = await epochsOf(ledger.tags)
  await cluster.masters[victim]?.kill9()
  let isBack = false
  const bringBack = async (): Promise<void> => {
    if (!isBack) await cluster.masters[victim]?.restart()
    isBack = true
    await cluster.healthy()
  }
  onTestFinished(bringBack) // also for the tests behind this one
  const storeAll = (by: typeof ledger, name: string) =>
    Promise.allSettled(origins.map((origin, n) => by.store(n, [url(`${name}-${n}`, { origin })])))
  const wanted = homes.map((home) => (home === victim ? 'rejected' : 'fulfilled'))
  await expect.poll(async () => (await storeAll(ledger, 'away')).map(({ status }) => status)).toEqual(wanted)
  expect((await ledger.announce({ id: 'y', role: 'fetcher', slots: 3 })).map(({ id }) => id)).toContain('y')
  const { ledger: late } = await open(HASTY_MS)
  await expect.poll(async () => (await storeAll(late, 'late')).map(({ status }) => status)).toEqual(wanted)
  expect(late.warnings).toEqual(['2 of 6 partitions do not answer: a master of the cluster is away'])
  expect(Math.abs(late.now(5) - Date.now())).toBeLessThan(5_000)

  await bringBack()
  await expect
    .poll(() => storeAll(ledger, 'back').then((all) => all.every(({ status }) => status === 'fulfilled')))
    .toBe(true)
  for (const [partition, { began, holdUntil }] of (await epochsOf(ledger.tags)).entries()) {
    const before = epochs[partition]
    if (homes[partition] !== victim) expect(began, `partition ${partition}`).toBe(before?.began)
    else {
      expect(began, `partition ${partition}`).toBeGreaterThan(before?.began ?? 0)
      expect(holdUntil - began).toBeCloseTo(TIMES.leaseMs + TIMES.quarantineMs, 1)
    }
  }
})

test('a master that hangs delays only its own partitions: storing, reading and acknowledging go on', async () => {
  const { ledger, origins } = await open()
  const { ledger: hasty } = await open(HASTY_MS)
  const frontier = await openFrontier({ redis: cluster.url })
  onTestFinished(() => frontier.close())
  const homes = await Promise.all(ledger.tags.map((tag) => cluster.homeOf(tag)))
  const victim = homes[5]!
  const say = (name: string, partition: number, by = ledger) =>
    by.store(partition, [
      { outcome: outcomeOf(`${name}-${partition}`, { url: `${origins[partition]}/`, kind: 'invalid' } as object) },
    ])
  for (const partition of homes.keys()) await say('early', partition)
  const heard: string[] = []
  const reading = (async () => {
    for await (const { outcome, ack } of frontier.outcomes({ group: 'hang', from: 'start' })) {
      heard.push(outcome.id)
      await ack().catch(() => undefined)
    }
  })()
  await expect.poll(() => heard.filter((id) => id.startsWith('early')).length).toBe(PARTITIONS)
  const { pid } = cluster.masters[victim]!
  process.kill(pid, 'SIGSTOP')
  onTestFinished(() => void process.kill(pid, 'SIGCONT'))
  const others = [...homes.keys()].filter((partition) => homes[partition] !== victim)
  await Promise.all(others.map((partition) => say('hung', partition)))
  await expect(say('hung', 5, hasty)).rejects.toThrow('no answer within 1000 ms')
  await expect.poll(() => heard.filter((id) => id.startsWith('hung')).length).toBe(others.length)
  process.kill(pid, 'SIGCONT')
  await cluster.healthy()
  await expect.poll(() => say('thawed', 5, hasty).then(() => heard.includes('thawed-5'))).toBe(true)
  await frontier.close()
  await reading
})

test('one node alone is refused with the way out; servers that are no cluster as well', async () => {
  const [first] = cluster.masters
  const alone = openLedgerWithViews({ redis: first?.url ?? '', partitions: 1 })
  await expect(alone).rejects.toBeInstanceOf(LedgerUnfitError)
  await expect(alone).rejects.toThrow('write ?cluster behind REDIS_URL')
  await expect(openFrontier({ redis: first?.url ?? '' })).rejects.toThrow('write ?cluster behind REDIS_URL')
  const plain = await startRedis()
  onTestFinished(() => plain.stop())
  const two = openLedgerWithViews({ redis: `${plain.url},${plain.url}`, partitions: 1 })
  await expect(two).rejects.toThrow('this is one server: name only one')
})

test('one name with ?cluster leads to all of its masters', async () => {
  const ledger = await openLedgerWithViews({ redis: `${cluster.masters[0]?.url}?cluster`, partitions: PARTITIONS })
  onTestFinished(() => ledger.close())
  expect(ledger.tags).toHaveLength(PARTITIONS)
})

test('a cluster of which one master stops all is used with a warning', async () => {
  const raw = cluster.masters.map(({ port }) => new Redis({ port, host: '127.0.0.1' }))
  const set = (value: string) =>
    Promise.all(raw.map((one) => one.config('SET', 'cluster-require-full-coverage', value)))
  onTestFinished(async () => {
    await set('no')
    for (const one of raw) one.disconnect()
  })
  await set('yes')
  const { ledger } = await open()
  expect(ledger.warnings).toEqual([expect.stringContaining('set cluster-require-full-coverage no')])
})
