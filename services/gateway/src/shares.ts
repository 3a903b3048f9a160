/** Several partitions share the fetch slots of one fleet: what each may have out, so that the orders queues stay shallow together. */

/**
 * All that the others do not use, but never less than an equal share: a partition that wakes up need not wait for them.
 * @param most      orders and requests that the fleet should have out at once
 * @param inFlight  what each partition has out, as last heard of
 */
export function shareOf(most: number, partition: number, inFlight: readonly number[]): number {
  const others = inFlight.reduce((sum, n, at) => (at === partition ? sum : sum + n), 0)
  return Math.max(Math.ceil(most / inFlight.length), most - others)
}
