/** Slices of all hosts: tags, slots and where a host belongs. */

import { partitionOf, partitionTags, queueOptions, slotOf } from '@decorum/protocol'
import { expect, test } from 'vitest'

test('slots are those of Redis Cluster (specification: "123456789" → 0x31C3)', () => {
  expect(slotOf('123456789')).toBe(0x31c3)
  expect(slotOf('')).toBe(0)
  expect(slotOf('foo')).toBe(12_182) // redis-cli cluster keyslot foo
})

test('partition 0 is always {decorum:0}, and tags are what they were for the same number', () => {
  for (const count of [1, 2, 6, 16]) {
    const tags = partitionTags(count)
    expect(tags[0]).toBe('{decorum:0}')
    expect(tags).toEqual(partitionTags(count))
    expect(new Set(tags).size).toBe(count)
    for (const tag of tags) expect(tag).toMatch(/^\{decorum:\d+(-\d+)?\}$/)
  }
})

/** Slots of three masters as `redis-cli --cluster create` splits them. */
const masterOf = (tag: string): number => [5_460, 10_922, 16_383].findIndex((last) => slotOf(tag.slice(1, -1)) <= last)

test.each([3, 6, 12, 24])('%i partitions: each of three masters has as many', (count) => {
  const masters = [0, 0, 0]
  for (const tag of partitionTags(count)) masters[masterOf(tag)]!++
  expect(masters).toEqual([count / 3, count / 3, count / 3])
})

test.each([2, 4, 5, 16, 64])('%i partitions: no master of three has two more than another', (count) => {
  const masters = [0, 0, 0]
  for (const tag of partitionTags(count)) masters[masterOf(tag)]!++
  expect(Math.max(...masters) - Math.min(...masters)).toBeLessThanOrEqual(1)
})

test('a host belongs to one partition, whatever its scheme or port; hosts spread evenly', () => {
  const counts = [0, 0, 0, 0]
  for (let i = 0; i < 20_000; i++) {
    const partition = partitionOf(`s${i}.test`, 4)
    counts[partition] = (counts[partition] ?? 0) + 1
  }
  for (const count of counts) expect(Math.abs(count - 5_000)).toBeLessThan(300)
  expect(partitionOf('a.test', 1)).toBe(0)
})

test('where a host belongs never changes (the first 32 bits of its SHA-1): its state in Redis lies there', () => {
  expect(['a.test', 'b.test', '[::1]', '127.0.0.1'].map((host) => partitionOf(host, 16))).toEqual([13, 12, 5, 11])
})

test('a queue lives in the slot of its partition: the prefix is the tag with its braces', () => {
  expect(queueOptions('{decorum:0}')).toEqual({ prefix: '{decorum:0}' })
})
