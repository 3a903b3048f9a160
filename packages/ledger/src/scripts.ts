/** The scripts in lua/, one verb each: loaded once, called with a deadline, each answer's clock and epoch taken note of. */
import { readFileSync } from 'node:fs'
import { LedgerUnavailableError, LedgerUnfitError } from './errors.ts'
import type { Keys } from './keys.ts'
import type { RedisLink } from './link.ts'
import { redisClock } from './redis-clock.ts'

export const VERBS = [
  'park',
  'reserve',
  'start',
  'confirm',
  'acquire',
  'complete',
  'record',
  'reap',
  'view',
  'operate',
  'fleet',
] as const
export type Verb = (typeof VERBS)[number]
export type Arg = string | number | Buffer

const lua = (name: string): string => readFileSync(new URL(`./lua/${name}.lua`, import.meta.url), 'utf8')

/** Runs verbs in one partition. */
export type Scripts = {
  call(verb: Verb, ...args: Arg[]): Promise<string[]>
  /** the ledger's time as far as we know it, ms: never ahead of it, behind by no more than a round trip */
  now(): number
  /** how far the ledger's time is ahead of Redis's clock, ms: 0 until that clock leaps */
  aheadMs(): number
}

export type ScriptSettings = {
  /** how many partitions the caller knows of; 1 */
  partitions?: number | string
  holdMs: number
  callDeadlineMs: number
  /** another epoch has begun since the last answer: Redis was started again, forgot, or its clock leapt */
  onEpoch?: (() => void) | undefined
  /** tests only: virtual time in place of Redis's clock */
  nowMs?: (() => number) | undefined
  /** tests only, with `nowMs`: the time that the caller can vouch for; as it comes, all of it */
  mostMs?: (() => number | undefined) | undefined
}

type Command = (epoch: string, count: string, ...args: Arg[]) => Promise<string[]>

/** Keys that every verb declares: `epoch` and `count` (keys.ts). */
export const KEYS = 2

/** Teaches a connection the verbs. */
export function defineVerbs(redis: RedisLink): void {
  for (const verb of VERBS) redis.defineCommand(`decorum_${verb}`, { numberOfKeys: KEYS, lua: scriptOf(verb, lua) })
}

/** Verbs that take something in or grant it: a Redis that has reached its maxmemory refuses them. */
const REFUSED_WHEN_FULL: ReadonlySet<Verb> = new Set(['park', 'reserve', 'start', 'acquire'])
/**
 * First line of all others: what has been granted ends in a full Redis, too, or its requests would be made again; and an
 * operator sees it and can pause it. The slots of the fleet bound how much that writes beyond maxmemory.
 */
export const ALLOWED_WHEN_FULL = '#!lua flags=allow-oom'

/** A verb with what stands in front of it. */
export function scriptOf(verb: Verb, read: (name: string) => string): string {
  const flags = REFUSED_WHEN_FULL.has(verb) ? [] : [ALLOWED_WHEN_FULL]
  const front = verb === 'start' || verb === 'acquire' ? ['common', 'visit'] : ['common']
  return [...flags, ...[...front, verb].map(read)].join('\n')
}

export function scriptsOf(redis: RedisLink, keys: Keys, settings: ScriptSettings): Scripts {
  const commands = redis as unknown as Record<string, Command>
  const count = keys.count(settings.partitions ?? 1)
  let known = '' //      epoch id: '' until the ledger has told us one
  let ahead = 0
  const clock = redisClock()
  /** lua/common.lua ARGV[1] */
  const time = (): string => {
    if (settings.nowMs === undefined) return clock.most()?.toFixed(3) ?? ''
    const vouched = settings.mostMs === undefined ? settings.nowMs() + ahead : settings.mostMs()
    return `${settings.nowMs().toFixed(3)}/${vouched?.toFixed(3) ?? ''}`
  }
  const call = async (verb: Verb, ...args: Arg[]): Promise<string[]> => {
    const askedAt = performance.now()
    const command = commands[`decorum_${verb}`]
    if (command === undefined) throw new LedgerUnavailableError(verb, 'its script is not loaded')
    const answer = await withDeadline(
      command.call(redis, keys.epoch, count, time(), settings.holdMs, known, ...args),
      settings.callDeadlineMs,
      verb,
    )
    const before = known
    const [epoch, shift = '0'] = (answer[0] as string).split('@')
    known = epoch as string
    ahead = Number(shift)
    clock.seen(Number(answer[1]), askedAt)
    if (before !== '' && before !== known) settings.onEpoch?.()
    return answer
  }
  return {
    call,
    now: () => (settings.nowMs === undefined ? clock.now() : settings.nowMs() + ahead),
    aheadMs: () => ahead,
  }
}

/** What the ledger says to who knows another number of partitions (lua/common.lua): `6`, or `2>6` while they change. */
const otherCount = (count: string): string =>
  count.includes('>')
    ? `the number of partitions is being changed (${count}): 'decorum partitions ${count.split('>')[1]}' has not ended yet`
    : `this Redis holds ${count} partitions now: start again with DECORUM_PARTITIONS=${count}`

/** What is stored there, and who else may be writing it, is of another version: everybody stops before anything is misread. */
const OTHER_LAYOUT =
  'this Redis holds a ledger of another version of Decorum: run that version until nothing waits, then empty this Redis, or use another one'

/**
 * Redis answers in time or not at all, as far as the caller is concerned.
 * @throws LedgerUnavailableError · LedgerUnfitError when hosts have moved to other partitions, or the ledger is another version's
 */
export async function withDeadline<T>(work: Promise<T>, deadlineMs: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${deadlineMs} ms`)), deadlineMs)
  })
  try {
    return await Promise.race([work, late])
  } catch (error) {
    const [code, count = ''] = error instanceof Error ? error.message.split(' ') : []
    if (code === 'PARTITIONS') throw new LedgerUnfitError(otherCount(count))
    if (code === 'LAYOUT') throw new LedgerUnfitError(OTHER_LAYOUT)
    throw new LedgerUnavailableError(what, error)
  } finally {
    clearTimeout(timer)
  }
}
