/** `decorum origin ORIGIN --pause …`: an operator's action on one origin. The ledger carries it out and records who did it and why. */
import type { Agents } from '@decorum/config'
import type { LedgerWithViews, Operation } from '@decorum/ledger/views'
import { defined } from '@decorum/runtime/defined'
import { UsageError } from '../exit.ts'
import { some } from '../say.ts'
import { agentNamed } from '../typed.ts'
import { type Accountable, recorded } from '../who.ts'

/** The text printed after each action, and its options. Actions that restrict or delete need a reason, which is recorded. */
const ACTIONS = {
  pause: { done: 'paused: nothing is fetched, URLs wait', needsReason: true, hasEnd: true },
  resume: { done: 'resumed' },
  block: { done: 'blocked: nothing is fetched, URLs end as refused', needsReason: true, hasEnd: true },
  unblock: { done: 'not blocked any more' },
  delay: { done: 'slowed down, delays that are running too', needsReason: true, hasEnd: true },
  restoreDelay: { done: 'the usual delay applies again, from the next request on' },
  refetch: { done: 'its robots.txt is fetched again before anything else' },
  drop: { done: 'dropped', needsReason: true },
}
type Kind = keyof typeof ACTIONS
const KINDS = Object.keys(ACTIONS) as Kind[]
const flagOf = (kind: Kind): string => `--${kind === 'restoreDelay' ? 'restore-delay' : kind}`

export type ActionOptions = Accountable & { [K in Exclude<Kind, 'delay'>]?: boolean } & {
  /** new delay, ms; `for`: length of the action, ms */
  delay?: number
  for?: number
  agent?: string
}

/** The requested action. `forMs` absent: until an operator ends it. */
type Action = { kind: Kind; reason: string; by: string; delayMs?: number; forMs?: number; agent?: string }

/** The longest manual delay, a week: more would be a pause. */
const MAX_DELAY_MS = 604_800_000

/** @returns undefined when the origin is only to be shown · @throws UsageError naming a missing or surplus option */
export function readAction(options: ActionOptions): Action | undefined {
  const { delay: delayMs, for: forMs, agent } = options
  const wanted = KINDS.filter((kind) => options[kind] !== undefined && options[kind] !== false)
  const [kind] = wanted
  if (wanted.length > 1) throw new UsageError(`one thing at a time: ${wanted.map(flagOf).join(' or ')}`)
  if (kind === undefined) {
    const stray = (['for', 'reason', 'by', 'agent'] as const).find((one) => options[one] !== undefined)
    if (stray === undefined) return undefined
    throw new UsageError(`--${stray} belongs to an action: ${KINDS.map(flagOf).join(', ')}`)
  }
  const flag = flagOf(kind)
  const rule: { done: string; needsReason?: boolean; hasEnd?: boolean } = ACTIONS[kind]
  const who = recorded(options)
  if (who.reason === '' && rule.needsReason) throw new UsageError(`${flag} needs --reason: it is recorded`)
  if (forMs !== undefined && !rule.hasEnd) throw new UsageError(`${flag} has no --for`)
  if (agent !== undefined && kind !== 'drop') throw new UsageError(`${flag} applies to every agent`)
  if (delayMs !== undefined && delayMs > MAX_DELAY_MS)
    throw new UsageError('--delay: at most 7 days, in ms; a longer one is a --pause')
  if (delayMs !== undefined && forMs === undefined) throw new UsageError('--delay needs its end: --for 1h, 30m, 7d …')
  return { ...who, kind, ...defined({ delayMs, forMs, agent }) }
}

/** @returns a sentence that reports the action · @throws UsageError for an unknown agent */
export async function act(
  ledger: LedgerWithViews,
  origin: string,
  action: Action,
  agents: Agents,
  signal: AbortSignal,
): Promise<string> {
  const { kind, by, reason } = action
  const { done } = ACTIONS[kind]
  const keys = agents.list.map((agent) => agent.key)
  if (kind !== 'drop') {
    const { now } = await ledger.viewOrigin(origin, []) // ends are measured on Redis's clock
    await ledger.operate(operationOf({ ...action, kind }, origin, now), keys)
    return done
  }
  const only = agentNamed(agents, action.agent)
  const chosen = only === undefined ? keys : [only.key]
  const dropped = await Promise.all(chosen.map((agent) => ledger.dropBacklog({ agent, origin }, by, reason, signal)))
  const urls = dropped.reduce((sum, n) => sum + n, 0)
  return `${done}: ${some(urls, 'URL')}, each with its outcome`
}

function operationOf(
  { kind, by, reason, delayMs = 0, forMs }: Action & { kind: Exclude<Kind, 'drop'> },
  origin: string,
  now: number,
): Operation {
  const base = { origin, by, reason }
  // the ledger restores the usual delay by an operator's delay of 0 ms that has ended
  if (kind === 'delay' || kind === 'restoreDelay')
    return { ...base, action: 'delay', delayMs, until: now + (forMs ?? 0) }
  return { ...base, action: kind, ...defined({ until: forMs && now + forMs }) }
}
