/** Problems: why a request is not made, or not yet, each with its HTTP status. */
import { Problem as HttpProblem } from '@decorum/runtime'

const STATUS = {
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
  'caller-gone': 499, // nobody reads it
  unreachable: 502,
  busy: 503,
  'ledger-away': 503,
}
export type ProblemType = keyof typeof STATUS

export class Problem extends HttpProblem {
  declare readonly type: ProblemType
  constructor(type: ProblemType, detail: string, more?: Record<string, unknown>) {
    super(STATUS[type], type, detail, more)
  }
}
