/** The result of a robots fetch, as far as the record shows it: a row of the table in docs/audit.md. */
import { type AnswerKind, type Policy, parseRobots, ROBOTS_MAX_BYTES, type RobotsTxt } from '@decorum/robots'
import type { RobotsByOrigin } from '../record.ts'
import { type Chains, isRedirect, MOST_HOPS } from './chains.ts'
import type { Exchanges } from './columns.ts'
import type { Lanes } from './lanes.ts'
import { Names } from './names.ts'

/** Number of a body that is not in the record. */
export const NO_BODY = 0

export type Answer = {
  kind: AnswerKind | 'renewed' | 'unknown'
  /** number of the body, or NO_BODY */
  body: number
  /** the agent disconnected before the end, either because it had read enough or because it gave up */
  doubtful: boolean
}

/** The first number of a body from `--robots`; bodies of the record have smaller numbers. */
const FIRST_GIVEN = 2 ** 31

/** The bodies of a record by number. */
export class Bodies {
  readonly #hashes = new Names()
  readonly #bodies: (string | Uint8Array | undefined)[] = [undefined]
  readonly #byOrigin: RobotsByOrigin | undefined
  readonly #given: (string | Uint8Array)[] = []
  readonly #givenNumbers = new Map<string | Uint8Array, number>()

  constructor(byOrigin: RobotsByOrigin | undefined) {
    this.#byOrigin = byOrigin
  }

  numberOf = (hash: string): number => this.#hashes.numberOf(hash) + NO_BODY + 1

  set(hash: string, body: string | Uint8Array): void {
    this.#bodies[this.numberOf(hash)] = body
  }
  get(number: number): string | Uint8Array | undefined {
    return number < FIRST_GIVEN ? this.#bodies[number] : this.#given[number - FIRST_GIVEN]
  }

  /** Number of the body that `--robots` gives for this origin, or NO_BODY. */
  ofOrigin(origin: () => string): number {
    const body = this.#byOrigin?.get(origin())
    if (body === undefined) return NO_BODY
    const number = this.#givenNumbers.get(body) ?? FIRST_GIVEN + this.#given.push(body) - 1
    this.#givenNumbers.set(body, number)
    return number
  }

  rules(number: number, policy: Policy): RobotsTxt | undefined {
    const body = this.get(number)
    return body === undefined ? undefined : parseRobots(body, { policy })
  }
}

/** Answers without a body, one object for each kind. */
const PLAIN = new Map<Answer['kind'], Answer>()

function plain(kind: Answer['kind']): Answer {
  const answer = PLAIN.get(kind) ?? { kind, body: NO_BODY, doubtful: false }
  PLAIN.set(kind, answer)
  return answer
}

export function answerOf(
  fetch: number,
  place: number,
  { chains, exchanges, bodies, lanes }: { chains: Chains; exchanges: Exchanges; bodies: Bodies; lanes: Lanes },
): Answer {
  const last = chains.lastOf(fetch)
  const status = exchanges.status[last] as number
  const cut = exchanges.isCut(last)
  if (isRedirect(status)) {
    const hops = chains.hops(chains.chainOf(fetch)) - chains.hopsBefore(fetch)
    return plain(hops >= MOST_HOPS ? 'too-many-redirects' : cut ? 'no-answer' : 'unknown')
  }
  if (status === 304) return plain('renewed')
  const kind = answerKind(status)
  if (kind !== 'ok' && kind !== 'success' && kind !== 'partial') return plain(kind)
  const named = exchanges.body[last] as number
  const body = named === NO_BODY ? bodies.ofOrigin(() => lanes.originOfPlace(place)) : named
  return { kind, body, doubtful: cut && (bodies.get(body)?.length ?? 0) <= ROBOTS_MAX_BYTES }
}

/** The kind of answer for a status; 0 is no answer. */
export function answerKind(status: number): AnswerKind {
  if (status === 0) return 'no-answer'
  if (status === 200) return 'ok'
  if (status === 206) return 'partial'
  if (status >= 201 && status <= 299) return 'success'
  if (status === 401 || status === 403) return 'forbidden'
  if (status === 429) return 'too-many-requests'
  if (status >= 400 && status <= 499) return 'missing'
  if (status === 503) return 'busy'
  if (status >= 500 && status <= 599) return 'server-error'
  return 'other'
}
