/** A running process follows the document: by polling its version, on a connection that fails instead of waiting. */
import { type Difference, differences, environmentOf, type SettingName } from '@decorum/config'
import { LedgerUnfitError, type RedisLink } from '@decorum/ledger'
import type { Env } from './agree.ts'
import { readCurrent, readVersion, type Version, write } from './store.ts'

/** A change is known everywhere well within a second. */
export const POLL_MS = 400

export type Followed = {
  /** version that is followed */
  version: number
  /** restart: what this process has not taken over, because it has to be started again for that */
  pending: Difference[]
}

export type FollowOptions = {
  redis: RedisLink
  /** the document that the process has started with, and its own environment */
  document: Version
  env: Env
  /** settings that the process goes by */
  reads: readonly SettingName[]
  /** takes over what is live; told all settings as the document has them now. Throws: the version is not followed. */
  apply(env: Env, document: Version): void | Promise<void>
  log: { info(fields: object, message: string): void; warn(fields: object, message: string): void }
  /** processes that differ in such a setting cannot share lanes: this one has to end */
  onUnfit(error: LedgerUnfitError): void
}

export type Following = { now(): Followed; stop(): void }

export function follow(options: FollowOptions): Following {
  const { redis, log } = options
  const started = options.document
  let current = options.document
  let pending: Difference[] = []
  let refused = 0
  let busy = false
  const look = async (): Promise<void> => {
    const version = await readVersion(redis)
    if (version === current.version || (version !== 0 && version === refused)) return
    if (version === 0) return await remember(redis, current)
    const next = await readCurrent(redis)
    if (next === undefined) return
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
      await options.apply(environmentOf(next.values, options.env), next)
    } catch (error) {
      refused = next.version
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
  const timer = setInterval(() => {
    if (busy) return
    busy = true
    look()
      .catch(() => undefined) // Redis is away, so nothing new is sent either; the next poll finds out
      .finally(() => {
        busy = false
      })
  }, POLL_MS)
  return {
    now: () => ({ version: current.version, pending }),
    stop() {
      clearInterval(timer)
      redis.disconnect()
    },
  }
}

/** When Redis has lost the document, a process that starts would write another one, so the running processes write it again. */
async function remember(redis: RedisLink, { values, version, by }: Version): Promise<void> {
  await write(redis, 0, { values, by, reason: 'Redis had lost it', via: 'memory' }, version).catch(() => undefined) // somebody else was first
}
