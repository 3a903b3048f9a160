/** restore: repeats ends of exchanges that were already reported. */
import { RESTORE_ITEM } from '../calls.ts'
import type { Scripts } from '../scripts.ts'
import type { VerbSettings } from '../settings.ts'

/** `endedAt`: an instant of the ledger; `delayMs`: the least delay that the lane owes; `load`: as `complete` writes it */
export type Closing = { lane: string; endedAt: number; delayMs: number; load: string }

export async function restore(
  scripts: Scripts,
  { backOffMs, backOffMaxMs, backOffQuietMs }: VerbSettings,
  closings: readonly Closing[],
): Promise<void> {
  const items = closings.flatMap((one) => RESTORE_ITEM.write({ ...one, endedAt: one.endedAt.toFixed(3) }))
  await scripts.call('restore', { backOffMs, backOffMaxMs, backOffQuietMs }, items)
}
