/** How a URL lies in its lane's list, and where an id is remembered. */

import { idSlot, laneName, readLaneName, readPending, writePending } from '@decorum/ledger/testing'
import { LAST_INSTANT, type RequestShape } from '@decorum/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'

const pending = { id: 'a', path: '/', expiresAt: 1_800_000_000_000, hops: 0, priority: 'normal' as const }

test('what goes in comes out, whatever the id and meta are made of', () => {
  const any = fc.record(
    {
      id: fc.string({ unit: 'binary', minLength: 1, maxLength: 128 }).filter((id) => id.isWellFormed()),
      path: fc.webPath().map((path) => `/${path.replace(/^\//, '')}`),
      expiresAt: fc.nat(LAST_INSTANT / 1_000).map((seconds) => seconds * 1_000),
      hops: fc.nat(40),
      attempts: fc.integer({ min: 1, max: 20 }),
      from: fc.constantFrom('a.example', 'x--y.test'),
      priority: fc.constantFrom('high' as const, 'normal' as const),
      meta: fc.dictionary(fc.string(), fc.jsonValue()),
      request: fc.constantFrom<RequestShape[]>(
        { method: 'HEAD' },
        { headers: { 'x-note': 'a b' }, accept: ['text/html'], maxBytes: 9 },
      ),
    },
    { requiredKeys: ['id', 'path', 'expiresAt', 'hops', 'priority'], noNullPrototype: true },
  )
  fc.assert(
    fc.property(any, (one) => {
      expect(readPending(writePending(one), one.priority)).toEqual(JSON.parse(JSON.stringify(one)))
    }),
  )
})

test('a lone surrogate in an id does not break the lane', () => {
  expect(() => readPending(writePending({ ...pending, id: 'a\ud800b' }), 'normal')).not.toThrow()
})

test('an entry costs about twenty octets beside its path and id', () => {
  const path = `/${'p'.repeat(70)}`
  expect(writePending({ ...pending, id: 'u1k9', path }).length - path.length - 'u1k9'.length).toBeLessThanOrEqual(20)
})

test('expiry is kept in seconds, rounded up: a URL never expires early', () => {
  expect(readPending(writePending({ ...pending, expiresAt: 1_800_000_000_001 }), 'normal').expiresAt).toBe(
    1_800_000_001_000,
  )
})

test('an expiry that an earlier version stored beyond all instants is read as the last one', () => {
  const entry = writePending({ ...pending, expiresAt: Number.MAX_VALUE })
  expect(readPending(entry, 'normal').expiresAt).toBe(LAST_INSTANT)
})

test('any expiry that intake accepts is read as an instant no earlier, at most a second later', () => {
  fc.assert(
    fc.property(fc.double({ min: 1, max: LAST_INSTANT, noNaN: true }), (expiresAt) => {
      const read = readPending(writePending({ ...pending, expiresAt }), 'normal').expiresAt
      expect(read).toBeGreaterThanOrEqual(expiresAt)
      expect(read).toBeLessThan(expiresAt + 1_000 + 1)
    }),
  )
})

test('ids go to 4096 buckets, evenly, as numbers that fit 63 bits', () => {
  const buckets = new Map<string, number>()
  for (let i = 0; i < 40_960; i++) {
    const { bucket, number } = idSlot(`id-${i}`)
    buckets.set(bucket, (buckets.get(bucket) ?? 0) + 1)
    expect(BigInt(number) < 1n << 63n && BigInt(number) >= 0n).toBe(true)
  }
  expect(buckets.size).toBeGreaterThan(4_090)
  expect(Math.max(...buckets.values())).toBeLessThan(40)
})

test('a lane is named after agent and origin, and read back', () => {
  const lane = { agent: 'coccocbot-web', origin: 'http://[2001:db8::1]:8080' }
  expect(readLaneName(laneName(lane.agent, lane.origin))).toEqual(lane)
})
