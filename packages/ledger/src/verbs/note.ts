/** note: writes what happened lately, for an operator to see. */
import { NOTE_ITEM } from '../calls.ts'
import type { Scripts } from '../scripts.ts'

/** `reason`: whose example it is, such as `failed/timeout`; '' of none. `backOff`: the note is of the back-off that followed. */
export type NoteItem = { origin: string; reason: string; text: string; backOff: boolean }

/** How often what is counted with the notes has happened, by name: `status/404`, `ms/200` (notes.ts). */
export type Tallies = Record<string, number>

export async function note(scripts: Scripts, items: NoteItem[], tallies: Tallies): Promise<void> {
  const written = items.flatMap(({ backOff, ...item }) => NOTE_ITEM.write({ ...item, backOff: backOff ? '1' : '' }))
  await scripts.call('note', { tallies: JSON.stringify(tallies) }, written)
}
