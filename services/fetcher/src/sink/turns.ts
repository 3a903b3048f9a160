/** At most so many at a time. Whoever gives up while waiting loses the place at once: nothing queued outlives its timer. */

/** @throws what `work` throws, or the signal's reason when it aborts before `work` has begun */
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
      signal?.throwIfAborted() // it may have aborted between its turn and this tick
      return await work()
    } finally {
      leave()
    }
  }
}
