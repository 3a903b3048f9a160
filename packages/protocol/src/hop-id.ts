/**
 * The id of a redirect's target: `a` leads to `a~1~<fence>`, that to `a~2~<fence>`. The fence of the exchange makes the id unique, even
 * when `a` is enqueued again. A frontier may enqueue such a target again, with its id and its `hops`; any other candidate with an id of
 * this form is refused, so that no target is ever taken for a frontier's own candidate.
 */
import { hash } from 'node:crypto'

/** An example of the suffix of such an id, for texts that people read. */
export const HOP_EXAMPLE = '~1~0000abcdef'
const HOP = /~(\d{1,2})~[0-9a-z]{10,12}$/
/** Room for the longest suffix: `~10~` and twelve digits. */
const MAX_ROOT_CHARS = 128 - 16

/** How many redirects led to the candidate of this id; undefined when it is not the id of a redirect's target. */
export function hopsOf(id: string): number | undefined {
  const number = HOP.exec(id)?.[1]
  return number === undefined ? undefined : Number(number)
}

/**
 * @param id     id of the redirected candidate
 * @param hops   number of redirects that led to it
 * @param fence  fence of the redirected exchange
 */
export function hopId(id: string, hops: number, fence: number): string {
  const root = hops > 0 ? id.replace(HOP, '') : id
  const short = root.length <= MAX_ROOT_CHARS ? root : hash('sha256', root, 'hex')
  return `${short}~${hops + 1}~${fence.toString(36).padStart(10, '0')}`
}
