/**
 * The record that a site keeps of the requests it was sent: NDJSON, one object a line, told apart by `kind`. docs/audit.md is the
 * reader's page of this file. The auditor uses nothing else.
 */

/** One exchange as the site saw it. Instants are ms since 1970 UTC of one clock, fractions allowed. */
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
  /** right before the last byte of the answer left, or when the connection was found closed */
  end: number
  /** 0: nothing was answered */
  status: number
  /** the agent went away before the answer was complete, so `end` is when the site noticed */
  cut?: boolean
  /** with `cut`: the agent may have closed the connection so much earlier than `end` says, ms; a busy site notices late */
  late?: number
  retryAfter?: string
  location?: string
  /** the site's own address, where it has several names */
  address?: string
  /** which body was served, when it was one of rules: the hash of a line of kind `robots` */
  robots?: string
  /**
   * The log cuts its instants down to multiples of this, or the site was kept from running for so long before it heard the request, ms: the
   * true instants may be later by less than it; absent: exact.
   */
  resolution?: number
}

/** A body of rules as served, once per content, before the first request line that names it. */
export type RobotsLine =
  | { kind: 'robots'; hash: string; body: string }
  | { kind: 'robots'; hash: string; base64: string }

/** An emergency stop, as `decorum stop list --ended --json` tells it. Instants are ms since 1970 UTC. */
export type StopLine = {
  /** a host, with every name below it, or an address; `*`: everything. An IPv6 address in brackets */
  name: string
  at: number
  /** absent: it does not end by itself */
  until?: number
  lifted?: { at: number }
}

/** Bodies by origin, for logs that hold none: what every 2xx answer to that origin's /robots.txt held. */
export type RobotsByOrigin = { get(origin: string): string | Uint8Array | undefined }

/** A stretch of a log's time in which its clock was set back: what happened when cannot be told across it. */
export type ClockStep = { file: string; line: number; from: number; to: number; backMs: number }

/** All that is known of some exchanges: what `judgeRecord` is given. */
export type Evidence = {
  requests: RequestLine[]
  /** bodies of rules by hash */
  bodies: Map<string, string | Uint8Array>
  robotsByOrigin?: RobotsByOrigin
}
