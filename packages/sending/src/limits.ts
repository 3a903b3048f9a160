/** Every limit of one exchange, with its reason. Limits that an operator may want to change are settings (config.ts). */
import { SECOND } from '@decorum/protocol'

/** Longest time from a request for a connection to the first byte that is sent. */
export const SEND_WINDOW_MS = 5 * SECOND
/**
 * How long the ledger's last answer about a lease (rules, pauses, stops, fence) is relied on: an emergency stop takes effect within this
 * time.
 */
export const LAST_WORD_MS = SECOND
/**
 * A lease whose last confirmation is older than this is confirmed again before the bytes leave: during a slow look-up, connect or
 * handshake the site may have sent 429, an operator may have paused or stopped it, or its rules may have changed.
 */
export const FRESH_LEASE_MS = SECOND / 2
/** Limit of looking up all addresses of one name; part of the send window. */
export const DNS_TIMEOUT_MS = 5 * SECOND
/** Limit of connecting to a proxy; part of the send window, so that the rest is left for the connection behind it. */
export const PROXY_WITHIN_MS = 2 * SECOND
/** How long an agent takes no orders after its egress has failed: doubled after each failure, from `first` up to `last`. */
export const EGRESS_WAIT_MS = { first: SECOND, last: 60 * SECOND }
/** After a failed exchange over HTTP/2 an origin is requested over HTTP/1.1 for this long. */
export const HTTP1_FOR_MS = 3_600 * SECOND
/** Time reserved at the end of a lease for completing it: at most this, less when the lease itself is short. */
export const LEASE_MARGIN_MS = 5 * SECOND
/**
 * Minimum time that a sink gets for an answer, however little of the lease is left. For a robots.txt also the maximum, because its rules
 * are recorded afterwards.
 */
export const KEEP_LEAST_MS = 5 * SECOND
/**
 * If this process stood still for longer in total before it could send (suspended, blocked loop), a failure says nothing about the site.
 */
export const OWN_STALL_MS = SECOND
/** How often a request that waits to be sent checks whether its process has stood still. */
export const STALL_CHECK_MS = SECOND / 2
/** How long an idle connection is kept for the lane's next exchange; common servers close it after 5 s. */
export const KEEP_ALIVE_MS = 4 * SECOND
/** Limit of status line and header fields together, including 1xx answers; the same as Chromium's (kMaxHeaderBufSize). */
export const HEADERS_MAX_BYTES = 256 * 1024
/** Most lines of a head, enough for the largest head with 16 bytes per line. Bounds the memory of a head of tiny lines. */
export const HEAD_MAX_FIELDS = HEADERS_MAX_BYTES / 16
/**
 * The second reader (lenient/) reads longer heads, because undici allocates two objects per field. Also the limit of the fields that an
 * outcome keeps, as they would be written in HTTP/1.1.
 */
export const LARGE_HEAD_BYTES = 16 * 1024
/** Limit of a line between two chunks, or of all trailers, in the second reader (Chromium: kMaxLineBufLen). */
export const BETWEEN_CHUNKS_MAX_BYTES = 16 * 1024
/** Most informational answers (1xx) before the final one; more count as a flood. Some servers send 102 each second. */
export const MAX_INFORMATIONAL = 100

/**
 * An answer whose body has n bytes may take FRAMING_FACTOR × n + FRAMING_FREE_BYTES bytes on the wire, plus a large head. Chunks of one
 * byte take six bytes each, and nearly all of the parser's time.
 */
export const FRAMING_FACTOR = 2
export const FRAMING_FREE_BYTES = 256 * 1024
/**
 * How often these bytes are counted over HTTP/2, because Node does not report single frames. On loopback a site sends up to 2 MB in that
 * time.
 */
export const FRAMES_COUNTED_EVERY_MS = 5

/** Limit of a robots.txt on the wire, in any coding; RFC 9309 §2.5 asks for at least 500 KiB of text. */
export const ROBOTS_WIRE_MAX_BYTES = 1024 * 1024
/** Most redirects of a robots.txt that are followed (RFC 9309 §2.3.1.2: at least five). */
export const ROBOTS_MAX_REDIRECTS = 5

/** Bytes of a body that stay in memory; the rest goes to a temporary file. 100 slots: 12.5 MiB. */
export const SPOOL_MEMORY_BYTES = 128 * 1024
/** Largest ratio of decoded to encoded bytes of a page that is decoded for a sink; zlib's own limit is 1032. */
export const MAX_RATIO = 100
/** Decoded bytes below which the ratio is not judged: short texts compress extremely well. */
export const RATIO_FREE_BYTES = 1024 * 1024

/** Limit of the decoded bytes of one page, for the folder sink and for counting its length. */
export const DECODED_MAX_BYTES = 64 * 1024 * 1024
/** How long an outcome waits for the decoded length of its page. */
export const DECODED_WITHIN_MS = 2 * SECOND
