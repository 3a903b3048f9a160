/** Ids of redirects' targets: unique, short, and never a frontier's own. */

import { HOP_EXAMPLE, hopId, readCandidate } from '@decorum/protocol'
import { expect, test } from 'vitest'

const FENCE = 1_800_000_000_000_001

test('a chain of redirects counts on from the id that it began with', () => {
  const first = hopId('a', 0, FENCE)
  const second = hopId(first, 1, FENCE + 1)
  expect(first).toMatch(/^a~1~[0-9a-z]{10}$/)
  expect(second).toMatch(/^a~2~[0-9a-z]{10}$/)
  expect(hopId(hopId(second, 9, FENCE), 0, FENCE), 'a frontier cannot have such an id').toMatch(/^a~10~\w+~1~\w+$/)
})

test('the same candidate redirected twice has two targets', () => {
  expect(hopId('a', 0, FENCE)).not.toBe(hopId('a', 0, FENCE + 1))
})

test('long ids stay short, and apart', () => {
  const long = 'x'.repeat(128)
  expect(hopId(long, 0, FENCE).length).toBeLessThanOrEqual(128)
  expect(hopId(long, 0, FENCE)).not.toBe(hopId(`y${long.slice(1)}`, 0, FENCE))
  expect(hopId(hopId(long, 0, FENCE), 1, FENCE)).toMatch(/^[0-9a-f]{64}~2~[0-9a-z]{10}$/)
})

test('no candidate of a frontier bears the id of a target; ids that merely look like it are its own', () => {
  const read = (id: string) => readCandidate({ url: 'http://a.test/', id })
  expect(read(hopId('a', 0, FENCE))).toMatchObject({ ok: false, refusal: { reason: 'reserved-id' } })
  expect(read(hopId('a', 0, FENCE))).not.toHaveProperty('id')
  expect(read(`a${HOP_EXAMPLE}`), 'what messages show').toMatchObject({ ok: false, refusal: { reason: 'reserved-id' } })
  expect(
    readCandidate({ url: 'http://a.test/', id: hopId('a', 0, FENCE), hops: 1 }),
    'a target that is enqueued again',
  ).toMatchObject({
    ok: true,
  })
  for (const own of ['a~1', 'a~10', 'http://a.test/~1#top', '~1~2']) expect(read(own)).toMatchObject({ ok: true })
})
