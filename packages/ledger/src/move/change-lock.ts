/**
 * Allows one change of a whole ledger at a time: of the number of partitions, or of the layout. A change holds a lock that expires, and has
 * a number that only rises. The epoch of each partition keeps the number of the change that took it, and every write checks it in the same
 * script. So a run that was frozen, lost its lock and was overtaken changes nothing any more, however late it wakes up.
 */

import { type Clock, systemClock } from '@decorum/protocol'
import { LedgerUnfitError, type RedisLink } from '../index.ts'
import { type Arg, CHANGE_LOCK_KEY, CHANGES_KEY, keysOf, PARTITIONS_KEY, RETIRED_KEY } from '../stored.ts'
import { type Args, changeScripts, type Step } from './scripts.ts'

const LIFE_MS = 10_000

/** Every write throws LedgerUnfitError once another change has overtaken this one. */
export type Change = {
  /**
   * Takes a partition: from now on this change may write to it, and no earlier one.
   * @param gate  closes it to all processes that know another number of partitions: `2>6`
   */
  take(tag: string, gate?: string): Promise<unknown>
  run<Name extends string>(tag: string, step: Step<Name>, args: Args<Name>, items?: readonly Arg[]): Promise<unknown>
  /** Runs commands of Redis in this partition, in one step: `['HSET', key, field, value]`. */
  write(tag: string, ...commands: Arg[][]): Promise<unknown>
  writeTags(tags: string[], retired: string[]): Promise<unknown>
}

/** @throws LedgerUnfitError while another change has the lock */
export async function holdingChange<T>(
  redis: RedisLink,
  work: (change: Change) => Promise<T>,
  clock: Clock = systemClock,
): Promise<T> {
  const number = Number(await changeScripts.take.run(redis, [CHANGE_LOCK_KEY, CHANGES_KEY], { lifeMs: LIFE_MS }))
  if (number === 0)
    throw new LedgerUnfitError(
      `another 'decorum ledger partitions' or 'decorum ledger upgrade' is at work, or was cut off within ${LIFE_MS / 1_000} s: let it end, then look again`,
    )
  const renew = clock.interval(() => {
    const args = { change: number, lifeMs: LIFE_MS }
    changeScripts.renew.run(redis, [CHANGE_LOCK_KEY, CHANGES_KEY], args).catch(() => undefined) // the next renewal may succeed, or the lock expires
  }, LIFE_MS / 5)
  try {
    return await work(changeOf(redis, number))
  } finally {
    clock.cancel(renew)
    await changeScripts.release.run(redis, [CHANGE_LOCK_KEY], { change: number }).catch(() => undefined) // it expires anyway
  }
}

function changeOf(redis: RedisLink, number: number): Change {
  const call = async <Name extends string>(
    step: Step<Name>,
    keys: string[],
    args: Args<Name>,
    items?: readonly Arg[],
  ) => {
    try {
      return await step.run(redis, keys, { ...args, change: number }, items)
    } catch (error) {
      if (!(error instanceof Error && error.message.includes('OVERTAKEN'))) throw error
      throw new LedgerUnfitError(
        `another 'decorum ledger partitions' or 'decorum ledger upgrade' has overtaken this one, which has stopped`,
      )
    }
  }
  const run: Change['run'] = (tag, step, args, items) => {
    // The second key never exists, so that Redis refuses the call while the slot is moving (KEY.partitions in layout.ts).
    const { epoch, count } = keysOf(tag)
    return call(step, [epoch, count('change')], args, items)
  }
  return {
    run,
    write: (tag, ...commands) =>
      run(
        tag,
        changeScripts.write,
        {},
        commands.flatMap((words) => [words.length, ...words]),
      ),
    take: (tag, gate = '') => run(tag, changeScripts.takePartition, { gate }),
    writeTags: (tags, retired) =>
      call(changeScripts.writeTags, [PARTITIONS_KEY, RETIRED_KEY, CHANGES_KEY], { count: tags.length }, [
        ...tags,
        ...retired,
      ]),
  }
}
