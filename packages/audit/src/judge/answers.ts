/** What a robots fetch came to, as far as the record holds it: the row of the table in docs/audit.md. */
import { type AnswerKind, type Policy, parseRobots, ROBOTS_MAX_BYTES, type RobotsTxt } from '@decorum/robots'
import type { RobotsByOrigin } from '../record.ts'
import { type Chains, isRedirect, MOST_HOPS } from './chains.ts'
import type { Exchanges } from './columns.ts'

/** A body that the record does not hold. */
export const NO_BODY = 0

export type Answer = {
  kind: AnswerKind | 'renewed' | 'unknown'
  /** number of the body, or NO_BODY */
  body: number
  /** the agent left before the end: it had read enough, or it gave up */
  doubtful: boolean
}

/** The bodies of a record by number, each parsed once per way of reading it. */
export class Bodies {
  readonly #numbers = new Map<string, number>()
  readonly #bodies: (string | Uint8Array | undefined)[] = [undefined]
  readonly #parsed = new Map<string, RobotsTxt>()
  readonly #byOrigin: RobotsByOrigin | undefined
  readonly #origins = new Map<string, number>()

  constructor(byOrigin: RobotsByOrigin | undefined) {
    this.#byOrigin = byOrigin
  }

  numberOf(hash: string): number {
    const number = this.#numbers.get(hash) ?? this.#bodies.push(undefined) - 1
    this.#numbers.set(hash, number)
    return number
  }
  set(hash: string, body: string | Uint8Array): void {
    this.#bodies[this.numberOf(hash)] = body
  }
  get = (number: number): string | Uint8Array | undefined => this.#bodies[number]

  /** What `--robots` says that this origin served. */
  ofOrigin(origin: string): number {
    const known = this.#origins.get(origin)
    if (known !== undefined) return known
    const body = this.#byOrigin?.get(origin)
    const number = body === undefined ? NO_BODY : this.#bodies.push(body) - 1
    this.#origins.set(origin, number)
    return number
  }

  rules(number: number, policy: Policy): RobotsTxt | undefined {
    const body = this.#bodies[number]
    if (body === undefined) return undefined
    const key = `${policy.name} ${number}`
    const rules = this.#parsed.get(key) ?? parseRobots(body, { policy })
    this.#parsed.set(key, rules)
    return rules
  }
}

export function answerOf(
  fetch: number,
  origin: string,
  { chains, exchanges, bodies }: { chains: Chains; exchanges: Exchanges; bodies: Bodies },
): Answer {
  const last = chains.lastOf(fetch)
  const status = exchanges.status[last] as number
  const cut = exchanges.isCut(last)
  if (isRedirect(status)) {
    const hops = chains.hops(chains.chainOf(fetch)) - chains.hopsBefore(fetch)
    const kind = hops >= MOST_HOPS ? 'too-many-redirects' : cut ? 'no-answer' : 'unknown'
    return { kind, body: NO_BODY, doubtful: false }
  }
  if (status === 304) return { kind: 'renewed', body: NO_BODY, doubtful: false }
  const kind = answerKind(status)
  if (kind !== 'ok' && kind !== 'success' && kind !== 'partial') return { kind, body: NO_BODY, doubtful: false }
  const named = exchanges.body[last] as number
  const body = named === NO_BODY ? bodies.ofOrigin(origin) : named
  return { kind, body, doubtful: cut && (bodies.get(body)?.length ?? 0) <= ROBOTS_MAX_BYTES }
}

/** The row of the table of answers that a status stands in; 0 is no answer. */
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
