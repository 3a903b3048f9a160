/**
 * Emergency stops as the fleet keeps them: who stopped what, when, why and until when, and who lifted it. Pure: takes a record and returns
 * the next one. The auditor reads the same record.
 */
import type { Instant } from '@decorum/protocol'

/** The name of a stop of everything. Others are hosts and addresses (names.ts). */
export const EVERYTHING = '*'

export type Stop = {
  name: string
  /** instants of Redis's clock */
  at: Instant
  by: string
  reason: string
  /** absent: it does not expire */
  until?: Instant
  lifted?: { at: Instant; by: string; reason: string }
}
/** Oldest first. The version rises with each change; 0: there has never been a stop. */
export type StopRecord = { version: number; stops: Stop[] }
export const NO_STOPS: StopRecord = { version: 0, stops: [] }

/** Number of stops that may be in force at once: every partition holds them all, and they are written in one step. */
export const MOST_STOPS = 1_000
/** Number of ended stops that are kept for the auditor, the latest ones. */
const MOST_ENDED = 1_000
const MAX_TEXT = 256

/** The operator's request is not possible; nothing was changed. */
export class StopError extends Error {
  override readonly name = 'StopError'
}

export type Stopping = { names: readonly string[]; by: string; reason: string; until?: Instant }
export type Lifting = { names: readonly string[]; by: string; reason: string }

export const isInForce = ({ lifted, until }: Stop, now: Instant): boolean =>
  lifted === undefined && (until === undefined || until > now)

export const stopsInForce = ({ stops }: StopRecord, now: Instant): Stop[] =>
  stops.filter((stop) => isInForce(stop, now))

/** @throws StopError that says what is wrong, for example that there are too many */
export function withStops(record: StopRecord, { names, by, reason, until }: Stopping, now: Instant): StopRecord {
  if (names.length === 0) throw new StopError('nothing is named that is to be stopped')
  if (reason.trim() === '') throw new StopError('a stop needs a reason: it is recorded')
  if (until !== undefined && !(until > now)) throw new StopError('the end of the stop has passed already')
  const end = until === undefined ? {} : { until: Math.ceil(until) }
  const added = [...new Set(names)].map((name): Stop => ({
    name,
    at: Math.floor(now),
    by: cut(by),
    reason: cut(reason),
    ...end,
  }))
  const inForce = stopsInForce(record, now).length
  if (inForce + added.length > MOST_STOPS)
    throw new StopError(
      `${MOST_STOPS} stops may be in force at once, and these would be ${inForce + added.length}: name the domain above them, or stop everything`,
    )
  return nextOf(record, [...record.stops, ...added], now)
}

/** Ends every stop with that name. @throws StopError with the name that is not stopped */
export function withoutStops(record: StopRecord, { names, by, reason }: Lifting, now: Instant): StopRecord {
  if (names.length === 0) throw new StopError('nothing is named that is to be lifted')
  const inForce = new Set(stopsInForce(record, now).map(({ name }) => name))
  const unknown = names.filter((name) => !inForce.has(name))
  if (unknown.length > 0) {
    const known = [...inForce].slice(0, 20).map(nameForPeople).join(', ')
    throw new StopError(
      `${unknown.map(nameForPeople).join(', ')} cannot be lifted; ${known === '' ? 'nothing is stopped' : `stopped by name: ${known}`}`,
    )
  }
  const lifted = { at: Math.floor(now), by: cut(by), reason: cut(reason) }
  const stops = record.stops.map((stop) =>
    names.includes(stop.name) && isInForce(stop, now) ? { ...stop, lifted } : stop,
  )
  return nextOf(record, stops, now)
}

export const nameForPeople = (name: string): string => (name === EVERYTHING ? 'everything' : name)

/** A version is at least the time of the clock, so versions also rise after a Redis has lost the record. */
function nextOf({ version }: StopRecord, stops: Stop[], now: Instant): StopRecord {
  let toForget = stops.filter((stop) => !isInForce(stop, now)).length - MOST_ENDED
  const kept = stops.filter((stop) => isInForce(stop, now) || toForget-- <= 0)
  return { version: Math.max(version + 1, Math.floor(now)), stops: kept }
}

const cut = (text: string): string => text.trim().slice(0, MAX_TEXT)
