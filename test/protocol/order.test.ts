/** ④ Orders and ⑥ outcomes: the shapes that processes of different versions must agree on. */

import {
  FAILURE_REASONS,
  LAST_INSTANT,
  type Order,
  OUTCOME_KINDS,
  ordersIn,
  orderUrl,
  writtenOrder,
} from '@decorum/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'

const order: Order = {
  kind: 'page',
  agent: 'bot',
  origin: 'http://a.test',
  path: '/x?y',
  fence: 1_800_000_000_000_001,
  version: 0,
  delayMs: 1_000,
  notBefore: 1_800_000_000_000.125,
  id: 'i',
  attempt: 1,
  hops: 0,
  crawl: 'default',
  priority: 'normal',
}

/** A job's way through Redis. */
const through = (job: unknown) => ordersIn(JSON.parse(JSON.stringify(job)))

test('any order that a gateway can write is read as it was meant', () => {
  const instant = fc.double({ min: 0, max: LAST_INSTANT, noNaN: true }).map((at) => at + 0) // no -0
  const meta = fc
    .dictionary(fc.oneof(fc.string(), fc.constant('__proto__'), fc.constant('toJSON')), fc.jsonValue({ maxDepth: 8 }))
    .map((one) => JSON.parse(JSON.stringify(one)) as Record<string, unknown>)
  const orders = fc.record<Order, keyof Order>(
    {
      kind: fc.constantFrom('page', 'robots'),
      agent: fc.stringMatching(/^[a-z_-]{1,64}$/),
      origin: fc.webUrl({ withQueryParameters: false }),
      path: fc.webPath().map((path) => `/${path}`),
      fence: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
      version: fc.nat(),
      delayMs: fc.double({ min: 0, max: 1e12, noNaN: true }).map((length) => length + 0),
      notBefore: instant,
      id: fc.string({ unit: 'binary', minLength: 1, maxLength: 128 }),
      attempt: fc.integer({ min: 1, max: 1_000 }),
      maxAttempts: fc.integer({ min: 1, max: 100 }),
      hops: fc.nat(10),
      crawl: fc.constantFrom('default', 'news', 'a-1'),
      priority: fc.constantFrom('high', 'normal'),
      expiresAt: instant,
      meta,
      request: fc.constantFrom(
        { method: 'HEAD', redirects: 'report' },
        { headers: { 'accept-language': 'de' }, ifNoneMatch: '"a"', maxBytes: 5, deadlineMs: 500, accept: ['text/*'] },
      ),
    },
    { requiredKeys: Object.keys(order) as (keyof Order)[], noNullPrototype: true },
  )
  fc.assert(
    fc.property(fc.array(orders, { minLength: 1, maxLength: 20 }), instant, (list, now) => {
      const meant = list.map((one) => ({ ...one, notBefore: one.notBefore > now ? one.notBefore : 0 }))
      const read = through({ orders: list.map((one) => writtenOrder(one, now)) })
      expect(read).toEqual(meant.map((one) => ({ ok: true, order: one })))
      // The same text, too: toEqual does not tell apart what stands under __proto__.
      expect(read?.map((one) => one.ok && JSON.stringify(one.order.meta))).toEqual(
        meant.map((one) => JSON.stringify(one.meta)),
      )
    }),
  )
})

test('what is usual is not written, and reading puts it back', () => {
  const usual = writtenOrder(order, order.notBefore)
  expect(Object.keys(usual)).toEqual(['agent', 'origin', 'path', 'fence', 'version', 'delayMs', 'id'])
  expect(ordersIn({ orders: [usual] })).toEqual([{ ok: true, order: { ...order, notBefore: 0 } }])
})

test('what is not usual is written', () => {
  const more = { expiresAt: 5, meta: { a: 1 }, request: { maxBytes: 7 } }
  const rare: Order = { ...order, kind: 'robots', attempt: 2, hops: 3, priority: 'high', ...more }
  expect(ordersIn({ orders: [writtenOrder(rare, order.notBefore - 1)] })).toEqual([{ ok: true, order: rare }])
})

test('each order of a job is read by itself: one that cannot be read costs the others nothing', () => {
  const poisoned = { ...order, id: 'p', attempt: 3, meta: { a: 1 }, expiresAt: Number.POSITIVE_INFINITY }
  expect(through({ orders: [order, poisoned, order] })).toEqual([
    { ok: true, order },
    {
      ok: false,
      why: expect.stringMatching(/^expiresAt: /),
      lane: {
        agent: 'bot',
        origin: 'http://a.test',
        fence: order.fence,
        id: 'p',
        path: '/x?y',
        crawl: 'default',
        attempt: 3,
        meta: { a: 1 },
      },
    },
    { ok: true, order },
  ])
})

test.each([
  ['another kind', { ...order, kind: 'image' }, true],
  ['a path that is no text', { ...order, path: 7 }, true],
  ['a request with a field of a newer gateway', { ...order, request: { colour: 'red' } }, true],
  ['no fence', { ...order, fence: undefined }, false],
  ['no id', { ...order, id: undefined }, false],
  ['nothing', null, false],
])('not an order: %s; the candidate can be ended by what is left of it: %#', (_, data, canEnd) => {
  const [read] = through({ orders: [data] }) ?? []
  expect(read).toMatchObject({ ok: false, why: expect.stringMatching(/^\w+: ./) })
  expect(read !== undefined && 'lane' in read).toBe(canEnd)
})

test.each([[{}], [[]], [7], [null], ['x'], [undefined], [{ orders: [] }], [{ orders: {} }]])(
  'not a job of orders: %j',
  (job) => expect(ordersIn(job)).toBeUndefined(),
)

test('the URL of an order is its origin and path, as they are', () => {
  expect(orderUrl(order)).toBe('http://a.test/x?y')
})

test('outcome kinds and failure reasons are closed lists without repetition', () => {
  expect(new Set(OUTCOME_KINDS).size).toBe(OUTCOME_KINDS.length)
  expect(new Set(FAILURE_REASONS).size).toBe(FAILURE_REASONS.length)
  expect(FAILURE_REASONS).not.toContain('other')
})
