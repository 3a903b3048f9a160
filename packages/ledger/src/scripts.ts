/** Calls the scripts: each is loaded once and called with a deadline, and the epoch and time of its reply are remembered. */
import { type Clock, type Deadline, systemClock } from '@decorum/protocol'
import { within } from '@decorum/protocol/within'
import type { ChainableCommander } from 'ioredis'
import { ARGS, type Arg, type ArgsOf, VERBS, type Verb } from './calls.ts'
import { LedgerUnavailableError, LedgerUnfitError } from './errors.ts'
import { type Keys, LAYOUT } from './layout.ts'
import type { RedisLink } from './link.ts'
import { clockRate, redisClock } from './redis-clock.ts'
import { scriptText } from './script-text.ts'
import type { OnCall } from './settings.ts'

export type Reply = {
  /** the ledger's time, ms */
  now: number
  values: string[]
}

/** Runs verbs in one partition. */
export type Scripts = {
  /** @param items  arguments behind those that every call of the verb has */
  call<V extends Verb>(verb: V, args: ArgsOf<V>, items?: Arg[]): Promise<Reply>
  /** The same for a verb of another package, with all arguments in order. */
  send(verb: string, args: readonly Arg[]): Promise<Reply>
  /** the ledger's time in this process, ms: as exact as redis-clock.ts says, and behind by no more than a round trip */
  now(): number
  /** how far the ledger's time is ahead of Redis's clock, ms: 0 until that clock leaps or is slewed */
  aheadMs(): number
}

export type ScriptSettings = {
  /** number of partitions that the caller knows; default 1 */
  partitions?: number | string
  holdMs: number
  /** the longest lease: part of `holdMs` */
  longestLeaseMs: number
  callDeadlineMs: number
  /** clock of the process; default: the real one */
  clock?: Clock
  /** called when another epoch has begun since the last reply: Redis was restarted, forgot, or its clock leapt */
  onEpoch?: (() => void) | undefined
  onCall?: OnCall | undefined
  /** the records that this process follows: `report` is called when a reply has versions other than `versions` */
  records?: { readonly versions: string; report(versions: string): void } | undefined
  /** tests only: virtual time in place of Redis's clock */
  nowMs?: (() => number) | undefined
  /** tests only, with `nowMs`: the time that the caller can vouch for; default: the present one */
  mostMs?: (() => number | undefined) | undefined
  /** tests only, with `nowMs`: `excess` of redis-clock.ts; default 0 */
  excess?: (() => number) | undefined
}

/** The text behind the epoch in a reply (`reply` in lua/lib/epoch.lua): the versions of the stops and the rates. */
export const versionsText = (stops: number, rates: number): string => `${stops},${rates}`
const NO_VERSIONS = versionsText(0, 0)

type Command = (epoch: string, count: string, ...args: Arg[]) => Promise<string[]>

/** Number of keys that every verb declares: `epoch` and `partitions` (layout.ts). */
const KEYS = 2

/**
 * Defines the verbs as commands of a connection.
 * @param textOf  tests only: the text of a verb
 */
export function defineVerbs(redis: RedisLink, textOf: (verb: Verb) => string = scriptText): void {
  defineScripts(redis, VERBS, textOf)
}

/** The same for the verbs of another package. */
export function defineScripts<V extends string>(
  redis: RedisLink,
  verbs: readonly V[],
  textOf: (verb: V) => string,
): void {
  for (const verb of verbs) redis.defineCommand(`decorum_${verb}`, { numberOfKeys: KEYS, lua: textOf(verb) })
}

export function scriptsOf(redis: RedisLink, keys: Keys, settings: ScriptSettings): Scripts {
  const commands = redis as unknown as Record<string, Command>
  const count = keys.count(settings.partitions ?? 1)
  let known = '' // epoch id; '' until the first reply
  let ahead = 0
  const { clock = systemClock } = settings
  const deadline = { clock, ms: settings.callDeadlineMs }
  const redisTime = redisClock(clock)
  const rate = clockRate(clock)
  /** EVERY_CALL in calls.ts */
  const time = (): string => {
    const excess = settings.nowMs === undefined ? rate.excess() : (settings.excess?.() ?? 0)
    const fast = excess > 0 ? `/${excess.toFixed(4)}` : ''
    if (settings.nowMs === undefined) return `${fast && '/'}${redisTime.most()?.toFixed(3) ?? ''}${fast}`
    const vouched = settings.mostMs === undefined ? settings.nowMs() + ahead : settings.mostMs()
    return `${settings.nowMs().toFixed(3)}/${vouched?.toFixed(3) ?? ''}${fast}`
  }
  const send = async (verb: string, args: readonly Arg[]): Promise<Reply> => {
    const calledAt = clock.monotonic()
    const command = commands[`decorum_${verb}`]
    if (command === undefined) throw new LedgerUnavailableError(verb, 'its script is not loaded')
    const answering = withDeadline(
      command.call(redis, keys.epoch, count, time(), settings.holdMs, settings.longestLeaseMs, known, ...args),
      deadline,
      verb,
    )
    const answer = await (settings.onCall === undefined
      ? answering
      : observed(answering, verb, clock, calledAt, settings.onCall))
    const before = known
    const [head = '', versions = NO_VERSIONS] = (answer[0] as string).split('#')
    const [epoch, shift = '0'] = head.split('@')
    known = epoch as string
    ahead = Number(shift)
    const now = Number(answer[1])
    redisTime.seen(now, calledAt)
    rate.seen(now - ahead, calledAt)
    if (before !== '' && before !== known) settings.onEpoch?.()
    if (settings.records !== undefined && versions !== settings.records.versions) settings.records.report(versions)
    return { now, values: answer.slice(2) }
  }
  return {
    call: (verb, args, items = []) => send(verb, [...argsInOrder<string>(ARGS[verb], args), ...items]),
    send,
    now: () => (settings.nowMs === undefined ? redisTime.now() : settings.nowMs() + ahead),
    aheadMs: () => ahead,
  }
}

