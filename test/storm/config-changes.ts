/**
 * The fleet's configuration is changed, rolled back and applied again while everything dies: each time to a longer delay. The judge counts
 * a change from when the ledger has it in all partitions, so it does not judge how fast that was.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { connectForConfig, readCurrent, readHistory, type Version, write } from '@decorum/config/fleet-config'
import { keysOf } from '@decorum/ledger/testing'
import { partitionTags } from '@decorum/protocol'
import { now as clock } from '@decorum/synthetic-web'

/** One change to a longer delay. `from`: the ledger has it; `until`: it is about to be rolled back. Not listed: what the ledger never had. */
export type ConfigChange = { delayMs: number; appliedAt: number; from: number; until: number }

type Link = Awaited<ReturnType<typeof connectForConfig>>
type Draft = Pick<Version, 'values' | 'reason' | 'via'>
const LOOK_MS = 50
const AGAIN_MS = 200

/**
 * Runs until the signal, and leaves the configuration as it was found.
 * @param holdMs  how long a change stays; about so long is the time between two of them
 */
export async function changeConfig(
  redisUrl: string,
  partitions: number,
  delayMs: number,
  holdMs: () => number,
  log: ConfigChange[],
  signal: AbortSignal,
): Promise<void> {
  let link: Link | undefined
  const pause = (ms: number): Promise<void> => sleep(ms, undefined, { signal }).catch(() => undefined)
  /** Redis dies meanwhile: what failed is asked for again. */
  const insist = async <T>(work: (redis: Link) => Promise<T>): Promise<T> => {
    for (;;) {
      try {
        link ??= await connectForConfig(redisUrl)
        return await work(link)
      } catch {
        link?.disconnect()
        link = undefined
        await sleep(AGAIN_MS)
      }
    }
  }
  const change = (draftOf: (current: Version, history: Version[]) => Draft | undefined): Promise<void> =>
    insist(async (redis) => {
      const current = await readCurrent(redis)
      if (current === undefined) throw new Error('there is no document yet')
      const draft = draftOf(current, await readHistory(redis))
      if (draft === undefined) return
      await write(redis, current.version, { by: 'storm', ...draft }) // overtaken by a process that writes back what Redis has lost: again
    })
  const usual = await insist(async (redis) => {
    const current = await readCurrent(redis)
    if (current === undefined) throw new Error('there is no document yet')
    return current.values
  })
  const isUsual = ({ values }: Version): boolean => values.DEFAULT_DELAY_MS === usual.DEFAULT_DELAY_MS
  /** Redis came back without the change, and no process knew of it to write it again. */
  const isLost = async (redis: Link): Promise<boolean> => {
    const current = await readCurrent(redis)
    return current === undefined || isUsual(current)
  }
  try {
    for (let n = 1; !signal.aborted; n++) {
      await pause(holdMs())
      if (signal.aborted) return
      const longer = { ...usual, DEFAULT_DELAY_MS: delayMs }
      await change((current) => (isUsual(current) ? { values: longer, reason: `storm ${n}`, via: 'apply' } : undefined))
      const one: ConfigChange = { delayMs, appliedAt: clock(), from: 0, until: 0 }
      const over = clock() + holdMs()
      while (one.from === 0 && !signal.aborted) {
        if (await insist((redis) => hasEverywhere(redis, partitions, delayMs))) one.from = clock()
        else if (await insist(isLost)) break
        else await pause(LOOK_MS)
      }
      await pause(Math.max(0, over - clock()))
      one.until = clock()
      if (one.from > 0 && one.from < one.until) log.push(one)
      // Back to the version before, as `decorum config rollback` does it, where the history still has one
      await change((current, history) =>
        isUsual(current)
          ? undefined
          : { values: history.find(isUsual)?.values ?? usual, reason: 'back', via: 'rollback' },
      )
    }
  } finally {
    link?.disconnect()
  }
}

/** Whether each partition owes it to all agents. */
async function hasEverywhere(redis: Link, partitions: number, delayMs: number): Promise<boolean> {
  for (const tag of partitionTags(partitions)) {
    const text = (await redis.hget(keysOf(tag).epoch, 'leastDelays')) ?? ''
    const least = [...text.matchAll(/;\S+ (\d+) [\d.]+/g)].map(([, ms]) => Number(ms))
    if (least.length === 0 || least.some((ms) => ms < delayMs)) return false
  }
  return true
}
