/** Wrong passwords are counted per address and account; the clock is the test's. */

import { countGuesses, type Guesses } from '@decorum/console/inside'
import { describe, expect, test } from 'vitest'

const SECOND = 1_000

function onClock(): { guesses: Guesses; pass(ms: number): void } {
  let now = 5_000_000
  return {
    guesses: countGuesses(() => now),
    pass(ms) {
      now += ms
    },
  }
}

const waitMs = (guesses: Guesses, address: string, user = 'ann'): number => guesses.wrong(address, user)
/** How many wrong passwords are answered 401 until one is not. */
function heard(guesses: Guesses, address: string): number {
  let n = 0
  while (waitMs(guesses, address) === 0) n++
  return n
}

describe('wrong passwords', () => {
  test('ten are answered at once, then one every ten seconds, and a quiet address starts anew', () => {
    const { guesses, pass } = onClock()
    expect(heard(guesses, '192.0.2.1')).toBe(10)
    expect(waitMs(guesses, '192.0.2.1')).toBe(10 * SECOND)
    pass(10 * SECOND - 1)
    expect(waitMs(guesses, '192.0.2.1')).toBe(1)
    pass(1)
    expect(heard(guesses, '192.0.2.1')).toBe(1)
    pass(3_600 * SECOND)
    expect(heard(guesses, '192.0.2.1')).toBe(10)
  })

  test('an hour of wrong passwords as fast as they go: 369 are answered as wrong, the rest as too many', () => {
    const { guesses, pass } = onClock()
    let n = 0
    for (let s = 0; s < 3_600; s++) {
      n += heard(guesses, '192.0.2.1')
      pass(SECOND)
    }
    expect(n).toBe(10 + 359)
  })

  test('one address does not slow another; a /64 of IPv6 is one address, IPv4 in IPv6 clothes is IPv4', () => {
    const { guesses } = onClock()
    heard(guesses, '192.0.2.1')
    expect(waitMs(guesses, '192.0.2.2')).toBe(0)
    expect(waitMs(guesses, '192.0.2.1', 'bob'), 'another account').toBe(0)
    expect(waitMs(guesses, '::ffff:192.0.2.1')).toBeGreaterThan(0)
    heard(guesses, '2001:db8:0:7::1')
    for (const same of ['2001:db8:0:7::2', '2001:0db8:0000:0007:ffff:1:2:3', '2001:db8::7:1:2:3:4'])
      expect([same, waitMs(guesses, same) > 0]).toEqual([same, true])
    for (const other of ['2001:db8:0:8::1', '2001:db8::7:2:3:4', '::1'])
      expect([other, waitMs(guesses, other)]).toEqual([other, 0])
    heard(guesses, 'fe80::1%eth0')
    expect(waitMs(guesses, 'fe80::2')).toBeGreaterThan(0)
  })

  test('what is remembered is bounded: a crowd of addresses makes the oldest forgotten', () => {
    const { guesses } = onClock()
    heard(guesses, '192.0.2.1')
    for (let n = 0; n < 10_000; n++) waitMs(guesses, `10.0.${n >> 8}.${n & 255}`)
    expect(waitMs(guesses, '192.0.2.1')).toBe(0)
    for (let n = 0; n < 11; n++) waitMs(guesses, '10.0.0.9')
    expect(waitMs(guesses, '10.0.0.9')).toBeGreaterThan(0)
  })
})
