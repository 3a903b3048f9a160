/**
 * Counts wrong passwords per address and account. A right password is never refused: otherwise an attacker could lock out a program at the
 * same address, and behind a proxy everybody. So guessing stays possible, and a password must be long (docs/console.md).
 */

import { isIPv6 } from 'node:net'
import { systemClock } from '@decorum/protocol'

/** Wrong passwords that are answered 401; further ones are answered 429. */
const FREE = 10
/** Each wrong password is forgotten after this time, ms. */
const FORGOTTEN_AFTER_MS = 10_000
/** Most remembered pairs of address and account; the one with the oldest guess is forgotten first. */
const REMEMBERED = 10_000

export type Guesses = {
  /** @param user  '' for a name that no account has  @returns ms until a wrong password is answered 401 again; 0: this one is */
  wrong(address: string, user: string): number
}

/** @param now  a clock in ms that never runs backwards */
export function countGuesses(now: () => number = () => systemClock.monotonic()): Guesses {
  /** when all wrong guesses of an address for an account are forgotten */
  const clearAt = new Map<string, number>()
  return {
    wrong(address, user) {
      const source = `${groupOf(address)} ${user}`
      const before = Math.max(clearAt.get(source) ?? 0, now())
      const waitMs = Math.max(0, before - (FREE - 1) * FORGOTTEN_AFTER_MS - now())
      if (waitMs > 0) return waitMs
      clearAt.delete(source) // moves it to the end of the map's order
      clearAt.set(source, before + FORGOTTEN_AFTER_MS)
      const [oldest] = clearAt.size > REMEMBERED ? clearAt.keys() : []
      if (oldest !== undefined) clearAt.delete(oldest)
      return 0
    },
  }
}

/** One machine may own 2^64 IPv6 addresses, so its /64 is counted. An IPv4-mapped IPv6 address counts as IPv4. */
function groupOf(address: string): string {
  const bare = address.replace(/%.*$/, '')
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare)?.[1]
  if (mapped !== undefined || !isIPv6(bare)) return mapped ?? bare
  const [head = '', tail] = bare.split('::')
  const words = head === '' ? [] : head.split(':')
  const behind = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? [] : Array<string>(8 - words.length - behind.length).fill('0')
  return [...words, ...zeros, ...behind]
    .slice(0, 4)
    .map((word) => Number.parseInt(word, 16).toString(16))
    .join(':')
}
