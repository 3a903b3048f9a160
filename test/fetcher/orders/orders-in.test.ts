/** The orders queue on a real Redis: jobs into slots. */
import { openOrdersIn, openSlots, openStats } from '@decorum/fetcher/testing'
import { ORDERS, type Order, queueOptions, systemClock, type UnreadableOrder } from '@decorum/protocol'
import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { redisForTest } from '../../support/redis.ts'
import { pageOrder } from '../support/orders.ts'

const redis = await redisForTest()

/** Orders stay in their slots until the test lets them go. */
function rig(slotCount: number, tag = `{t${Math.random().toString(36).slice(2)}}`) {
  const connection = new Redis(redis.url, { maxRetriesPerRequest: null })
  const queue = new Queue(ORDERS, { connection, ...queueOptions(tag) })
  const inSlots: { order: Order; end: () => void }[] = []
  const slots = openSlots(systemClock, slotCount)
  const stats = openStats(slots)
  const warnings: object[] = []
  const ended: { order: UnreadableOrder; why: string }[] = []
  const orders = openOrdersIn({
    clock: systemClock,
    tags: [tag],
    connection: { url: redis.url, maxRetriesPerRequest: null },
    slots,
    stats,
    carryOut: (order) => new Promise((end) => inSlots.push({ order, end: () => end() })),
    turnAway: () => undefined,
    endUnreadable: async (order, why) => void ended.push({ order, why }),
    log: { warn: (fields) => warnings.push(fields) },
  })
  onTestFinished(async () => {
    for (const { end } of inSlots) end()
    await orders.stop()
    await queue.close()
    connection.disconnect()
  })
  const add = (...list: Order[]) =>
    queue.add('orders', { orders: list }, { attempts: 1, removeOnComplete: true, removeOnFail: true })
  return {
    queue,
    orders,
    inSlots,
    stats,
    warnings,
    ended,
    add,
    connection,
    tag,
    counts: () => queue.getJobCounts('wait', 'active', 'completed', 'failed', 'delayed'),
  }
}
const numbered = (from: number, count: number) =>
  Array.from({ length: count }, (_, i) => pageOrder(`http://127.0.0.1:${from + i}`, '/', { id: `o${from + i}` }))

test('a job ends when each of its orders has found a slot, not when they are done', async () => {
  const { add, inSlots, counts } = rig(10)
  await add(...numbered(1, 5))
  await expect.poll(() => inSlots.length).toBe(5)
  await expect.poll(counts).toEqual({ wait: 0, active: 0, completed: 0, failed: 0, delayed: 0 })
})

test('while all slots are taken jobs wait in the queue, and the fetcher holds two of them', async () => {
  const { add, inSlots, counts } = rig(3)
  for (let job = 0; job < 6; job++) await add(...numbered(job * 10, 2))
  await expect.poll(() => inSlots.length).toBe(3)
  await expect.poll(counts).toMatchObject({ active: 2, wait: 3 })
  for (let ended = 0; ended < 12; ended++) {
    await expect.poll(() => inSlots.length).toBeGreaterThan(ended)
    inSlots[ended]?.end()
  }
  expect(inSlots.map(({ order }) => order.id).toSorted()).toEqual(
    [0, 1, 10, 11, 20, 21, 30, 31, 40, 41, 50, 51].map((n) => `o${n}`).toSorted(),
  )
  await expect.poll(counts).toMatchObject({ active: 0, wait: 0 })
})

test('what cannot be read is set aside once and holds nothing up', async () => {
  const { queue, add, inSlots, stats, counts, connection, tag, warnings } = rig(5)
  const bad = [{}, [], 7, null, { orders: [] }, { orders: {} }]
  for (const data of bad) await queue.add('orders', data)
  const broken = await queue.add('orders', { orders: numbered(1, 1) })
  await connection.hset(`${tag}:${ORDERS}:${broken.id}`, 'data', '{not json')
  await add(...numbered(100, 1))
  await expect.poll(() => inSlots.map(({ order }) => order.id)).toContain('o100')
  expect(stats.badJobs).toBeGreaterThanOrEqual(bad.length)
  await expect.poll(counts).toMatchObject({ completed: 0, failed: 0 })
  await expect.poll(() => warnings.length).toBeGreaterThanOrEqual(bad.length)
})

test('an order that cannot be read ends its candidate; its companions are carried out', async () => {
  const { queue, inSlots, ended, stats, warnings } = rig(5)
  const [first, poisoned, nameless, last] = numbered(1, 4)
  const orders = [first, { ...poisoned, expiresAt: null, meta: { a: 1 } }, { ...nameless, fence: 'x' }, last]
  await queue.add('orders', { orders })
  await expect.poll(() => inSlots.map(({ order }) => order.id)).toEqual(['o1', 'o4'])
  const { agent, origin, fence, path } = poisoned as Order
  expect(ended).toEqual([
    {
      order: { agent, origin, fence, path, id: 'o2', attempt: 1, crawl: 'default', meta: { a: 1 } },
      why: expect.stringMatching(/^expiresAt: /),
    },
  ])
  expect([stats.badOrders, stats.badJobs, warnings.length]).toEqual([2, 0, 2])
})

test('stop takes no more jobs and resolves when every order that was placed has ended', async () => {
  const { add, inSlots, orders, counts } = rig(2)
  await add(...numbered(1, 2))
  await expect.poll(() => inSlots.length).toBe(2)
  let stopped = false
  const stopping = orders.stop().then(() => {
    stopped = true
  })
  inSlots[0]?.end()
  await new Promise((resolve) => setImmediate(resolve))
  expect(stopped).toBe(false)
  inSlots[1]?.end()
  await stopping
  await add(...numbered(10, 1))
  expect(inSlots.length).toBe(2)
  expect(await counts()).toMatchObject({ wait: 1, active: 0 })
})
