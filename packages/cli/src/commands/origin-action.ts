/** `decorum origin ORIGIN --pause …`: an operator's action on one origin. The ledger carries it out and records who did it and why. */
import type { Agents } from '@decorum/config'
import type { LedgerWithViews, Operation } from '@decorum/ledger/views'
import { defined } from '@decorum/runtime/defined'
import { UsageError } from '../exit.ts'
import { agentNamed } from '../typed.ts'
import { type Accountable, recorded } from '../who.ts'

export type ActionOptions = Accountable & {
  pause?: boolean
  resume?: boolean
  block?: boolean
  unblock?: boolean
  /** ms */
  delay?: number
  restoreDelay?: boolean
  refetch?: boolean
  drop?: boolean
  /** ms */
  for?: number
  agent?: string
}

/** The requested action. `forMs` absent: until an operator ends it. */
export type Action = { reason: string; by: string } & (
  | { kind: 'pause' | 'block'; forMs?: number }
  | { kind: 'delay'; delayMs: number; forMs: number }
  | { kind: 'resume' | 'unblock' | 'restore-delay' | 'refetch' }
  | { kind: 'drop'; agent?: string }
)

const KINDS = ['pause', 'resume', 'block', 'unblock', 'delay', 'restore-delay', 'refetch', 'drop'] as const
/** Actions that restrict or delete need a reason, which is recorded. */
const NEEDS_REASON: ReadonlySet<string> = new Set(['pause', 'block', 'delay', 'drop'])
const HAS_END: ReadonlySet<string> = new Set(['pause', 'block', 'delay'])
/** The longest manual delay, a week: more would be a pause. */
const MAX_DELAY_MS = 604_800_000

/** @returns undefined when the origin is only to be shown · @throws UsageError naming a missing or surplus option */
export function readAction(options: ActionOptions): Action | undefined {
  const given = (kind: (typeof KINDS)[number]): unknown => options[kind === 'restore-delay' ? 'restoreDelay' : kind]
  const wanted = KINDS.filter((kind) => given(kind) !== undefined && given(kind) !== false)
  const [kind] = wanted
  if (wanted.length > 1) throw new UsageError(`one thing at a time: --${wanted.join(' or --')}`)
  if (kind === undefined) {
    const stray = (['for', 'reason', 'by', 'agent'] as const).find((one) => options[one] !== undefined)
    if (stray === undefined) return undefined
    throw new UsageError(`--${stray} belongs to an action: --${KINDS.join(', --')}`)
  }
  const base = recorded(options)
  if (base.reason === '' && NEEDS_REASON.has(kind)) throw new UsageError(`--${kind} needs --reason: it is recorded`)
  if (options.for !== undefined && !HAS_END.has(kind)) throw new UsageError(`--${kind} has no --for`)
  if (options.agent !== undefined && kind !== 'drop') throw new UsageError(`--${kind} applies to every agent`)
  switch (kind) {
    case 'pause':
    case 'block':
      return { ...base, kind, ...defined({ forMs: options.for }) }
    case 'delay': {
      const delayMs = options.delay ?? 0
      if (delayMs > MAX_DELAY_MS) throw new UsageError('--delay: at most 7 days, in ms; a longer one is a --pause')
      if (options.for === undefined) throw new UsageError('--delay needs its end: --for 1h, 30m, 7d …')
      return { ...base, kind, delayMs, forMs: options.for }
    }
    case 'drop':
      return { ...base, kind, ...defined({ agent: options.agent }) }
    default:
      return { ...base, kind }
  }
}

/** @returns a sentence that reports the action · @throws UsageError for an unknown agent */
export async function act(
  ledger: LedgerWithViews,
  origin: string,
  action: Action,
  agents: Agents,
  signal: AbortSignal,
): Promise<string> {
  const keys = agents.list.map((agent) => agent.key)
  const { by, reason } = action
  if (action.kind === 'drop') {
    const only = agentNamed(agents, action.agent)
    const chosen = only === undefined ? keys : [only.key]
    const dropped = await Promise.all(chosen.map((agent) => ledger.dropBacklog({ agent, origin }, by, reason, signal)))
    const urls = dropped.reduce((sum, n) => sum + n, 0)
    return `dropped: ${urls} ${urls === 1 ? 'URL' : 'URLs'}, each with its outcome`
  }
  const { now } = await ledger.viewOrigin(origin, []) // ends are measured on Redis's clock
  await ledger.operate(operationOf(action, { origin, by, reason }, now), keys)
  return DONE[action.kind]
}

const DONE = {
  pause: 'paused: nothing is fetched, URLs wait',
  resume: 'resumed',
  block: 'blocked: nothing is fetched, URLs end as refused',
  unblock: 'not blocked any more',
  delay: 'slowed down, delays that are running too',
  'restore-delay': 'the usual delay applies again, from the next request on',
  refetch: 'its robots.txt is fetched again before anything else',
} as const

function operationOf(
  action: Exclude<Action, { kind: 'drop' }>,
  base: { origin: string; by: string; reason: string },
  now: number,
): Operation {
  switch (action.kind) {
    case 'pause':
    case 'block':
      return { ...base, action: action.kind, ...(action.forMs === undefined ? {} : { until: now + action.forMs }) }
    case 'delay':
      return { ...base, action: 'delay', delayMs: action.delayMs, until: now + action.forMs }
    case 'restore-delay':
      return { ...base, action: 'delay', delayMs: 0, until: now } // to the ledger this is a delay of 0 that has ended
    default:
      return { ...base, action: action.kind }
  }
}
