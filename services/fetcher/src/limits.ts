/** Every bound of one exchange, with its reason. Those that an operator may want to change are settings (config.ts). */
import { SECOND } from '@decorum/protocol'

/** Oldest permit that may still be used: what the ledger said (rules, pauses, fence) is trusted no longer than this. */
export const SEND_WINDOW_MS = 5 * SECOND
/**
 * A permit that is older when the bytes could leave is asked for again first: after a slow look-up, connection or handshake
 * somebody else may have been told 429, a person may have paused the site, or its rules may be others.
 */
export const FRESH_PERMIT_MS = SECOND
/** A lane that opens this soon is begun already: the round trip to the ledger lies before the opening, not behind it. */
export const GRANT_AHEAD_MS = 8
/** One name's look-up, all addresses; part of the send window. */
export const DNS_TIMEOUT_MS = 5 * SECOND
/** Time kept free at the end of a lease, to hand it back: at most this, less when the lease itself is short. */
export const LEASE_MARGIN_MS = 5 * SECOND
/** A timer that fires later than this is our own stall (paused process, blocked loop), not the site's silence. */
export const OWN_STALL_MS = SECOND
/** How long an idle connection is kept for the lane's next visit; below the 5 s at which common servers hang up. */
export const KEEP_ALIVE_MS = 4 * SECOND
/** Status line and header fields together: what Node's own client accepts. */
export const HEADERS_MAX_BYTES = 16 * 1024
/** Informational answers (1xx) before the real one; more is a flood, not a hint. */
export const MAX_INFORMATIONAL = 16

/**
 * What may come over the wire for n octets of a body: twice as much, and a head. Beyond that an answer is all frame and
 * no picture (chunks of one octet cost six each, and their parser all its time).
 */
export const FRAMING_FACTOR = 2
export const FRAMING_FREE_BYTES = 256 * 1024

/** robots.txt: octets on the wire, all codings; RFC 9309 §2.5 asks for at least 500 KiB of text. */
export const ROBOTS_WIRE_MAX_BYTES = 1024 * 1024
/** robots.txt: redirects that are followed (RFC 9309 §2.3.1.2: at least five). */
export const ROBOTS_MAX_REDIRECTS = 5
/** Redirects of a page, each a visit of its own (design §5). */
export const PAGE_MAX_HOPS = 10

/** Octets of a body that stay in memory; beyond, they go to a temporary file. 100 slots: 12.5 MiB. */
export const SPOOL_MEMORY_BYTES = 128 * 1024
/** Largest decoded : encoded relation of a page that is unpacked for a sink; zlib's own limit is 1032. */
export const MAX_RATIO = 100
/** Decoded octets below which the relation is not judged: short texts pack extremely well. */
export const RATIO_FREE_BYTES = 1024 * 1024

/** Decoded octets of one page: what a folder keeps, and how far a length is counted. */
export const DECODED_MAX_BYTES = 64 * 1024 * 1024
/** How long an outcome waits for the decoded length of its page. */
export const DECODED_WITHIN_MS = 2 * SECOND

/** Supervision: a child beats so often, is looked at so often, and is killed after so long a silence, far inside a lease. */
export const BEAT_EVERY_MS = 500
export const WATCH_EVERY_MS = 250
export const SILENCE_MS = 5 * SECOND
