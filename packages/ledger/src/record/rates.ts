/** Reads which version of the fleet's configuration the partitions have taken over. */
import { systemClock } from '@decorum/protocol'
import { EPOCH, keysOf } from '../layout.ts'
import type { RedisLink } from '../link.ts'
import { withDeadline } from '../scripts.ts'
import { readTags } from './tags.ts'

const deadline = { clock: systemClock, ms: 2_000 }

/** The latest version in any partition that answers; 0: none has one. */
export async function ratesVersion(redis: RedisLink): Promise<number> {
  const { tags } = await withDeadline(readTags(redis), deadline, 'config')
  const texts = await Promise.allSettled(
    tags.map((tag) => withDeadline(redis.hget(keysOf(tag).epoch, EPOCH.leastDelays), deadline, 'config')),
  )
  return texts.reduce((most, one) => {
    const text = one.status === 'fulfilled' ? one.value : null
    return Math.max(most, Number.parseInt(text ?? '0', 10))
  }, 0)
}
