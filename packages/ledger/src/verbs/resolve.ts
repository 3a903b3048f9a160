/** resolve: decides leases under which no exchange took place, and writes outcomes of URLs that leave without one. */
import { RESOLUTION } from '../calls.ts'
import { laneName } from '../layout.ts'
import type { Scripts } from '../scripts.ts'
import type { CompleteResult, Resolution } from '../types.ts'
import { leaving } from './leaving.ts'

export async function resolve(scripts: Scripts, resolutions: Resolution[]): Promise<CompleteResult[]> {
  if (resolutions.length === 0) return []
  const items = resolutions.flatMap(({ agent, origin, fence, next, dropped }) => [
    ...RESOLUTION.write({
      lane: laneName(agent, origin),
      fence,
      next: next.kind,
      till: next.kind === 'defer' ? next.until.toFixed(3) : 0,
      gate: next.kind === 'defer' ? next.why : '',
      leaving: dropped.length,
    }),
    ...dropped.flatMap(leaving),
  ])
  const { values } = await scripts.call('resolve', {}, items)
  return values as CompleteResult[]
}