async function observed<T>(work: Promise<T>, verb: string, clock: Clock, calledAt: number, onCall: OnCall): Promise<T> {
  let isAnswered = false
  try {
    const answer = await work
    isAnswered = true
    return answer
  } finally {
    onCall(verb, (clock.monotonic() - calledAt) / 1_000, isAnswered)
  }
}

export const argsInOrder = <Name extends string>(names: readonly Name[], args: Record<Name, Arg>): Arg[] =>
  names.map((name) => args[name])

/** @param count  the number of partitions from epoch.lua: `6`, or `2>6` while it is being changed */
const otherCount = (count: string): string =>
  count.includes('>')
    ? `the number of partitions is being changed (${count}): 'decorum ledger partitions ${count.split('>')[1]}' has not ended yet`
    : `this Redis holds ${count} partitions now: start again with DECORUM_PARTITIONS=${count}`

/**
 * The error for another layout. Nothing was read or written, because this version would misread it.
 * @param layout  of that ledger; `2>3` while it is being upgraded
 */
function otherLayout(layout: string): string {
  if (layout.includes('>'))
    return `this ledger is being upgraded (layout ${layout}): start again when 'decorum ledger upgrade' has ended, or run that again if it broke off`
  const isEarlier = Number(layout) < Number(LAYOUT.version)
  return `this Redis holds a ledger of another version of Decorum (layout ${layout}, this version has ${LAYOUT.version}): ${isEarlier ? "run 'decorum ledger upgrade' (docs/operating.md)" : 'start a later version'}`
}

/**
 * Settles as `work` does, or fails at the deadline: a late reply counts as none.
 * @throws LedgerUnavailableError · LedgerUnfitError when hosts have moved to other partitions, or the ledger belongs to another version
 */
export async function withDeadline<T>(work: Promise<T>, { clock, ms }: Deadline, what: string): Promise<T> {
  try {
    return await within(clock, work, ms)
  } catch (error) {
    const [code, count = ''] = error instanceof Error ? error.message.split(' ') : []
    if (code === 'PARTITIONS') throw new LedgerUnfitError(otherCount(count))
    if (code === 'LAYOUT') throw new LedgerUnfitError(otherLayout(count))
    throw new LedgerUnavailableError(what, error)
  }
}

/** Errors of a server that does not hold the key now, or may not write; the command did not run. */
const NOT_HERE = /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN|READONLY|MASTERDOWN|NOREPLICAS|LOADING) /

/**
 * The answers of a pipeline in order.
 * @throws LedgerUnavailableError, also when the connection was lost, which gives each command of a pipeline its own error · the first error
 * with which Redis answered a command
 */
export async function answersOf(pipeline: ChainableCommander, deadline: Deadline, what: string): Promise<unknown[]> {
  const expected = pipeline.length
  const answers = await withDeadline(pipeline.exec(), deadline, what)
  // For commands that a cluster redirects too often, ioredis 6.0.0 loses the errors: its answer is empty.
  if (expected > 0 && answers?.length === 0)
    throw new LedgerUnavailableError(what, 'its slot is on its way to another server')
  return valuesOf(answers, what)
}

/**
 * The values in the answer of `exec()`, for callers whose deadline covers more than this pipeline. Without this check a failed command
 * looks like one that found nothing.
 * @param answers  `null`: a transaction that Redis did not run, because a watched key has changed; nothing here watches keys
 * @throws as answersOf
 */
export function valuesOf(answers: [error: Error | null, value: unknown][] | null, what: string): unknown[] {
  if (answers === null) throw new LedgerUnavailableError(what, 'the transaction was not run')
  return answers.map(([error, value]) => {
    if (error === null) return value
    if (error.name === 'ReplyError' && !NOT_HERE.test(error.message)) throw error
    throw new LedgerUnavailableError(what, error)
  })
}
