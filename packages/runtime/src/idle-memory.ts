/**
 * Returns memory to the machine once the process is idle. V8 collects garbage when memory is requested, and an idle process requests none:
 * it would keep the garbage of its start (measured: a fetching process 162 MB, 124 after one collection,
 * docs/decisions/0010-compiled-code-is-kept.md).
 */

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { systemClock } from '@decorum/protocol/time'

const CHECK_EVERY_MS = 30_000
/** A process that used less than this share of one core since the last check is idle. A role without work uses at most a third of it. */
const IDLE_SHARE = 0.1

/**
 * Decides at each check whether memory should be returned: once after each stretch of work, and after the start.
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

/** Runs as long as this process lives. A collection stops the process for some 50 ms, while it is idle. */
export function giveMemoryBack(checkEveryMs = CHECK_EVERY_MS): void {
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
    }, checkEveryMs)
    .unref()
}

let collect: (() => void) | undefined
/** Node can start a collection only through a flag of V8, which affects contexts that are made after it was set. */
function collectGarbage(): void {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc')
    collect = runInNewContext('gc') as () => void
    setFlagsFromString('--no-expose-gc')
  }
  collect()
}
