/**
 * The sender: one request from its turn to its end, whoever asks for it. Its turn is taken (leases/turn.ts: no stop of its address, pace
 * groups, lane; leases/wait.ts for an order), the lease is confirmed before bytes leave (leases/lease.ts), the exchange is made (`./http`),
 * and every lease ends by what happened. ledger.ts has all calls that this takes, read-page.ts what an answer to a page means. Start at
 * `takeTurn`; `./robots` has the robots fetch, `./granting` turns for requests whose URLs are not stored.
 */
export { headersFor } from './http/request-head.ts'
export { type Durations, type Fetched, Lease, type UsedLease } from './leases/lease.ts'
export { type Later, type Open, type Turn, type TurnTools, takeTurn } from './leases/turn.ts'
export { exactly, type OrderTools, orderTurn, type Refused, type StartRefusal, type Unused } from './leases/wait.ts'
export {
  betweenMs,
  confirm,
  endExchange,
  endUnused,
  extend,
  type Leases,
  laneOf,
  lanesOf,
  type NextTurns,
  next,
  type OwnLease,
  type PaceLease,
  release,
  releaseOrder,
} from './ledger.ts'
export { DECODED_MAX_BYTES, HEADERS_MAX_BYTES, KEEP_LEAST_MS } from './limits.ts'
export { bothLoads, loadOf, loadReported, NORMAL_LOAD, waitOf } from './load.ts'
export {
  type AboutPage,
  type FetchedBody,
  NO_ANSWER,
  type PageOfWorker,
  type PageRead,
  type PagesOfWorkers,
  readAskedForLess,
  readFailure,
  readPage,
  readRedirect,
} from './read-page.ts'
export { once, type Report, type Reporter, untilOver } from './report.ts'
