import { setTimeout as sleep } from 'node:timers/promises'

/** Calls `work` every so many ms, one call after the other, until it is stopped. @returns what stops it, after the call under way */
export function every(ms: number, work: () => Promise<unknown>): () => Promise<void> {
  const stopping = new AbortController()
  const { signal } = stopping
  const loop = async (): Promise<void> => {
    while (!signal.aborted) {
      await work()
      await sleep(ms, undefined, { signal }).catch(() => undefined)
    }
  }
  const done = loop()
  done.catch(() => undefined) // who stops it is told
  return () => {
    stopping.abort()
    return done
  }
}
