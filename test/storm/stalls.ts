import { clock } from './clock.ts'

/** How long this process was kept from running at the longest: the fleet on the same machine was as well. */
export function watchStalls(): { end(): number } {
  const EVERY_MS = 50
  let longest = 0
  let last = clock()
  const timer = setInterval(() => {
    const now = clock()
    longest = Math.max(longest, now - last - EVERY_MS)
    last = now
  }, EVERY_MS)
  return {
    end() {
      clearInterval(timer)
      return longest
    },
  }
}
