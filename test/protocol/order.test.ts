/** ④ Orders and ⑥ outcomes: the shapes that processes of different versions must agree on. */
import { expect, test } from 'vitest'
import {
  FAILURE_REASONS,
  MAX_ORDERS_PER_JOB,
  type Order,
  OrdersJob,
  OUTCOME_KINDS,
  orderUrl,
  writtenOrder,
} from '../../packages/protocol/src/index.ts'

const order: Order = {
  kind: 'page',
  agent: 'bot',
  origin: 'http://a.test',
  path: '/x?y',
  fence: 1_800_000_000_000_001,
  version: 0,
  gapMs: 1_000,
  notBefore: 1_800_000_000_000.125,
  id: 'i',
  attempt: 1,
  hops: 0,
  priority: 'normal',
}

test('an order survives its way through JSON to the last bit of its fence', () => {
  const job = { orders: [order, { ...order, kind: 'robots', meta: { a: 1 }, expiresAt: 5, priority: 'high' }] }
  expect(OrdersJob.parse(JSON.parse(JSON.stringify(job)))).toEqual(job)
})

test('what is usual is not written, and reading puts it back', () => {
  const usual = writtenOrder(order, order.notBefore)
  expect(Object.keys(usual)).toEqual(['agent', 'origin', 'path', 'fence', 'version', 'gapMs', 'id'])
  expect(OrdersJob.parse({ orders: [usual] }).orders).toEqual([{ ...order, notBefore: 0 }])
})

test('what is not usual is written', () => {
  const rare: Order = { ...order, kind: 'robots', attempt: 2, hops: 3, priority: 'high', expiresAt: 5, meta: { a: 1 } }
  expect(OrdersJob.parse({ orders: [writtenOrder(rare, order.notBefore - 1)] }).orders).toEqual([rare])
})

test.each([
  ['no orders', { orders: [] }],
  ['more than a job carries', { orders: Array.from({ length: MAX_ORDERS_PER_JOB + 1 }, () => order) }],
  ['another kind', { orders: [{ ...order, kind: 'image' }] }],
  ['no fence', { orders: [{ ...order, fence: undefined }] }],
  ['nothing', {}],
])('refused: %s', (_, job) => {
  expect(OrdersJob.safeParse(job).success).toBe(false)
})

test('the URL of an order is its origin and path, as they are', () => {
  expect(orderUrl(order)).toBe('http://a.test/x?y')
})

test('outcome kinds and failure reasons are closed lists without repetition', () => {
  expect(new Set(OUTCOME_KINDS).size).toBe(OUTCOME_KINDS.length)
  expect(new Set(FAILURE_REASONS).size).toBe(FAILURE_REASONS.length)
  expect(FAILURE_REASONS).not.toContain('other')
})
