/** Dependencies of every step of an order. */
import type { Ledger } from '@decorum/ledger'
import type { Traces } from '@decorum/runtime'
import type { Durations, OrderTools } from '@decorum/sending'
import type { FetchTools } from '@decorum/sending/robots'
import type { Sink } from './sink/sink.ts'
import type { Stats } from './stats.ts'

type Log = { warn(fields: object, message: string): void; error(fields: object, message: string): void }

export type Tools = OrderTools &
  FetchTools &
  Durations & {
    ledger: Pick<Ledger, 'now' | 'wall'>
    sink: Sink
    stats: Stats
    log: Log
    traces?: Traces
    pageMaxBytes: number
    maxAttempts: number
    /** true once the process is stopping: no lease is started any more */
    isStopping: () => boolean
  }
