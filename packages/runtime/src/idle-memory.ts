/**
 * Memory that the work of a process has taken goes back to the machine once the process has nothing to do. V8 collects garbage when memory
 * is asked for, and an idle process asks for none: it would keep what its start alone has filled (measured: a fetching process 162 MB, 124
 * after one collection, docs/decisions/0010-compiled-code-is-kept.md).
 */

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { systemClock } from '@decorum/protocol/time'

const LOOK_EVERY_MS = 30_000
/** Of a core, between two looks. A role that only keeps itself alive takes a third of it at most. */
const IDLE_SHARE = 0.1

/**
 * Says at each look whether memory should be given back: once whenever a stretch of work, or the start, is over.
 * @param spentMs  processor time of the process so far, ms
 */
export function idleWatch(spentMs: () => number, now: () => number): () => boolean {
  let [spent, at, hasWorked] = [spentMs(), now(), true]
  return () => {
    const isIdle = spentMs() - spent < IDLE_SHARE * (now() - at)
    ;[spent, at] = [spentMs(), now()]
    const isOver = isIdle && hasWorked
    hasWorked = !isIdle
    return isOver
  }
}

/** For as long as this process lives. A collection stops it for some 50 ms, when it has nothing to do. */
export function giveMemoryBack(lookEveryMs = LOOK_EVERY_MS): void {
  const isOver = idleWatch(
    () => {
      const { user, system } = process.cpuUsage()
      return (user + system) / 1_000
    },
    () => systemClock.monotonic(),
  )
  systemClock
    .interval(() => {
      if (isOver()) collectGarbage()
    }, lookEveryMs)
    .unref()
}

let collect: (() => void) | undefined
/** The only way to start a collection in Node is a flag of V8, which affects contexts that are made after it was set. */
function collectGarbage(): void {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc')
    collect = runInNewContext('gc') as () => void
    setFlagsFromString('--no-expose-gc')
  }
  collect()
}
