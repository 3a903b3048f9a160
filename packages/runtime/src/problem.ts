import { problemBody } from '@decorum/protocol'

/** Why a request was not carried out. A handler may throw it or return it. */
export class Problem extends Error {
  override readonly name = 'Problem'
  readonly status: number
  readonly type: string
  /** further members of the answer; `retryAfterMs` is sent as Retry-After, too */
  readonly more: Record<string, unknown>
  constructor(status: number, type: string, detail: string, more: Record<string, unknown> = {}) {
    super(detail)
    this.status = status
    this.type = type
    this.more = more
  }

  toJSON(): Record<string, unknown> {
    return { ...problemBody(this.status, this.type, this.message), ...this.more }
  }
}
