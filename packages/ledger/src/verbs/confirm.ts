/** confirm: may requests that took long to connect still be sent? */
import { type Arg, CONFIRM_ITEM } from '../calls.ts'
import { LedgerUnavailableError } from '../errors.ts'
import { laneName } from '../layout.ts'
import type { Scripts } from '../scripts.ts'
import type { Confirmation, LeasedLane } from '../types.ts'

/**
 * Where connecting is slow, because this machine or the network is full, all requests under way have to ask. A call for each of them
 * would make connecting slower still, so the confirmations of one turn of the event loop go in one call.
 * @param requests  of each the lanes that it holds, all of one partition
 * @returns of each 'granted' when all of its lanes are, otherwise why the first one is not; 'stale' for a request that holds no lane
 * @throws  LedgerUnavailableError, also when there is not one answer to each lane: which request it belongs to would be unknown
 */
export async function confirm(scripts: Scripts, requests: LeasedLane[][]): Promise<Confirmation[]> {
  const lanes = requests.flat()
  const items = lanes.flatMap(leasedItems)
  const { values } = await scripts.call('confirm', {}, items)
  if (values.length !== lanes.length)
    throw new LedgerUnavailableError('confirm', `${values.length} answers to ${lanes.length} lanes`)
  let at = 0
  return requests.map((held) => {
    const ofLanes = values.slice(at, at + held.length) as Confirmation[]
    at += held.length
    return ofLanes.find((answer) => answer !== 'granted') ?? ofLanes[0] ?? 'stale'
  })
}

/** Leases as the scripts take them whose callers hold them. */
export const leasedItems = ({ agent, origin, fence, version }: LeasedLane): Arg[] =>
  CONFIRM_ITEM.write({ lane: laneName(agent, origin), fence, version: version ?? '' })
