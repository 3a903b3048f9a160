/**
 * The settings of a crawl: its weight, whether it is running, its end, limits and settings, and who changed it last. Pure: takes a record
 * and returns the next one. A crawl without settings has `USUAL`.
 */
import {
  DEFAULT_CRAWL,
  type Instant,
  POOL_NAME,
  PoolName,
  type RefusedReason,
  type RequestShape,
} from '@decorum/protocol'

/** Whether a crawl is running, or why not. All but `running` and `paused` end its URLs; `cancelled` is final. */
export type CrawlState = 'running' | 'paused' | 'cancelled' | 'ended' | 'spent'

export type CrawlLimits = {
  /** URLs that are stored at one time */
  stored?: number | undefined
  /** URLs that are taken in on one day (UTC) */
  pagesPerDay?: number | undefined
  /** URLs that are taken in from one host */
  pagesPerHost?: number | undefined
  /** URLs that are taken in from one registrable domain; from one host where the host is an address or has no registrable domain */
  pagesPerDomain?: number | undefined
  /** bytes of response bodies on the wire, in total */
  bytes?: number | undefined
}

/** Defaults for candidates that do not set these fields. */
export type CrawlSettings = Pick<RequestShape, 'redirects' | 'accept' | 'maxBytes' | 'deadlineMs'> & {
  priority?: 'high' | 'normal' | undefined
  /** largest number of requests for one URL; at most MAX_ATTEMPTS */
  attempts?: number | undefined
  /** the pool whose workers fetch its pages, whatever the agent; absent: the pool of the agent, or the fetchers */
  pool?: string | undefined
}

export type CrawlRecord = {
  /** rises with each change; 0: the crawl was never changed */
  version: number
  /** its share of turns in lanes that it shares with other crawls */
  weight: number
  state: CrawlState
  /** the crawl ends at this instant of Redis's clock */
  expiresAt?: Instant | undefined
  limits?: CrawlLimits | undefined
  settings?: CrawlSettings | undefined
  /** when the latest change was made */
  at: Instant
  by: string
  reason: string
}
export const MOST_WEIGHT = 100
/** Number of crawls that may exist at one time: each has a stream and a hash in every partition, and lists name them all. */
export const MOST_CRAWLS = 10_000
export const USUAL: CrawlRecord = { version: 0, weight: 1, state: 'running', at: 0, by: '', reason: '' }
const MAX_TEXT = 256

/** A value of null removes the end, the limit or the setting. */
export type CrawlChange = {
  weight?: number
  state?: 'running' | 'paused' | 'cancelled'
  expiresAt?: Instant | null
  limits?: { [L in keyof CrawlLimits]?: number | null | undefined }
  settings?: { [S in keyof CrawlSettings]?: CrawlSettings[S] | null | undefined }
}
export type Changing = { name: string; change: CrawlChange; by: string; reason: string }

/** The change is not possible; nothing was changed. */
export class CrawlError extends Error {
  override readonly name = 'CrawlError'
}

/** The reason in the outcomes of URLs that end because their crawl is in this state. */
const ENDINGS: { [S in CrawlState]?: RefusedReason } = {
  cancelled: 'cancelled',
  ended: 'crawl-ended',
  spent: 'crawl-bytes',
}
export const endingOf = ({ state }: CrawlRecord): RefusedReason | undefined => ENDINGS[state]
/** Whether no URL of the crawl is sent. */
export const isHeld = ({ state }: CrawlRecord): boolean => state !== 'running'

/** @throws CrawlError that says what is wrong */
export function changed(record: CrawlRecord, { name, change, by, reason }: Changing, now: Instant): CrawlRecord {
  const { weight = record.weight, state = record.state, expiresAt = record.expiresAt } = change
  if (record.state === 'cancelled' && state !== 'cancelled')
    throw new CrawlError(`the crawl '${name}' was cancelled: give what comes after it another name`)
  if (name === DEFAULT_CRAWL && (state === 'cancelled' || change.expiresAt || change.limits !== undefined))
    throw new CrawlError(
      `'${DEFAULT_CRAWL}' is the crawl of candidates that name none: it can be paused and given a weight, no end and no limits`,
    )
  if (!Number.isInteger(weight) || weight < 1 || weight > MOST_WEIGHT)
    throw new CrawlError(`a weight is a whole number from 1 to ${MOST_WEIGHT}`)
  if (expiresAt !== null && expiresAt !== undefined && change.expiresAt !== undefined && !(expiresAt > now))
    throw new CrawlError('the end of the crawl has passed already')
  for (const [limit, most] of Object.entries(change.limits ?? {}))
    if (most !== null && most !== undefined && (!Number.isSafeInteger(most) || most < 1))
      throw new CrawlError(`the limit ${limit} is a whole number from 1`)
  const { pool } = change.settings ?? {}
  if (pool !== null && pool !== undefined && !PoolName.safeParse(pool).success) throw new CrawlError(POOL_NAME)
  return {
    ...record, // keeps fields that a later version has written
    version: Math.max(record.version + 1, Math.floor(now)),
    weight,
    state: state === 'running' ? reopened(expiresAt, now) : state,
    expiresAt: expiresAt ?? undefined,
    limits: merged(record.limits, change.limits),
    settings: merged(record.settings, change.settings),
    at: Math.floor(now),
    by: by.trim().slice(0, MAX_TEXT),
    reason: reason.trim().slice(0, MAX_TEXT),
  }
}

const reopened = (expiresAt: Instant | null | undefined, now: Instant): CrawlState =>
  expiresAt !== null && expiresAt !== undefined && expiresAt <= now ? 'ended' : 'running'

function merged<T extends object>(
  before: T | undefined,
  change: { [K in keyof T]?: T[K] | null | undefined } | undefined,
): T | undefined {
  if (change === undefined) return before
  const all = Object.entries({ ...before, ...change }).filter(([, value]) => value !== null && value !== undefined)
  return all.length === 0 ? undefined : (Object.fromEntries(all) as T)
}

/** The next record of a crawl whose end has come, or that has fetched as many bytes as its limit allows; undefined: neither is so. */
export function endedBy(record: CrawlRecord, bytes: number, now: Instant): CrawlRecord | undefined {
  const { state, expiresAt, limits } = record
  if (state !== 'running' && state !== 'paused') return undefined
  const end = (next: CrawlState, reason: string): CrawlRecord => ({
    ...record,
    version: Math.max(record.version + 1, Math.floor(now)),
    state: next,
    at: Math.floor(now),
    by: 'fleet',
    reason,
  })
  if (expiresAt !== undefined && expiresAt <= now) return end('ended', 'its end has come')
  if (limits?.bytes !== undefined && bytes >= limits.bytes) return end('spent', `it has fetched ${bytes} bytes`)
  return undefined
}

export function readRecord(text: string | null | undefined): CrawlRecord {
  if (text === null || text === undefined || text === '') return USUAL
  return { ...USUAL, ...(JSON.parse(text) as Partial<CrawlRecord>) }
}
