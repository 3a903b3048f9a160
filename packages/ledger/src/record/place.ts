/**
 * A record that the fleet shares, and the places in Redis that each hold all of it. Its version rises with each change, so a place that was
 * unavailable, or has lost its data, is recognized by its earlier version and is written again
 * (docs/decisions/0028-one-replicated-record.md).
 */
import type { Clock } from '@decorum/protocol'
import { LedgerUnavailableError } from '../errors.ts'

export type Versioned = { readonly version: number }

/** kept: the place already holds this version · overtaken: it holds a later version, or not the expected one; nothing has changed */
export type Written = { kind: 'written' | 'kept' | 'overtaken' /** that the place holds now */; version: number }

export type Place<R extends Versioned> = {
  /** undefined: the place holds no record. A place without this function holds only data derived from the record. */
  read?(): Promise<R | undefined>
  /** @param expected  the version from which the record was made; absent: any earlier one */
  write(record: R, expected?: number): Promise<Written>
}

export const later = <R extends Versioned>(one: R, other: R): R => (other.version > one.version ? other : one)

/**
 * Writes the next record into the first place that answers, where it is compared with the present one, and then into the others.
 * @param known   the latest record that this process has seen, or one of version 0
 * @param edit    throws when the change is not possible: then nothing is changed
 * @returns       the record, and how many places did not answer; undefined when another change came first
 * @throws        LedgerUnavailableError when no place answers
 */
export async function writeNext<R extends Versioned>(
  places: readonly Place<R>[],
  known: R,
  edit: (record: R) => R,
): Promise<{ record: R; unreached: number } | undefined> {
  const found = await Promise.allSettled(places.map(async (place) => place.read?.()))
  const records = found.flatMap((one) => (one.status === 'fulfilled' && one.value !== undefined ? [one.value] : []))
  const base = records.reduce(later, known)
  const at = found.findIndex(({ status }) => status === 'fulfilled')
  const [first, there] = [places[at], found[at]]
  if (first === undefined || there?.status !== 'fulfilled')
    throw new LedgerUnavailableError('record', (found[0] as PromiseRejectedResult | undefined)?.reason)
  const next = edit(base)
  if ((there.value?.version ?? 0) < base.version) await first.write(base)
  if ((await first.write(next, base.version)).kind !== 'written') return undefined
  const others = await Promise.allSettled(places.filter((one) => one !== first).map((one) => one.write(next)))
  return { record: next, unreached: others.filter(({ status }) => status === 'rejected').length }
}

/** Number of tries, when several operators change a record at the same time. */
const TRIES = 20
/** How long to retry while no place accepts a change: a place whose clock is in doubt accepts it within two seconds. */
const PATIENCE_MS = 5_000
const AGAIN_MS = 250

/**
 * The same, with retries while others also change the record.
 * @param overtaken  the error when the retries are used up
 */
export async function change<R extends Versioned>(
  clock: Clock,
  places: readonly Place<R>[],
  known: () => R,
  edit: (record: R) => R,
  overtaken: () => Error,
): Promise<{ record: R; unreached: number }> {
  const until = clock.monotonic() + PATIENCE_MS
  for (let tries = 0; ;) {
    try {
      const written = await writeNext(places, known(), edit)
      if (written !== undefined) return written
      if (++tries === TRIES) throw overtaken()
    } catch (error) {
      if (!(error instanceof LedgerUnavailableError) || clock.monotonic() > until) throw error
      await clock.sleep(AGAIN_MS)
    }
  }
}
