/**
 * The sender carries one request from its turn to its end, for every kind of caller. It takes the turn (leases/turn.ts: no stop of its
 * address, pace groups, lane; leases/wait.ts for an order), confirms the lease before bytes leave (leases/lease.ts), makes the exchange
 * (`./http`), and ends every lease according to the result. ledger.ts has all ledger calls for this, read-page.ts the meaning of answers to
 * pages. Start at `takeTurn`; `./robots` has the robots fetch, `./granting` turns for requests whose URLs are not stored.
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
  readLessLoad,
  readFailure,
  readPage,
  readRedirect,
} from './read-page.ts'
export { once, type Report, type Reporter, untilOver } from './report.ts'
