/** Limits how many jobs run at a time. A caller whose signal aborts while it waits leaves the queue at once. */

/** @throws what `work` throws, or the signal's reason when it aborts before `work` has started */
export type InTurn = <T>(work: () => Promise<T>, signal?: AbortSignal) => Promise<T>

export function openTurns(most: number): InTurn {
  let free = most
  const waiting = new Set<() => void>()
  const acquire = (signal: AbortSignal | undefined): Promise<void> | undefined => {
    signal?.throwIfAborted()
    if (free > 0) {
      free -= 1
      return undefined
    }
    return new Promise((resolve, reject) => {
      const turn = (): void => {
        signal?.removeEventListener('abort', giveUp)
        resolve()
      }
      const giveUp = (): void => {
        waiting.delete(turn)
        reject(signal?.reason as Error)
      }
      waiting.add(turn)
      signal?.addEventListener('abort', giveUp, { once: true })
    })
  }
  const leave = (): void => {
    const [next] = waiting
    if (next === undefined) free += 1
    else {
      waiting.delete(next)
      next()
    }
  }
  return async (work, signal) => {
    await acquire(signal)
    try {
      signal?.throwIfAborted() // the signal may have aborted since the turn was given
      return await work()
    } finally {
      leave()
    }
  }
}
