/**
 * A site's record of the requests that it received: NDJSON, one object a line, distinguished by `kind`. docs/audit.md documents this file
 * for readers. The auditor uses nothing else.
 */

/** One exchange as the site recorded it. Instants are ms since 1970 UTC of one clock, fractions allowed. */
export type RequestLine = {
  kind: 'request'
  /** scheme://host[:port] */
  origin: string
  /** the User-Agent header as received; '' when there was none */
  agent: string
  method: string
  /** path + query as received */
  path: string
  /** when the request had been received */
  start: number
  /** right before the last byte of the answer was sent, or when the connection was found closed */
  end: number
  /** 0: there was no answer */
  status: number
  /** the agent disconnected before the answer was complete, so `end` is when the site noticed */
  cut?: boolean
  /** with `cut`: how much earlier than `end` the agent may have disconnected, ms; a busy site notices late */
  late?: number
  retryAfter?: string
  location?: string
  /** the site's own address, if it has several names */
  address?: string
  /** the served body of rules: the hash of a line of kind `robots` */
  robots?: string
  /**
   * How much later than recorded the true instants may be, ms (always by less than this): the log rounds its instants down, or the site was
   * suspended before it received the request; absent: exact.
   */
  resolution?: number
}

/** A body of rules as served: one line per content, before or after the request lines that name it. */
export type RobotsLine =
  | { kind: 'robots'; hash: string; body: string }
  | { kind: 'robots'; hash: string; base64: string }

/** An emergency stop, as in `decorum stop list --ended --json`. Instants are ms since 1970 UTC. */
export type StopLine = {
  /** a host, which includes every name below it; an address, if IPv6 in brackets; or `*` for everything */
  name: string
  at: number
  /** absent: it does not expire */
  until?: number
  lifted?: { at: number }
}

/** Bodies by origin, for logs without bodies: the body of every 2xx answer to that origin's /robots.txt. */
export type RobotsByOrigin = { get(origin: string): string | Uint8Array | undefined }

/** A stretch of a log in which its clock was set back: instants across it cannot be compared. */
export type ClockStep = { file: string; line: number; from: number; to: number; backMs: number }

/** All facts about some exchanges: the input of `judgeRecord`. */
export type Evidence = {
  requests: RequestLine[]
  /** bodies of rules by hash */
  bodies: Map<string, string | Uint8Array>
  robotsByOrigin?: RobotsByOrigin
}
