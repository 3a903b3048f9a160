/** stops: replaces the emergency stops of a partition in one step, unless it has a later version. */
import { STOP_ITEM } from '../calls.ts'
import { STOPS } from '../layout.ts'
import type { Written } from '../record/place.ts'
import type { Scripts } from '../scripts.ts'
import { EVERYTHING, type Stop, type StopRecord, stopsInForce } from '../stops/record.ts'

/** @param expected  the version from which the record was made; undefined: any earlier one */
export async function stops(
  scripts: Scripts,
  record: StopRecord,
  now: number,
  expected: number | undefined,
): Promise<Written> {
  const ends = endsOf(stopsInForce(record, now))
  const everything = ends.get(EVERYTHING) ?? '0'
  ends.delete(EVERYTHING)
  const items = [...ends].flatMap(([name, till]) => STOP_ITEM.write({ name, till }))
  const args = { expected: expected ?? '', version: record.version, everything, record: JSON.stringify(record) }
  const { values } = await scripts.call('stops', args, items)
  return { kind: values[0] as Written['kind'], version: Number(values[1]) }
}

/** When the stop of each name ends: the latest of several stops counts. */
function endsOf(inForce: Stop[]): Map<string, string> {
  const ends = new Map<string, number>()
  for (const { name, until = Number.POSITIVE_INFINITY } of inForce) ends.set(name, Math.max(ends.get(name) ?? 0, until))
  return new Map([...ends].map(([name, till]) => [name, Number.isFinite(till) ? String(till) : STOPS.never]))
}
