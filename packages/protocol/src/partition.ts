/**
 * Slices of all hosts, each with its own hash tag. Everything about a host lives in one partition, so a script
 * touches one slot of a Redis Cluster. Tags are chosen so that slots lie evenly round the ring, whatever the
 * number: `{p0}…{p5}` would put four of six on one of three masters (measured: queue-lab §5).
 */
import { hash } from 'node:crypto'

const SLOTS = 16_384

/** Redis's key slot: CRC16 (XMODEM) of the tag, modulo 16384 (Redis Cluster specification, "Key distribution model"). */
export function slotOf(tag: string): number {
  let crc = 0
  for (let i = 0; i < tag.length; i++) {
    crc ^= tag.charCodeAt(i) << 8
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : (crc << 1) & 0xffff
  }
  return crc % SLOTS
}

/** The hash tags, braces included, of `count` partitions, in order. Partition 0 is always `{decorum:0}`. */
export function partitionTags(count: number): string[] {
  const first = slotOf('decorum:0')
  const tags = ['{decorum:0}']
  for (let index = 1; index < count; index++) {
    const wanted = (first + (index * SLOTS) / count) % SLOTS
    tags.push(`{${nearestTag(index, wanted, SLOTS / count / 8)}}`)
  }
  return tags
}

function nearestTag(index: number, wanted: number, tolerance: number): string {
  for (let salt = 0; ; salt++) {
    const tag = salt === 0 ? `decorum:${index}` : `decorum:${index}-${salt}`
    const away = Math.abs(slotOf(tag) - wanted)
    if (Math.min(away, SLOTS - away) <= Math.max(tolerance, 1)) return tag
  }
}

/** The partition that a host belongs to. */
export function partitionOf(host: string, count: number): number {
  if (count === 1) return 0
  return hash('sha1', host, 'buffer').readUInt32BE(0) % count
}
