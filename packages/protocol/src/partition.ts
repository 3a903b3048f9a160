/**
 * Slices of all hosts, each with its own hash tag. All data about a host is in one partition, so a script touches one slot of a Redis
 * Cluster. Tags are chosen so that their slots are spread evenly, for any number: `{p0}…{p5}` would put four of six on one of three masters
 * (measured: docs/decisions/0008-what-a-url-costs.md).
 */
import { hash } from 'node:crypto'

const SLOTS = 16_384
/** With more partitions, each would have fewer than 16 hash slots. */
export const MAX_PARTITIONS = 1_024

/** Redis's key slot: CRC16 (XMODEM) of the tag, modulo 16384 (Redis Cluster specification, "Key distribution model"). */
export function slotOf(tag: string): number {
  let crc = 0
  for (let i = 0; i < tag.length; i++) {
    crc ^= tag.charCodeAt(i) << 8
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : (crc << 1) & 0xffff
  }
  return crc % SLOTS
}

/** The tag of partition 0, for any number of partitions. */
const FIRST = '{decorum:0}'
/** Largest distance of a tag's slot from its place in the ring, in slots: one of about a thousand names is that near. */
const TOLERANCE = 8

/**
 * The hash tags, braces included, of `count` partitions, in order. Partition 0 is always `{decorum:0}`.
 * @param there  tags in use: those near a place of the new number are kept, in their order and before new ones
 */
export function partitionTags(count: number, there: readonly string[] = [FIRST]): string[] {
  const first = slotOf(bare(FIRST))
  const places = Array.from({ length: count }, (_, index) => (first + (index * SLOTS) / count) % SLOTS)
  const tolerance = Math.max(1, Math.min(TOLERANCE, SLOTS / count / 8))
  const kept = there.filter((tag) => {
    const at = places.findIndex((place) => distance(slotOf(bare(tag)), place) <= tolerance)
    if (at >= 0) places.splice(at, 1)
    return at >= 0
  })
  return [...kept, ...places.map((place, n) => nearestTag(kept.length + n, place, tolerance))]
}

function nearestTag(index: number, place: number, tolerance: number): string {
  for (let salt = 0; ; salt++) {
    const name = salt === 0 ? `decorum:${index}` : `decorum:${index}-${salt}`
    if (distance(slotOf(name), place) <= tolerance) return `{${name}}`
  }
}

const bare = (tag: string): string => tag.slice(1, -1)

/**
 * The name of a partition in ids and marks: its tag without the part that all tags share. After a change of the number another partition
 * may have its index, but never its tag.
 */
export const tagName = (tag: string): string => bare(tag).replace(/^decorum:/, '')
/** The name of the first partition, for any number of partitions. */
export const FIRST_NAME = tagName(FIRST)

/** Distance on the ring, in slots. */
function distance(a: number, b: number): number {
  const away = Math.abs(a - b)
  return Math.min(away, SLOTS - away)
}

/** The partition that a host belongs to. */
export function partitionOf(host: string, count: number): number {
  if (count === 1) return 0
  return hash('sha1', host, 'buffer').readUInt32BE(0) % count
}
