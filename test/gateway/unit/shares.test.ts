/** What a partition may have out beside others. */
import { shareOf } from '@decorum/gateway/testing'
import { expect, test } from 'vitest'

test('one partition alone has it all', () => {
  expect(shareOf(200, 0, [170])).toBe(200)
})

test('of several each may have what the others leave', () => {
  expect(shareOf(200, 1, [0, 150, 20])).toBe(180)
  expect(shareOf(200, 0, [0, 0, 0])).toBe(200)
})

test('never less than an equal share, so that all together stay below twice the whole', () => {
  expect(shareOf(200, 2, [150, 150, 0])).toBe(67)
  expect(shareOf(10, 0, [0, 90])).toBe(5)
})
