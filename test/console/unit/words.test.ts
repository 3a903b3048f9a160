/** Lengths of time as commands and the console print them. */
import { length } from '@decorum/console/words'
import { expect, test } from 'vitest'

test.for([
  [0, '0 s'],
  [40, '0.04 s'],
  [900, '0.9 s'],
  [9_999, '10 s'],
  [61_000, '1 min 1 s'],
  [3_600_000, '1 h'],
  [90_061_000, '1 d 1 h'],
] as const)('%d ms reads %s', ([ms, words]) => {
  expect(length(ms)).toBe(words)
})
