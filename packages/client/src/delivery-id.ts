/**
 * The id of a delivery outside the process that read it: its entry, and the partition whose stream holds the entry. The crawl and the
 * group are not part of it; an acknowledgement names both.
 */
import { tagName } from '@decorum/protocol'

/** @param stream  the key of the stream, which begins with the partition's tag */
export const deliveryId = (stream: string, entry: string): string =>
  `${entry}@${tagName(stream.slice(0, stream.indexOf('}') + 1))}`

/** @returns undefined when no delivery has such an id */
export function readDeliveryId(id: string): { tag: string; entry: string } | undefined {
  const match = /^(\d{1,20}-\d{1,20})@(\d{1,4}(?:-\d{1,9})?)$/.exec(id)
  return match === null ? undefined : { entry: match[1] ?? '', tag: `{decorum:${match[2]}}` }
}
