/**
 * Follows one record in one process. A place that reports a later version is read; one that reports an earlier version is written. So every
 * process that has seen a version restores it after a Redis has lost it, and no process replaces a later version by an earlier one.
 */
import { thatAnswer } from '../that-answer.ts'
import type { Place, Versioned } from './place.ts'

export type Keeper<R extends Versioned> = {
  /** the latest record that this process has seen */
  readonly known: R
  /** whether a place has reported a later version, which is being read */
  readonly isBehind: boolean
  /**
   * Reports that a place holds this version.
   * @param isOther  true: it has the version of `known` but is another record; `known` is then written there
   */
  report(place: number, version: number, isOther?: boolean): void
  /** Reports that this process has received or written the record. Places that hold an earlier one are written. */
  adopt(record: R): void
  /** The latest record in the places that answer. */
  latest(): Promise<R>
  /** Resolves when everything reported so far has been read or written, or has failed. */
  settled(): Promise<void>
}

/**
 * @param none     the record of version 0
 * @param onLater  called with each later record that is read or adopted
 */
export function keeperOf<R extends Versioned>(
  places: readonly Place<R>[],
  none: R,
  onLater: (record: R) => void,
): Keeper<R> {
  let known = none
  const versions = places.map(() => none.version) // the version that each place has reported
  const busy = new Map<number, Promise<void>>()

  const take = (record: R): void => {
    if (record.version <= known.version) return
    known = record
    onLater(record)
  }
  /** Runs one call at a time for each place. When it fails, the next report of the place starts another. */
  const bringUp = (at: number): void => {
    const [place, version] = [places[at], versions[at]]
    if (place === undefined || version === undefined || version === known.version || busy.has(at)) return
    if (version > known.version && place.read === undefined) return
    const work = async (): Promise<void> => {
      if (version < known.version) versions[at] = (await place.write(known)).version
      if ((versions[at] ?? 0) <= known.version || place.read === undefined) return
      const record = (await place.read()) ?? none
      versions[at] = record.version
      take(record)
    }
    const done = work().then(
      () => {
        busy.delete(at)
        bringAllUp()
      },
      () => void busy.delete(at),
    )
    busy.set(at, done)
  }
  const bringAllUp = (): void => {
    for (const at of places.keys()) bringUp(at)
  }
  return {
    get known() {
      return known
    },
    get isBehind() {
      return versions.some((version) => version > known.version)
    },
    report(at, version, isOther = false) {
      versions[at] = isOther ? version - 1 : version
      bringUp(at)
    },
    adopt(record) {
      take(record)
      bringAllUp()
    },
    async latest() {
      for (const record of await thatAnswer(places.map(async (place) => place.read?.()))) take(record ?? none)
      return known
    },
    async settled() {
      while (busy.size > 0) await Promise.all(busy.values())
    },
  }
}
