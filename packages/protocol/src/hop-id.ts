/**
 * What a redirect's target is called: `a` leads to `a~1~<fence>`, that to `a~2~<fence>`. The fence of the exchange makes
 * the id unique, also when `a` is enqueued again; ids of this form are refused of frontiers, so that no target is ever
 * taken for a candidate of theirs.
 */
import { hash } from 'node:crypto'

const HOP = /~(\d{1,2})~[0-9a-z]{10,12}$/
/** Room for the longest suffix: `~10~` and twelve digits. */
const MAX_ROOT_CHARS = 128 - 16

export const isHopId = (id: string): boolean => HOP.test(id)

/**
 * @param id     of the candidate that was redirected
 * @param hops   how many redirects led to it
 * @param fence  of the exchange that was redirected
 */
export function hopId(id: string, hops: number, fence: number): string {
  const root = hops > 0 ? id.replace(HOP, '') : id
  const short = root.length <= MAX_ROOT_CHARS ? root : hash('sha256', root, 'hex')
  return `${short}~${hops + 1}~${fence.toString(36).padStart(10, '0')}`
}
