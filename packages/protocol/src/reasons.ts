/**
 * Every closed list of reasons: its members, their meanings, and what to do about each. docs/outcomes.md is printed from this file. A new
 * reason is one entry; other places that lack it do not compile, or their tests fail.
 */
import { HOP_EXAMPLE } from './hop-id.ts'
import { MAX_PATH_BYTES, MAX_URL_CHARS } from './origin.ts'

export type Explained = {
  /** what happened */
  means: string
  /** what the reader of the outcome can do */
  todo: string
}
const explained = <K extends string>(table: Record<K, Explained>): Readonly<Record<K, Explained>> => table
const namesOf = <K extends string>(table: Readonly<Record<K, Explained>>) => Object.keys(table) as [K, ...K[]]

/** Why there was no answer. Each can occur, none is 'other'. */
export const FAILURES = explained({
  dns: {
    means: 'The host name has no address, or no name server answered in time.',
    todo: 'Check the name. If names fail that others resolve, set DNS_SERVERS.',
  },
  connect: {
    means: 'No connection could be made: it was refused, or no packet came back.',
    todo: 'Enqueue it again later; the site is down or unreachable from here.',
  },
  tls: {
    means: 'The TLS handshake failed, for example because of an expired certificate.',
    todo: 'Drop it, or try the http:// address if the site offers one.',
  },
  timeout: {
    means: 'The answer had not begun when FETCH_DEADLINE_MS was over.',
    todo: 'Enqueue it again later; raise FETCH_DEADLINE_MS and LEASE_MS if many honest sites are that slow.',
  },
  reset: { means: 'The server closed the connection before its answer.', todo: 'Enqueue it again later.' },
  protocol: { means: 'What came back is neither HTTP/1.1 nor HTTP/2.', todo: 'Drop it; look at `detail`.' },
  'too-many-redirects': {
    means: 'More than ten redirects led from one to the next, or the URL redirects to itself.',
    todo: 'Drop it.',
  },
  'bad-redirect': {
    means: 'A redirect without a target that could be fetched.',
    todo: 'Drop it; `detail` shows the target.',
  },
  'blocked-address': {
    means: 'The host is at a private, reserved or cloud-internal address.',
    todo: 'Drop it. A site of your own is opened by DECORUM_ALLOW_ADDRESSES.',
  },
  'blocked-port': {
    means: 'The port belongs to another protocol than HTTP.',
    todo: 'Drop it. A site of your own is opened by DECORUM_ALLOW_PORTS.',
  },
  'rate-limited': {
    means: 'The site answered 429 until MAX_ATTEMPTS were spent.',
    todo: 'Ask this site for less: give its agent or host a longer delay, and enqueue it again days later.',
  },
  'server-error': { means: 'The site answered 503 until MAX_ATTEMPTS were spent.', todo: 'Enqueue it again later.' },
  'lease-expired': {
    means: 'MAX_ATTEMPTS fetchers in a row died or froze while they had it.',
    todo: 'Look at the log of the fetchers: they are being killed, or this page brings them down.',
  },
})
export type FailureReason = keyof typeof FAILURES
export const FAILURE_REASONS = namesOf(FAILURES)

