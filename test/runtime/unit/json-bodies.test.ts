/** How much JSON is parsed, and how much room bodies have. */
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { bodyRoom } from '@decorum/runtime/body-room'
import { tooMuch } from '@decorum/runtime/json-bodies'
import fc from 'fast-check'
import { expect, test } from 'vitest'

/** Values and depth, counted after parsing. */
function sizeOf(value: unknown): { values: number; depth: number } {
  if (typeof value !== 'object' || value === null) return { values: 1, depth: 0 }
  const inside = Object.values(value).map(sizeOf)
  return {
    values: 1 + inside.reduce((sum, { values }) => sum + values, 0),
    depth: 1 + Math.max(0, ...inside.map(({ depth }) => depth)),
  }
}

test('what is within both bounds is parsed, whatever its strings hold; what is beyond one is not', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 6 }), fc.boolean(), (text, isSpaced) => {
      const data: unknown = JSON.parse(text)
      const body = isSpaced ? JSON.stringify(data, null, 2) : text
      const { values, depth } = sizeOf(data)
      // An empty array or object counts as if it held a value, so the count may be higher than it is, and never lower.
      expect(tooMuch(body, 2 * values, depth)).toBeUndefined()
      if (depth > 0) expect(tooMuch(body, 2 * values, depth - 1)).toContain('nested')
      if (values > 1) expect(tooMuch(body, values - 1, 99)).toContain('more than')
    }),
  )
})

test('escaped quotes end no string, and a string without an end is left to the parser', () => {
  expect(tooMuch(JSON.stringify(['a"],[[[[', '\\', '\\\\"[[']), 4, 1)).toBeUndefined()
  expect(tooMuch('["[[[[[', 99, 1)).toBeUndefined()
})

test('millions of values in a body of 15 MB, or as many brackets, are found out at the first too many', () => {
  expect(tooMuch(`[${'{},'.repeat(4_950_000)}{}]`)).toBe('JSON of more than 50000 values')
  expect(tooMuch('['.repeat(7_400_000))).toBe('JSON that is nested deeper than 32')
})

test('bodies of all callers together have a bound, and one caller leaves half of it to others', () => {
  const room = bodyRoom(1_000_000)
  const answers: EventEmitter[] = []
  const acquire = (length: number, caller: string): boolean => {
    const answer = new EventEmitter()
    answers.push(answer)
    return room.acquire(length, answer as ServerResponse, caller)
  }
  expect([acquire(1_000_000, 'a'), acquire(1_000_000, 'a')]).toEqual([true, true])
  expect(acquire(100_000, 'a'), 'more than half').toBe(false)
  expect(acquire(60_000, 'a'), 'a small one').toBe(true)
  expect([acquire(1_000_000, 'b'), acquire(1_000_000, 'c')]).toEqual([true, true])
  expect(acquire(100_000, 'd'), 'no room is left').toBe(false)
  answers[0]?.emit('close')
  expect([acquire(500_000, 'd'), acquire(500_000, 'a')]).toEqual([true, true])
})
