/**
 * How TypeScript and the scripts exchange data: the arguments of every verb, the items that follow them, and the parts of the replies, each
 * named once. In a script `ARG.limit` is the place of that argument, `ARG.items` the place of the first item, and `START_ITEM.fence` the
 * distance of the fence from the beginning of its item.
 */
import { places } from './layout.ts'

export type Arg = string | number | Buffer

/**
 * Arguments that precede those of every verb.
 * time: the latest time of the ledger for which the caller can vouch, ms: the time of the last reply, plus the time since then on the
 * caller's monotonic clock; '' from a process that has only just started. '/time/excess' while the clock of Redis runs faster than the
 * caller's: the share of its time that it gains (redis-clock.ts). Tests: 'now/time' or 'now/time/excess', where now replaces the clock of
 * Redis.
 * holdMs: how long nothing is granted after Redis forgot or its clock leapt: longest lease + quarantine; longestLeaseMs: that lease.
 * knownEpoch: the epoch that the caller knows, '' from a process that has just started.
 */
export const EVERY_CALL = ['time', 'holdMs', 'longestLeaseMs', 'knownEpoch'] as const

/** The arguments of every verb; its script in lua/verbs/ explains them. A verb that is not in this list does not exist. */
export const ARGS = {
  store: ['laneLimit', 'outcomesLimit', 'markBy', 'markName', 'chunk', 'markLifeMs', 'beyondMs', 'singles'],
  reserve: ['limit', 'aheadMs', 'reserveMs', 'inFlightLimit', 'outcomesLimit', 'peek', 'lane', 'list'],
  start: ['leaseMs', 'aheadMs'],
  confirm: [],
  acquire: ['leaseMs', 'delayMs', 'kind', 'of', 'isRobots', 'requester', 'paceLane'],
  next: ['lane', 'kind', 'elapsedMs', 'delayMs', 'isRobots', 'turn', 'endedAt'],
  grant: ['aheadMs'],
  extend: ['leaseMs'],
  claim: ['lane', 'aheadMs', 'reserveMs', 'paceLane', 'list'],
  complete: ['backOffMs', 'backOffMaxMs', 'backOffQuietMs'],
  restore: ['backOffMs', 'backOffMaxMs', 'backOffQuietMs'],
  resolve: [],
  cancel: ['lane', 'list'],
  record: [
    ...['lane', 'fence', 'origin', 'state', 'lifeMs', 'hashes', 'body', 'beyondLifeMs', 'delayMs', 'elapsedMs'],
    ...['load', 'backOffMs', 'backOffMaxMs', 'backOffQuietMs', 'domain', 'domainBytes', 'allBytes'],
    ...['unclaimedMs', 'unclaimedBy', 'unclaimedBytes'],
  ],
  keep: [
    'origin',
    'hashes',
    'lifeMs',
    'beyondLifeMs',
    'domain',
    'domainBytes',
    'allBytes',
    'unclaimedBy',
    'unclaimedBytes',
  ],
  reap: ['quarantineMs'],
  fleet: ['member', 'lifeMs'],
  rates: ['expected', 'version', 'agents'],
  crawl: ['name', 'expected', 'version', 'weight', 'held', 'stored', 'perDay', 'perHost', 'perDomain', 'record'],
  stops: ['expected', 'version', 'everything', 'record'],
  note: ['tallies'],
  sample: [],
} as const satisfies Record<string, readonly string[]>
export type Verb = keyof typeof ARGS
export type ArgsOf<V extends Verb> = Record<(typeof ARGS)[V][number], Arg>
export const VERBS = Object.keys(ARGS) as Verb[]

/** An item that may be repeated among the arguments: `write` puts its parts in order. */
export type Item<Name extends string> = { at: Record<Name | 'size', number>; write(parts: Record<Name, Arg>): Arg[] }
function item<const Name extends string>(...names: Name[]): Item<Name> {
  return { at: places(names, 0), write: (parts) => names.map((name) => parts[name]) }
}

/** Parts of a reply that are read together. */
export type Row<Name extends string> = {
  at: Record<Name | 'size', number>
  read(texts: string[], from?: number): Record<Name, string>
}
export function row<const Name extends string>(...names: Name[]): Row<Name> {
  return {
    at: places(names, 1),
    read(texts, from = 0) {
      const parts = {} as Record<Name, string>
      for (const [n, name] of names.entries()) parts[name] = texts[from + n] ?? ''
      return parts
    },
  }
}

