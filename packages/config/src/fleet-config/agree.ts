/**
 * Reconciles a process with the fleet's document: it takes settings that it was not given, adds those that were not yet decided, or does
 * not start.
 */

import { checkRedis, linkTo, PARTITIONS_KEY, type RedisLink, reachRedis, withDeadline } from '@decorum/ledger'
import { systemClock } from '@decorum/protocol'
import {
  checkDocument,
  contradictions,
  environmentOf,
  type FleetValues,
  formerInDocument,
  isSame,
  readingSettings,
  type SettingName,
  settled,
  valuesOfEnvironment,
  wrongSettings,
} from '../index.ts'
import { OvertakenError, readCurrent, type Version, write } from './store.ts'

export type Env = Record<string, string | undefined>

export type Agreement = {
  /** the environment with every setting of the fleet replaced by the document's value */
  env: Env
  /** the document that the process uses; undefined when it only reads and there is no document yet */
  document: Version | undefined
}

export type AgreeOptions = {
  env: Env
  /** settings that this process uses; none: it reads the document and never writes it */
  reads: readonly SettingName[]
  /** defaults that replace the usual ones for settings that this process decides */
  defaults?: Env
  /** author of a version that this process writes */
  by: string
  /**
   * Set if the process is the whole fleet: it may then replace a document that was made only from environments. `new`: it decides every
   * setting; `resumed`: it decides those that its environment gives, and keeps the others.
   */
  wholeFleet?: 'new' | 'resumed' | undefined
}

const deadline = { clock: systemClock, ms: 2_000 }
/** Most attempts to write. Each of several processes that start at once may be overtaken by every other one. */
const TRIES = 50

/**
 * Opens a separate connection for the document.
 * @throws as `openLedger`: LedgerUnavailableError when Redis does not answer · LedgerUnfitError when it is unsuitable
 */
export async function connectForConfig(address: string): Promise<RedisLink> {
  const redis = linkTo(address, { away: 'fail', lazyConnect: true })
  return reachRedis(redis, { deadline, isOwn: true }, async () => {
    await checkRedis(redis, deadline)
    return redis
  })
}

/**
 * Reconciles a process with the document. When two processes start at once, one writes and the other reads the result.
 * @throws SettingsError with both values of each setting that contradicts the document
 */
export async function agree(redis: RedisLink, options: AgreeOptions): Promise<Agreement> {
  const { env, defaults = {}, reads, by, wholeFleet } = options
  const given = readingSettings(() => valuesOfEnvironment(env))
  const decides = { ...valuesOfEnvironment(defaults), ...given }
  const timed = <T>(work: Promise<T>): Promise<T> => withDeadline(work, deadline, 'config')
  for (let tries = 0; ; tries++) {
    const current = await timed(readCurrent(redis))
    const partitions = await timed(redis.llen(PARTITIONS_KEY))
    const isOurs = wholeFleet !== undefined && current?.via === 'environment'
    const kept: FleetValues = isOurs && wholeFleet === 'new' ? {} : (current?.values ?? {})
    const before = isOurs ? { ...kept, ...given } : kept
    const version = current?.version ?? 0
    const former = reads.length === 0 ? [] : formerInDocument(before, version)
    const wrong = [...former, ...contradictions(before, given, version)]
    if (wrong.length > 0) throw wrongSettings(...wrong)
    const values = reads.length === 0 ? before : settled(before, decides, reads)
    const filled = environmentOf(values, env)
    if ((env.DECORUM_PARTITIONS ?? '').trim() === '' && partitions > 0) filled.DECORUM_PARTITIONS = String(partitions)
    if (reads.length === 0) return { env: filled, document: current }
    if (current !== undefined && isSame(current.values, values)) return { env: filled, document: current }
    checkDocument(values)
    try {
      const via = current === undefined || isOurs ? 'environment' : current.via
      const reason =
        current === undefined
          ? 'the first start'
          : isOurs
            ? `the fleet was ${wholeFleet === 'new' ? 'started anew' : 'resumed'}`
            : 'a start added to it'
      const document = await write(redis, current?.version ?? 0, { values, by, reason, via })
      return { env: filled, document }
    } catch (error) {
      if (!(error instanceof OvertakenError) || tries === TRIES) throw error
    }
  }
}
