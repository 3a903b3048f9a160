/** confirm: whether requests whose connections took long may still be sent. */
import { type Arg, CONFIRM_ITEM } from '../calls.ts'
import { LedgerUnavailableError } from '../errors.ts'
import { laneName } from '../layout.ts'
import type { Scripts } from '../scripts.ts'
import type { Confirmation, LeasedLane } from '../types.ts'

/**
 * When connecting is slow, because this machine or the network is overloaded, all requests under way need confirmation. A call for each
 * would make connecting slower still, so the confirmations of one turn of the event loop share a call.
 * @param requests  for each request the lanes that it holds, all of one partition
 * @returns for each request 'granted' when all of its lanes are, otherwise why the first one is not; 'stale' for a request without lanes
 * @throws  LedgerUnavailableError, also when the number of answers differs from that of the lanes: the answers cannot be assigned
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

/** Leases in the form that the scripts read. */
export const leasedItems = ({ agent, origin, fence, version }: LeasedLane): Arg[] =>
  CONFIRM_ITEM.write({ lane: laneName(agent, origin), fence, version: version ?? '' })
