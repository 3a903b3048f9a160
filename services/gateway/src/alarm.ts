import type { Clock } from '@decorum/protocol'

/** A sleep that can be cut short by `ring`. A ring outside of a sleep ends the next sleep at once. */
export function alarm(clock: Clock) {
  let rung = false
  let wake: (() => void) | undefined
  return {
    sleep(ms: number): Promise<void> {
      if (rung) {
        rung = false
        return Promise.resolve()
      }
      return new Promise((resolve) => {
        const end = (): void => {
          clock.cancel(timer)
          wake = undefined
          resolve()
        }
        const timer = clock.timeout(end, Math.max(1, ms))
        wake = end
      })
    },
    ring(): void {
      if (wake === undefined) rung = true
      else wake()
    },
  }
}