/** The gate that held a candidate: why a pending lane waits, or why an expired candidate was never requested. */
export const HOLDING_GATES = explained({
  'robots-unreachable': {
    means: 'Its robots.txt is unreachable, so nothing of the origin may be fetched.',
    todo: 'Enqueue it again with a later `expiresAt`; the origin page of the console shows the retries.',
  },
  'robots-in-flight': {
    means: 'Its robots.txt was being fetched.',
    todo: 'Enqueue it again with a later `expiresAt`.',
  },
  'back-off': {
    means:
      'The site had asked for less (429, 503) or to wait (Retry-After), or had turned requests away (403) or failed several times.',
    todo: 'Enqueue it again once the back-off has ended.',
  },
  share: {
    means: 'Its crawl, or the domain that it goes to or was redirected from, held its share of the fetch slots.',
    todo: 'Start more fetchers, or enqueue it again with a later `expiresAt`; `decorum status top` shows the slots.',
  },
  'lane-busy': {
    means: 'Other URLs of its lane came first, each with its delay.',
    todo: 'Enqueue fewer URLs of this origin, or give them a later `expiresAt`; fetchers do not help here.',
  },
  paused: { means: 'An operator had paused the origin.', todo: 'Resume it, then enqueue it again.' },
  stopped: {
    means: 'An emergency stop was in force for everything, or for its host, domain or address.',
    todo: 'Enqueue it again once the stop has been lifted (`decorum stop list`).',
  },
  'visiting-hours': {
    means: 'The site may be visited only at certain hours of the day, by its policy or its robots.txt (`Visit-time`).',
    todo: 'Enqueue it again with a later `expiresAt`; the origin page shows the hours.',
  },
  budget: {
    means: "The requests that the site's policy gives its host for one day were spent.",
    todo: 'Enqueue it again with a later `expiresAt`, or give the site a larger budget (SITE_POLICIES).',
  },
  'pace-group': {
    means: 'Other lanes of its pace group came first.',
    todo: 'As with `lane-busy`, for all hosts of the group.',
  },
  pool: {
    means: 'No worker of the pool that its agent names asked for orders, or all of them were busy.',
    todo: 'Start workers of that pool (docs/pools.md), then enqueue it again.',
  },
  'crawl-held': {
    means: 'Its crawl was paused, or nobody read the outcomes of its crawl.',
    todo: 'Resume the crawl or read its outcomes (`decorum crawls`), then enqueue it again.',
  },
  'unknown-agent': {
    means: 'The process that should have handled the lane has no agent of that name.',
    todo: 'Start all processes with the same DECORUM_AGENTS.',
  },
  egress: {
    means: 'Requests of its agent could not leave the fetcher by the way that EGRESS names.',
    todo: 'Look at the log of the fetchers: the proxy is away or rejects the login, or the local address is gone.',
  },
})
export type Gate = keyof typeof HOLDING_GATES
export const GATES = namesOf(HOLDING_GATES)

/** Why a readable candidate was not accepted, or was dropped. */
export const REFUSALS = explained({
  'lane-full': {
    means: 'LANE_LIMIT URLs are pending in its lane already.',
    todo: 'Keep it in the frontier until outcomes of this origin have come.',
  },
  'crawl-full': {
    means: 'Its crawl holds as many URLs as its limit `stored` allows.',
    todo: 'Keep it in the frontier until outcomes of this crawl have come, or raise the limit.',
  },
  'crawl-per-day': {
    means: 'Its crawl has taken in as many URLs today (UTC) as its limit `pagesPerDay` allows.',
    todo: 'Enqueue it again tomorrow, or raise the limit.',
  },
  'crawl-per-host': {
    means: 'Its crawl has taken in as many URLs of this host as its limit `pagesPerHost` allows.',
    todo: 'Drop it, or raise the limit.',
  },
  'crawl-per-domain': {
    means: 'Its crawl has taken in as many URLs of this registrable domain as its limit `pagesPerDomain` allows.',
    todo: 'Drop it, or raise the limit.',
  },
  'crawl-bytes': {
    means: 'Its crawl has fetched as many bytes as its limit `bytes` allows.',
    todo: 'Raise the limit and resume the crawl, then enqueue it again.',
  },
  'crawl-ended': {
    means: 'The end that was set for its crawl has come.',
    todo: 'Nothing: this was intended. A later end and `decorum crawls resume` open the crawl again.',
  },
  'blocked-by-operator': { means: 'An operator has blocked the origin.', todo: 'Unblock it, or drop the URL.' },
  'no-contact': {
    means: 'The agent names no contact, and the address is not in DECORUM_ALLOW_ADDRESSES.',
    todo: 'Set DECORUM_CONTACT, or a User-Agent with a contact in DECORUM_AGENTS.',
  },
  'backlog-dropped': {
    means: 'An operator has dropped what was pending in the lane.',
    todo: 'Nothing: this was intended.',
  },
  cancelled: {
    means: 'It, or its crawl, was cancelled before its request was sent.',
    todo: 'Nothing: this was intended.',
  },
})
export type RefusedReason = keyof typeof REFUSALS
export const REFUSED_REASONS = namesOf(REFUSALS)

