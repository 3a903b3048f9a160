/** note: writes recent events, for operators. */
import { NOTE_ITEM } from '../calls.ts'
import type { Scripts } from '../scripts.ts'

/**
 * `reason`: the reason for which the note is an example, such as `failed/timeout`, or ''. `backOff`: the note is about the back-off that
 * followed.
 */
export type NoteItem = { origin: string; reason: string; text: string; backOff: boolean }

/** Counts of events that are reported with the notes, by name: `status/404`, `ms/200` (notes.ts). */
export type Tallies = Record<string, number>

export async function note(scripts: Scripts, items: NoteItem[], tallies: Tallies): Promise<void> {
  const written = items.flatMap(({ backOff, ...item }) => NOTE_ITEM.write({ ...item, backOff: backOff ? '1' : '' }))
  await scripts.call('note', { tallies: JSON.stringify(tallies) }, written)
}
