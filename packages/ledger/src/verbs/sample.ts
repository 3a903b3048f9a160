/** sample: how the partition is at this moment, into the ring of the last hours. */
import type { Scripts } from '../scripts.ts'

/** As lua/verbs/sample.lua writes it. `counts`: since the beginning, as in PartitionView. */
export type Sample = {
  /** ms since 1970 UTC */
  at: number
  due: number
  lanes: number
  inFlight: number
  unread: number
  /** how late the oldest due lane was, ms */
  lagMs: number
  /** jobs of candidates that no gateway had taken in */
  jobs: number
  counts: Record<string, number>
}

/** @returns whether this call took one: there is one per half minute, however many processes ask */
export async function sample(scripts: Scripts): Promise<boolean> {
  const { values } = await scripts.call('sample', {})
  return values[0] === 'sampled'
}
