/** What each step of an order works with. */
import type { Agents } from '@decorum/config'
import type { Ledger } from '@decorum/ledger'
import type { Traces } from '@decorum/runtime'
import type { LaneConnections } from '../http/connections.ts'
import type { Stats } from '../process/stats.ts'
import type { SiteAnswers } from '../robots/site-answers.ts'
import type { Sink } from '../sink/sink.ts'
import type { Pace } from './pace.ts'

/** The part of the ledger that orders use. */
export type OrdersLedger = Pick<
  Ledger,
  | 'start'
  | 'confirm'
  | 'acquire'
  | 'next'
  | 'resolve'
  | 'complete'
  | 'record'
  | 'endRobotsFetch'
  | 'robotsStates'
  | 'body'
  | 'partitionOf'
  | 'now'
  | 'wall'
> & { stops: Pick<Ledger['stops'], 'why' | 'hasAddresses'> }

export type Log = { warn(fields: object, message: string): void; error(fields: object, message: string): void }

/** What an exchange of either kind needs. */
export type ExchangeTools = {
  ledger: OrdersLedger
  connections: LaneConnections
  agents: Agents
  sink: Sink
  siteAnswers: SiteAnswers
  stats: Stats
  log: Log
}

export type Tools = ExchangeTools & {
  pace: Pace
  traces?: Traces
  pageMaxBytes: number
  maxAttempts: number
  /** pages that say noarchive are not kept */
  honourNoarchive: boolean
  fetchDeadlineMs: number
  leaseMs: number
  /** true once the process is asked to stop: no lease is started any more */
  isStopping: () => boolean
}
