/**
 * What was known of one origin's rules under one policy, answer by answer. Each answer leaves a state behind; which states
 * a request may rest on is decided where the request is judged (knowledge.ts).
 */
import type { Policy } from '@decorum/robots'
import { type Answer, NO_BODY } from './answers.ts'

/** The answers of one place, in the order in which they may have been known; instants in ms. */
export type Known = {
  length: number
  /** earliest and latest instant at which the answer may have been known to the agent that fetched it */
  from(at: number): number
  sure(at: number): number
  agentId(at: number): number
  chain(at: number): number
  /** when the fetch began */
  began(at: number): number
  /** the same object for the same answer: there are few different ones */
  answer(at: number): Answer
}

export type State =
  | { kind: 'rules'; body: number }
  | { kind: 'open' }
  | { kind: 'unknown' }
  /** `copy`: the last good body before the outage; undefined: there was none */
  | { kind: 'outage'; since: number; copy: number | undefined }

export type Timeline = {
  known: Known
  /** after each answer; two readings where a fetch was cut: it was read, it was given up */
  readings: readonly (readonly State[])[]
}

const OPEN = { kind: 'open' } as const
const UNKNOWN = { kind: 'unknown' } as const
const NOT_HELD: State & { kind: 'rules' } = { kind: 'rules', body: NO_BODY }

export function timelineOf(known: Known, policy: Policy): Timeline {
  const read = statesOf(known, policy, (answer) => answer.kind)
  let doubtful = false
  for (let at = 0; at < known.length && !doubtful; at++) doubtful = known.answer(at).doubtful
  const givenUp = doubtful && statesOf(known, policy, (answer) => (answer.doubtful ? 'no-answer' : answer.kind))
  return { known, readings: givenUp ? [read, givenUp] : [read] }
}

function statesOf(known: Known, policy: Policy, kindOf: (answer: Answer) => Answer['kind']): State[] {
  /** the rules that a 304 renews and that an outage may fall back on */
  let copy: (State & { kind: 'rules' }) | undefined
  let last: State = UNKNOWN
  const states: State[] = []
  for (let at = 0; at < known.length; at++) {
    const answer = known.answer(at)
    const kind = kindOf(answer)
    if (kind === 'unknown') {
      last = UNKNOWN
      copy = NOT_HELD
    } else if (kind === 'renewed') last = copy ?? UNKNOWN
    else {
      switch (policy.answers[kind]) {
        case 'obey':
          if (copy?.body !== answer.body) copy = { kind: 'rules', body: answer.body }
          last = copy
          break
        case 'open':
          copy = undefined
          last = OPEN
          break
        default:
          if (last.kind !== 'outage') last = { kind: 'outage', since: known.began(at), copy: copy?.body }
      }
    }
    states.push(last)
  }
  return states
}

/** What is in force under a state at an instant: the outage windows of the policy (RFC 9309 §2.3.1.4). */
export type InForce = { kind: 'rules'; body: number } | { kind: 'open' } | { kind: 'refused' } | { kind: 'unknown' }

const REFUSED: InForce = { kind: 'refused' }

export function inForce(state: State, policy: Policy, at: number): InForce {
  if (state.kind === 'rules') return state.body === NO_BODY ? UNKNOWN : state
  if (state.kind !== 'outage') return state
  const elapsed = at - state.since
  const copy: InForce | undefined =
    state.copy === undefined ? undefined : state.copy === NO_BODY ? UNKNOWN : { kind: 'rules', body: state.copy }
  if (elapsed < policy.denyForMs) return REFUSED
  if (elapsed < policy.staleForMs) return copy ?? (policy.withoutCopy === 'open' ? OPEN : REFUSED)
  if (policy.afterwards === 'refuse') return REFUSED
  if (policy.afterwards === 'copy-or-open') return copy ?? OPEN
  return OPEN
}
