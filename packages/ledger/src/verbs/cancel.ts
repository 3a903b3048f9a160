/** cancel: ends one pending URL, with its outcome. */
import { laneName } from '../layout.ts'
import type { Scripts } from '../scripts.ts'
import type { Cancelled, Outcome, PendingUrl } from '../types.ts'
import { leaving } from './leaving.ts'

export async function cancel(
  scripts: Scripts,
  { agent, origin, list, entry }: PendingUrl,
  outcome: Outcome,
): Promise<Cancelled> {
  const { values } = await scripts.call('cancel', { lane: laneName(agent, origin), list, url: entry }, leaving(outcome))
  return values[0] as Cancelled
}
