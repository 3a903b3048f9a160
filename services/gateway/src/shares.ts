/** Divides the fetch slots of the fleet among the partitions, so that their order queues stay short in total. */

/**
 * The slots that the other partitions leave unused, and never less than an equal share, so that a partition with new work need not wait.
 * @param most      orders and requests that the fleet's fetchers should have in flight
 * @param inFlight  last known orders and requests in flight of each partition
 */
export function shareOf(most: number, partition: number, inFlight: readonly number[]): number {
  const others = inFlight.reduce((sum, n, at) => (at === partition ? sum : sum + n), 0)
  return Math.max(Math.ceil(most / inFlight.length), most - others)
}
