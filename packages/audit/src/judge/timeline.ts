/**
 * The rules of each place under one policy, answer by answer. Each answer leaves a state; knowledge.ts decides on which states a request
 * may be based.
 */
import type { Policy } from '@decorum/robots'
import { type Answer, NO_BODY } from './answers.ts'

/** Robots answers of all places, place after place; within a place in the order in which they became known. */
export type Answers = {
  /** number of places; for each the index of its first answer, and the index after its last */
  places: number
  first(place: number): number
  beyond(place: number): number
  answer(at: number, place: number): Answer
  /** when the fetch of an answer began, and the latest instant at which it may have ended, ms */
  began(at: number): number
  ended(at: number): number
}

/** The rules in force at an instant (RFC 9309 §2.3.1.4). */
export type InForce = { kind: 'rules'; body: number } | { kind: 'open' } | { kind: 'refused' } | { kind: 'unknown' }

const REFUSED: InForce = { kind: 'refused' }
const OPEN: InForce = { kind: 'open' }
const UNKNOWN: InForce = { kind: 'unknown' }
const rules = (body: number): InForce => (body === NO_BODY ? UNKNOWN : { kind: 'rules', body })

const IS_UNKNOWN = 0
const IS_OPEN = 1
const HAS_RULES = 2
const IN_OUTAGE = 3
/** No copy for an outage to fall back on; NO_BODY is a copy that is not in the record. */
const NO_COPY = 2 ** 32 - 1

/** The state after each answer, in columns. */
export class States {
  readonly #kinds: Uint8Array
  /** the rules; in an outage the last good ones before it */
  readonly #bodies: Uint32Array
  /** for an outage: the answer that began it */
  readonly #since: Uint32Array
  readonly #answers: Answers
  readonly #policy: Policy

  /** @param kindOf  the kind that an answer counts as: a doubtful one may count as read, or as given up */
  constructor(answers: Answers, policy: Policy, kindOf: (answer: Answer) => Answer['kind']) {
    this.#answers = answers
    this.#policy = policy
    const length = answers.beyond(answers.places - 1)
    this.#kinds = new Uint8Array(length)
    this.#bodies = new Uint32Array(length)
    this.#since = new Uint32Array(length)
    for (let place = 0; place < answers.places; place++) this.#readPlace(place, kindOf)
  }

  inForce(at: number, instant: number): InForce {
    const policy = this.#policy
    const body = this.#bodies[at] as number
    const kind = this.#kinds[at]
    if (kind !== IN_OUTAGE) return inForceOf(kind, body)
    const elapsed = instant - this.#answers.began(this.#since[at] as number)
    const copy = body === NO_COPY ? undefined : rules(body)
    if (elapsed < policy.denyForMs) return REFUSED
    if (elapsed < policy.staleForMs) return copy ?? (policy.withoutCopy === 'open' ? OPEN : REFUSED)
    if (policy.afterwards === 'refuse') return REFUSED
    if (policy.afterwards === 'copy-or-open') return copy ?? OPEN
    return OPEN
  }

  /** The rules from before an outage, while they may be fresh: a failed early refresh then changes nothing (docs/spec/robots.md §6). */
  stillFresh(at: number, place: number, instant: number): InForce | undefined {
    const before = (this.#since[at] as number) - 1
    if (this.#kinds[at] !== IN_OUTAGE || before < this.#answers.first(place)) return undefined
    const isFresh = instant - this.#answers.ended(before) < this.#policy.mostFreshMs
    return isFresh ? inForceOf(this.#kinds[before], this.#bodies[before] as number) : undefined
  }

  #readPlace(place: number, kindOf: (answer: Answer) => Answer['kind']): void {
    const answers = this.#answers
    /** the rules that a 304 renews and to which an outage may fall back */
    let copy = NO_COPY
    let state = IS_UNKNOWN
    let since = 0
    for (let at = answers.first(place); at < answers.beyond(place); at++) {
      const answer = answers.answer(at, place)
      const kind = kindOf(answer)
      if (kind === 'unknown') {
        state = IS_UNKNOWN
        copy = NO_BODY
      } else if (kind === 'renewed') state = copy === NO_COPY ? IS_UNKNOWN : HAS_RULES
      else {
        switch (this.#policy.answers[kind]) {
          case 'obey':
            copy = answer.body
            state = HAS_RULES
            break
          case 'open':
            copy = NO_COPY
            state = IS_OPEN
            break
          default:
            if (state !== IN_OUTAGE) since = at
            state = IN_OUTAGE
        }
      }
      this.#kinds[at] = state
      this.#bodies[at] = copy
      this.#since[at] = since
    }
  }
}

function inForceOf(kind: number | undefined, body: number): InForce {
  if (kind === IS_OPEN) return OPEN
  return kind === HAS_RULES ? rules(body) : UNKNOWN
}
