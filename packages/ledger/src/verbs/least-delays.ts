/** least-delays: the least delay of each agent, as a version of the fleet's configuration has it. */
import { LEAST_DELAY_ITEM } from '../calls.ts'
import type { Scripts } from '../scripts.ts'

export type LeastDelay = { agent: string; delayMs: number }

/** @returns the version in force, which is a later one where that is known already; nothing has changed then */
export async function leastDelays(scripts: Scripts, version: number, list: readonly LeastDelay[]): Promise<number> {
  const { values } = await scripts.call('least-delays', { version }, list.flatMap(LEAST_DELAY_ITEM.write))
  return Number(values[0])
}
