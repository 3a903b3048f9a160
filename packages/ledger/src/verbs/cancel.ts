/** cancel: ends pending URLs of one list of a lane, each with its outcome. */
import { CANCEL_ITEM } from '../calls.ts'
import { type List, laneName } from '../layout.ts'
import type { Scripts } from '../scripts.ts'
import type { Cancelled, LaneRef, Outcome } from '../types.ts'
import { leavingOf } from './leaving.ts'

/** @param urls  as the list holds them, at most 100 */
export async function cancel(
  scripts: Scripts,
  { agent, origin, list }: LaneRef & { list: List },
  urls: readonly { entry: string; outcome: Outcome }[],
): Promise<Cancelled[]> {
  if (urls.length === 0) return []
  const items = urls.flatMap(({ entry, outcome }) => CANCEL_ITEM.write({ url: entry, ...leavingOf(outcome) }))
  const { values } = await scripts.call('cancel', { lane: laneName(agent, origin), list }, items)
  return values as Cancelled[]
}
