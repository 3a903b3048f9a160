/** sample: adds the present state of the partition to the ring of the last hours. */
import type { Scripts } from '../scripts.ts'

/** @returns whether this call took a sample: there is one per half minute, however many processes call */
export async function sample(scripts: Scripts): Promise<boolean> {
  const { values } = await scripts.call('sample', {})
  return values[0] === 'sampled'
}
