import { clock } from './clock.ts'

/** A stretch in which a process was kept from running, ms of clock(). */
export type Stall = { at: number; until: number }

/** When this process was kept from running: the fleet on the same machine was as well. Shorter ones than a look are not seen. */
export function watchStalls(): { end(): Stall[] } {
  const EVERY_MS = 50
  const seen: Stall[] = []
  let last = clock()
  const timer = setInterval(() => {
    const now = clock()
    if (now - last > 2 * EVERY_MS) seen.push({ at: last, until: now })
    last = now
  }, EVERY_MS)
  return {
    end() {
      clearInterval(timer)
      return seen
    },
  }
}

export const longestOf = (stalls: readonly Stall[]): number => Math.max(0, ...stalls.map(({ at, until }) => until - at))

/** How far from what it is judged by a stall may have been: a busy machine keeps one process from running sooner than another. */
const NEAR_MS = 5_000

/** The longest that was seen between two instants, or shortly before or after, ms. */
export const longestNear = (stalls: readonly Stall[], from: number, until = from): number =>
  longestOf(stalls.filter((stall) => stall.until >= from - NEAR_MS && stall.at <= until + NEAR_MS))
