/** Why a request was not done, as RFC 9457 has it: `type` for programs, `detail` for people. */

export type ProblemType =
  | 'bad-request'
  | 'unknown-agent'
  | 'unauthorized'
  | 'forbidden'
  | 'disallowed'
  | 'refused'
  | 'not-found'
  | 'gone'
  | 'key-reused'
  | 'quota'
  | 'busy'
  | 'ledger-away'
  | 'internal'

const STATUS: Record<ProblemType, number> = {
  'bad-request': 400,
  'unknown-agent': 400,
  unauthorized: 401,
  forbidden: 403,
  disallowed: 403,
  'not-found': 404,
  refused: 409,
  gone: 410,
  'key-reused': 422,
  quota: 429,
  internal: 500,
  busy: 503,
  'ledger-away': 503,
}

export class Problem extends Error {
  override readonly name = 'Problem'
  readonly type: ProblemType
  readonly status: number
  readonly more: Record<string, unknown>
  constructor(type: ProblemType, detail: string, more: Record<string, unknown> = {}) {
    super(detail)
    this.type = type
    this.status = STATUS[type]
    this.more = more
  }

  toJSON(): Record<string, unknown> {
    return { type: this.type, title: TITLE[this.type], status: this.status, detail: this.message, ...this.more }
  }
}

const TITLE: Record<ProblemType, string> = {
  'bad-request': 'the request cannot be read',
  'unknown-agent': 'there is no such agent',
  unauthorized: 'a token is needed',
  forbidden: 'this may not be asked for',
  disallowed: 'robots.txt forbids this URL',
  refused: 'this URL is not visited',
  'not-found': 'there is no such permit',
  gone: 'the permit is not held any more',
  'key-reused': 'this Idempotency-Key came with another request',
  quota: 'this token has too many callers waiting',
  busy: 'too many callers wait here',
  'ledger-away': 'Redis does not answer',
  internal: 'the request could not be answered',
}