/** Why an input is no candidate. */
export const INVALIDS = explained({
  'bad-job': {
    means: 'The job holds neither one candidate nor `{ candidates: [ … ] }` with 1 to 1,000 of them.',
    todo: 'Fix the producer; `detail` says what is wrong.',
  },
  'undecodable-job': { means: 'The data of the job is not JSON.', todo: 'Fix the producer.' },
  'bad-candidate': {
    means: 'A member is missing, unknown, or holds a wrong value.',
    todo: 'Fix the producer; `detail` names the member.',
  },
  'reserved-id': {
    means:
      'The id has a form that only the fleet may assign: it begins with `#:`, or it ends like that of a redirect’s target, ' +
      'in `~`, one or two digits, `~` and 10 to 12 digits or lower-case letters (' +
      `\`${HOP_EXAMPLE}\`).`,
    todo: 'Leave the id out, or choose another.',
  },
  'meta-too-large': {
    means: 'The JSON of `meta` has more than 4,096 bytes.',
    todo: 'Keep it elsewhere, under the id.',
  },
  'unknown-agent': {
    means: 'No agent of that name is in DECORUM_AGENTS.',
    todo: '`detail` lists the names that exist.',
  },
  'not-a-url': {
    means: 'The text is not an absolute URL.',
    todo: 'Fix the producer; a URL begins with its scheme, as in `https://example.com/x`.',
  },
  'not-well-formed': {
    means: 'The URL holds half of a surrogate pair, so it is unknown which page is meant.',
    todo: 'Fix the producer.',
  },
  'url-too-long': {
    means: `Path and query are longer than ${MAX_PATH_BYTES.toLocaleString('en')} bytes once encoded, or the whole text than ${MAX_URL_CHARS.toLocaleString('en')} characters.`,
    todo: 'Drop it.',
  },
  'scheme-not-supported': { means: 'The URL is neither http nor https.', todo: 'Drop it.' },
  'ftp-not-supported': { means: 'The URL is an FTP URL.', todo: 'Drop it.' },
  'user-info': {
    means: 'The URL holds a user name or a password, which are neither sent nor silently removed.',
    todo: 'Enqueue it without, if that page is meant.',
  },
  'bad-host': { means: 'The host name breaks the limits of DNS.', todo: 'Drop it.' },
  'unreadable-order': {
    means: 'A fetcher could not read the order of a gateway of another version.',
    todo: 'Finish the deploy, then enqueue it again.',
  },
})
export type InvalidReason = keyof typeof INVALIDS
export const INVALID_REASONS = namesOf(INVALIDS)

/** The kinds of outcome, in the order of docs/spec/design.md §5. */
export const KINDS = explained({
  fetched: {
    means:
      'An HTTP answer was received, whatever its status except 429 and 503. Several 403 in a row slow the origin down.',
    todo: 'Read `status` and `headers`; where pages are kept, `archive.ref` leads to the page (docs/content.md).',
  },
  redirected: {
    means: 'The answer was a redirect. Its target is a candidate of its own, with the same `meta`.',
    todo: 'Wait for the outcome of `candidate`.',
  },
  disallowed: { means: 'A rule of robots.txt forbids it; `rule` and `line` say which.', todo: 'Drop it.' },
  failed: { means: 'No usable answer was received.', todo: 'It depends on the reason.' },
  expired: {
    means: 'It was still pending at `expiresAt` (default: 24 h after it was stored).',
    todo: 'It depends on the gate that held it, which is the reason.',
  },
  invalid: { means: 'It is not a valid candidate. Nothing was sent.', todo: 'It depends on the reason.' },
  refused: {
    means:
      'It is a valid candidate that was not accepted, was cancelled, or was dropped by an operator while it waited. Nothing was sent for it any more.',
    todo: 'It depends on the reason.',
  },
})
export type OutcomeKind = keyof typeof KINDS
export const OUTCOME_KINDS = namesOf(KINDS)