/** A row that is one text: in a script, `FACT.joined` joins the locals that have these names. */
function joined<const Name extends string>(...names: Name[]) {
  const { at, read } = row(...names)
  return { at: { ...at, joined: { lua: names.join(" .. '|' .. ") } }, read }
}

export const SINGLE = item('lane', 'url')
export const GROUP = item('lane', 'form', 'domain', 'elsewhere', 'urls')
export const URL_ITEM = item('list', 'url', 'bucket', 'number', 'mark')
export const OUTCOME_ITEM = item('json', 'kind', 'crawl', 'bucket', 'number', 'mark')
export const START_ITEM = item('lane', 'fence', 'kind', 'version', 'delayMs', 'paceLane')
export const CONFIRM_ITEM = item('lane', 'fence', 'version')
export const GRANT_ITEM = item('lane', 'paceLane', 'version', 'delayMs', 'leaseMs', 'requester')
export const COMPLETION = item('lane', 'fence', 'ending', 'delayMs', 'elapsedMs', 'load', 'leaving')
/** Has as many parts as COMPLETION, but no items follow it: most completions need three arguments fewer this way. */
export const DONE = item('lane', 'fence', 'ending', 'delayMs', 'elapsedMs', 'json', 'kind')
/** The first parts of COMPLETION: the end of a secondary lease when there is nothing to report about the site. */
export const OVER = item('lane', 'fence', 'ending', 'delayMs', 'elapsedMs')
export const RESTORE_ITEM = item('lane', 'endedAt', 'delayMs', 'load')
export const RESOLUTION = item('lane', 'fence', 'next', 'till', 'gate', 'leaving')
/** `json`, `kind` and `id` are an item of LEAVING; `leaving.lua` says what they hold. */
export const CANCEL_ITEM = item('url', 'json', 'kind', 'id')
export const LEAVING = item('json', 'kind', 'id')
export const DELAY_ITEM = item('agent', 'delayMs', 'clampedFrom')
export const LEAST_DELAY_ITEM = item('agent', 'delayMs')
export const POLICY_ITEM = item('site', 'policy')
/**
 * reason: the reason of the outcome for which the note is an example, or ''; backOff: '1' when the note is about the back-off that
 * followed, else ''
 */
export const NOTE_ITEM = item('origin', 'reason', 'text', 'backOff')
export const STOP_ITEM = item('name', 'till')

/** The beginning of a reply of reserve, behind the parts that begin every reply. */
export const REPLY = row('epoch', 'now', 'kind', 'more')
/** The facts that reserve returns about a lane, joined by '|': one text costs less than many. */
export const FACT = joined('fence', 'notBefore', 'attempts', 'list', 'version', 'urlCount', 'delayMs')
/** The facts about closed gates, which follow FACT when a gate is closed. `blocked` is a '.' and the reason, which may hold a '|'. */
export const CLOSED_FACT = joined('heldBy', 'closedUntil', 'fetchFence', 'fetchUntil', 'refetch', 'blocked')
/** The reply of start to one order. */
export const START_ANSWER = joined('answer', 'waitMs', 'paceFence', 'paceDelayMs')
export const ACQUIRED = row('answer', 'value', 'delayMs', 'lane', 'paceFence', 'paceDelayMs')
export const NEXT_ANSWER = row('answer', 'waitMs', 'gate', 'turn', 'endedAt')
/** The answer to one permit in a reply of grant, joined by '|'; GRANT_WAIT when `answer` is 'wait'. */
export const GRANTED = row('answer', 'waitMs', 'fence', 'delayMs', 'paceFence', 'paceDelayMs')
export const GRANT_WAIT = row('answer', 'waitMs', 'gate', 'holder')
export const EXTENDED = row('answer', 'gate', 'leftMs')
export const CLAIMED = row('answer', 'fence', 'notBefore', 'version')
export const CLAIM_WAIT = row('answer', 'waitMs', 'gate')
export const REAPED_FETCH = row('lane', 'fence', 'version', 'state')
