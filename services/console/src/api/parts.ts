/** Dependencies of the API. */
import type { Frontier } from '@decorum/client'
import type { RedisLink } from '@decorum/ledger'
import type { LedgerWithViews } from '@decorum/ledger/views'
import type { Queue } from '@decorum/protocol/bullmq'
import { Problem } from '@decorum/runtime/http-api'
import type { ConsoleConfig } from '../config.ts'

export const unavailable = (why: unknown, more: Record<string, unknown> = {}): Problem =>
  new Problem(503, 'redis-away', `Redis does not answer: ${why instanceof Error ? why.message : String(why)}`, more)

/** The problem that an error means to a caller; undefined: the error is a fault of this process. */
export function problemOf(error: Error & { code?: string }): Problem | undefined {
  if (error instanceof Problem) return error
  return AWAY.has(error.code) ? unavailable(error) : undefined
}
const AWAY: ReadonlySet<unknown> = new Set(['LEDGER_UNAVAILABLE', 'FRONTIER_UNAVAILABLE'])

export type ApiParts = {
  config: ConsoleConfig
  ledger: LedgerWithViews
  /** fails at once while Redis is unavailable */
  redis: RedisLink
  /** both queues of each partition, in order */
  queues: Queue[]
  /** whether Redis answers right now; never throws, bounded in time */
  redisAnswers: () => Promise<boolean>
  version: string
  /** for tests, whose readers count as dead sooner */
  frontier?: () => Promise<Frontier>
}
