/** Follows the document in a running process, by polling its version on a connection that fails instead of waiting. */

import { keeperOf, type Ledger, LedgerUnfitError, type RedisLink } from '@decorum/ledger'
import { systemClock } from '@decorum/protocol'
import { type Agents, type Difference, differences, environmentOf, type SettingName } from '../index.ts'
import type { Env } from './agree.ts'
import { ratesOf } from './rates.ts'
import { configPlace, readCurrent, readHead, type Version } from './store.ts'

/** A change reaches every process well within a second. */
export const POLL_MS = 400

export type Followed = {
  /** the version that this process applies */
  version: number
  /** changes that this process applies only after a restart */
  pending: Difference[]
}

export type FollowOptions = {
  redis: RedisLink
  ledger: Pick<Ledger, 'setRates' | 'clock'>
  /** the document at the start of the process, and the process's own environment */
  document: Version
  env: Env
  /** settings that the process uses */
  reads: readonly SettingName[]
  /**
   * Applies live settings, given all settings of the document. If it throws, the version is not followed.
   * @returns the agents of this version
   */
  apply(env: Env): Promise<Agents> | Agents
  log: { info(fields: object, message: string): void; warn(fields: object, message: string): void }
  /** called when this process differs from the document in an `identity` setting: it cannot share lanes, and must end */
  onUnfit(error: LedgerUnfitError): void
}

export type Following = { now(): Followed; stop(): void }

export function follow(options: FollowOptions): Following {
  const { redis, log } = options
  const { clock } = options.ledger
  const started = options.document
  let current = started
  let pending: Difference[] = []
  const takeOver = async (next: Version): Promise<void> => {
    const changed = differences(started.values, next.values, options.reads)
    const identity = changed.filter(({ change }) => change === 'identity')
    if (identity.length > 0) {
      const paths = identity.map(({ path }) => path).join(', ')
      options.onUnfit(
        new LedgerUnfitError(
          `the fleet's configuration is version ${next.version} now, and this process differs in ${paths}: start it again`,
        ),
      )
      return
    }
    try {
      const agents = await options.apply(environmentOf(next.values, options.env))
      void options.ledger.setRates(ratesOf(next, agents))
    } catch (error) {
      log.warn(
        { version: next.version, err: (error as Error).message },
        'this version of the configuration cannot be followed',
      )
      return
    }
    const paths = differences(current.values, next.values, options.reads).map(({ path }) => path)
    current = next
    pending = changed.filter(({ change }) => change === 'restart')
    log.info(
      { version: next.version, by: next.by, reason: next.reason, changed: paths },
      'the configuration has changed',
    )
    if (pending.length > 0)
      log.warn(
        { version: next.version, pending: pending.map(({ path }) => path) },
        'these settings wait until this process is started again',
      )
  }
  let takenOver = Promise.resolve()
  const keeper = keeperOf([configPlace(redis)], started, (next) => {
    takenOver = takenOver.then(() => takeOver(next))
  })
  const poll = async (): Promise<void> => {
    const { version, at } = await readHead(redis)
    keeper.report(0, version, version === keeper.known.version && at !== keeper.known.at)
  }
  const timer = clock.interval(() => void poll().catch(() => undefined), POLL_MS) // while Redis is unreachable nothing is sent either
  return {
    now: () => ({ version: current.version, pending }),
    stop() {
      clock.cancel(timer)
      redis.disconnect()
    },
  }
}

/**
 * Reads the document for a change. If Redis has just lost later versions, running processes restore the latest of them first.
 */
export async function readLatest(redis: RedisLink): Promise<Version | undefined> {
  await systemClock.sleep(2 * POLL_MS + 200)
  return readCurrent(redis)
}
