/** What workers of pools say of their orders. */

import { orderCompletionBody } from '@decorum/permits/testing'
import { expect, test } from 'vitest'

test.each([
  [undefined, ''],
  [false, ''],
  ['', ''],
  ['length', 'length'],
])('truncated: %j of a worker is %j of the outcome', (truncated, read) => {
  expect(orderCompletionBody(1_000).parse({ status: 200, truncated }).truncated).toBe(read)
})

test.each([true, null, 'half', 0])('truncated: %j is refused', (truncated) => {
  expect(orderCompletionBody(1_000).safeParse({ status: 200, truncated }).success).toBe(false)
})
