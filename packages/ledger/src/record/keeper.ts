/**
 * One record as one process follows it. A place that reports a later version is read; one that reports an earlier version is written,
 * so whoever has seen a version brings it back after a Redis has lost it, and nobody replaces a later version by an earlier one.
 */
import { thatAnswer } from '../that-answer.ts'
import type { Place, Versioned } from './place.ts'

export type Keeper<R extends Versioned> = {
  /** the latest record that this process has seen */
  readonly known: R
  /** a place has reported a later version, which is being read */
  readonly isBehind: boolean
  /**
   * A place holds this version.
   * @param isOther  it has the number of `known` and is another record: its writer had seen neither
   */
  report(place: number, version: number, isOther?: boolean): void
  /** This process has the record from elsewhere, or has written it. Places that hold an earlier one are written. */
  learn(record: R): void
  /** As the places that answer hold it now. */
  latest(): Promise<R>
  /** Resolves when all that was reported so far has been read or written, or could not be. */
  settled(): Promise<void>
}

/**
 * @param none     the record of version 0
 * @param onLater  called with each later record that this process comes to know
 */
export function keeperOf<R extends Versioned>(
  places: readonly Place<R>[],
  none: R,
  onLater: (record: R) => void,
): Keeper<R> {
  let known = none
  const versions = places.map(() => none.version) // that each place has reported
  const busy = new Map<number, Promise<void>>()

  const take = (record: R): void => {
    if (record.version <= known.version) return
    known = record
    onLater(record)
  }
  /** One call at a time for each place. When it fails, the next report of the place starts another. */
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
    learn(record) {
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
