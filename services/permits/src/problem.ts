/** Why a request was not done, as RFC 9457 has it: `type` for programs, `detail` for people. */

const PROBLEMS = {
  'bad-request': { status: 400, title: 'the request cannot be read' },
  'unknown-agent': { status: 400, title: 'there is no such agent' },
  unauthorized: { status: 401, title: 'a token is needed' },
  forbidden: { status: 403, title: 'this may not be asked for' },
  disallowed: { status: 403, title: 'robots.txt forbids this URL' },
  'not-found': { status: 404, title: 'there is no such permit' },
  refused: { status: 409, title: 'this URL is not visited' },
  gone: { status: 410, title: 'the permit is not held any more' },
  'key-reused': { status: 422, title: 'this Idempotency-Key came with another request' },
  quota: { status: 429, title: 'this token has too many callers waiting' },
  internal: { status: 500, title: 'the request could not be answered' },
  busy: { status: 503, title: 'too many callers ask here' },
  'ledger-away': { status: 503, title: 'Redis does not answer' },
}
export type ProblemType = keyof typeof PROBLEMS

export class Problem extends Error {
  override readonly name = 'Problem'
  readonly type: ProblemType
  readonly status: number
  readonly more: Record<string, unknown>
  constructor(type: ProblemType, detail: string, more: Record<string, unknown> = {}) {
    super(detail)
    this.type = type
    this.status = PROBLEMS[type].status
    this.more = more
  }

  toJSON(): Record<string, unknown> {
    return { type: this.type, ...PROBLEMS[this.type], detail: this.message, ...this.more }
  }
}
