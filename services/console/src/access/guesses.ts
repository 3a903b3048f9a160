/** Wrong passwords, counted per address: after the first few, one is checked every ten seconds. */
import { isIPv6 } from 'node:net'

/** Wrong guesses that are heard at once. */
const FREE = 10
/** Each is forgotten after so long, ms: 8,640 guesses a day from one address, against at least 8 characters. */
const FORGOTTEN_AFTER_MS = 10_000
/** Addresses remembered; beyond them the one that guessed longest ago is forgotten. */
const REMEMBERED = 10_000

export type Guesses = {
  /** how long this address has to wait before its next guess is looked at, ms; 0: not at all */
  waitMs(address: string): number
  /** it was wrong */
  wrong(address: string): void
}

/** @param now  a clock in ms that never runs backwards */
export function countGuesses(now: () => number = () => performance.now()): Guesses {
  /** by when all wrong guesses of an address are forgotten */
  const clearAt = new Map<string, number>()
  return {
    waitMs: (address) => Math.max(0, (clearAt.get(groupOf(address)) ?? 0) - (FREE - 1) * FORGOTTEN_AFTER_MS - now()),
    wrong(address) {
      const group = groupOf(address)
      const before = Math.max(clearAt.get(group) ?? 0, now())
      clearAt.delete(group) // to the end of the map's order
      clearAt.set(group, before + FORGOTTEN_AFTER_MS)
      const [oldest] = clearAt.size > REMEMBERED ? clearAt.keys() : []
      if (oldest !== undefined) clearAt.delete(oldest)
    },
  }
}

/** One machine has 2^64 IPv6 addresses to itself: its /64 is what is counted. IPv4 in IPv6 clothes is IPv4. */
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
