/** sample: how the partition is at this moment, into the ring of the last hours. */
import type { Scripts } from '../scripts.ts'

/** @returns whether this call took one: there is one per half minute, however many processes ask */
export async function sample(scripts: Scripts): Promise<boolean> {
  const { values } = await scripts.call('sample', {})
  return values[0] === 'sampled'
}
