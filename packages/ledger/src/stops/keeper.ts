/**
 * The emergency stops as one process knows them. Every partition holds the whole record, and every reply of a script tells its
 * version: a process that receives a later one reads it, and writes it to a partition that is behind, because that was away or has
 * lost its data. So a stop needs no master and no polling.
 */
import { hostOf } from '@decorum/protocol'
import { LedgerUnavailableError } from '../errors.ts'
import { thatAnswer } from '../that-answer.ts'
import type { StopsAnswer } from '../verbs/stops.ts'
import { nameOfAddress, namesAbove } from './names.ts'
import { EVERYTHING, isInForce, NO_STOPS, type StopRecord } from './record.ts'

/** One partition, as the keeper needs it. */
export type StopPlace = {
  write(record: StopRecord, expected: number | undefined): Promise<StopsAnswer>
  /** the record as JSON, null when there is none */
  read(): Promise<string | null>
}

export type StopKeeper = {
  /** the version that this process knows */
  readonly version: number
  readonly record: StopRecord
  /** a reply of this partition came under this version, which is another one */
  seen(place: number, version: number): void
  /** why nothing may be sent to an origin, or to an address, or undefined; without a call of Redis */
  why(origin: string, address: string | undefined): string | undefined
  /** some address is stopped, so addresses have to be known before requests are made */
  hasAddresses(): boolean
  /**
   * Writes the next record, into every partition that answers.
   * @param edit  throws when it cannot be made: nothing is changed then
   * @returns     how many partitions did not answer: each gets them when it does
   */
  change(edit: (record: StopRecord, now: number) => StopRecord): Promise<{ record: StopRecord; unreached: number }>
  /** as the partitions that answer hold it now */
  latest(): Promise<StopRecord>
  /** resolves when what was seen so far has been read or written */
  settled(): Promise<void>
}

/** Operators who stop something at the same time each try again. */
const TRIES = 20
/** How long it is tried again while no partition takes a stop: one whose clock is in doubt does so within two seconds. */
const PATIENCE_MS = 5_000
const AGAIN_MS = 250

/** @param now  Redis's clock, ms */
export function stopKeeper(places: StopPlace[], now: () => number): StopKeeper {
  let known = NO_STOPS
  let latest = 0 // version that some partition has
  let names = new Map<string, number>() // name → end
  let addresses = false
  const versions = places.map(() => 0) // the latest that each partition has
  const busy = new Map<number, Promise<void>>()

  const takeOver = (record: StopRecord): void => {
    if (record.version <= known.version) return
    known = record
    latest = Math.max(latest, record.version)
    names = new Map()
    for (const { name, until = Number.POSITIVE_INFINITY } of record.stops.filter((stop) => isInForce(stop, 0)))
      names.set(name, Math.max(names.get(name) ?? 0, until))
    addresses = [...names.keys()].some((name) => /^\[|^[\d.]+$/.test(name))
  }
  const readAt = async (place: StopPlace): Promise<StopRecord> => {
    const text = await place.read()
    return text === null ? NO_STOPS : (JSON.parse(text) as StopRecord)
  }
  /** One at a time for each partition. When it fails, the next reply brings it up again. */
  const work = (at: number, does: (place: StopPlace) => Promise<unknown>): void => {
    const place = places[at]
    if (place === undefined || busy.has(at)) return
    const done = does(place)
      .catch(() => undefined)
      .finally(() => busy.delete(at))
    busy.set(
      at,
      done.then(() => undefined),
    )
  }
  const announcePlaces = (): void => {
    for (const [at, version] of versions.entries())
      if (version < known.version)
        work(at, async (place) => {
          versions[at] = (await place.write(known, undefined)).version
        })
  }
  const seen = (at: number, version: number): void => {
    versions[at] = version
    latest = Math.max(latest, version)
    if (version > known.version)
      work(at, async (place) => {
        takeOver(await readAt(place))
        announcePlaces()
      })
    else announcePlaces()
  }
  const isStopped = (name: string): boolean => (names.get(name) ?? 0) > now()

  /** @returns undefined when another change came first */
  const tryToWrite = async (edit: (record: StopRecord, now: number) => StopRecord) => {
    const found = await Promise.allSettled(places.map(readAt))
    const records = found.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    const base = [known, ...records].reduce((one, other) => (other.version > one.version ? other : one))
    const next = edit(base, now())
    const first = found.findIndex(({ status }) => status === 'fulfilled')
    const place = places[first]
    if (place === undefined) throw new LedgerUnavailableError('stops', (found[0] as PromiseRejectedResult)?.reason)
    if ((found[first] as PromiseFulfilledResult<StopRecord>).value.version < base.version)
      await place.write(base, undefined)
    if ((await place.write(next, base.version)).kind !== 'written') return undefined
    takeOver(next)
    const others = await Promise.allSettled(
      places.filter((_, at) => at !== first).map((one) => one.write(next, undefined)),
    )
    return { record: next, unreached: others.filter(({ status }) => status === 'rejected').length }
  }

  return {
    get version() {
      return known.version
    },
    get record() {
      return known
    },
    seen,
    why(origin, address) {
      if (latest === 0) return undefined
      if (latest > known.version) return 'an emergency stop was set or lifted, and is being read'
      if (names.size === 0) return undefined
      if (isStopped(EVERYTHING)) return 'everything is stopped'
      const name =
        namesAbove(hostOf(origin)).find(isStopped) ??
        (address === undefined ? undefined : [nameOfAddress(address)].find(isStopped))
      return name === undefined ? undefined : `${name} is stopped`
    },
    hasAddresses: () => addresses,
    async change(edit) {
      const until = performance.now() + PATIENCE_MS
      for (let tries = 0; ; ) {
        try {
          const written = await tryToWrite(edit)
          if (written !== undefined) return written
          if (++tries === TRIES) throw new Error('other operators change the stops at the same time: try again')
        } catch (error) {
          if (!(error instanceof LedgerUnavailableError) || performance.now() > until) throw error
          await new Promise((resolve) => setTimeout(resolve, AGAIN_MS))
        }
      }
    },
    async latest() {
      const found = await thatAnswer(places.map(readAt))
      for (const record of found) takeOver(record)
      return known
    },
    async settled() {
      while (busy.size > 0) await Promise.all(busy.values())
    },
  }
}
