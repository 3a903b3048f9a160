/** A trouble stands in the log once, however often something fails by it. */

import { EventEmitter } from 'node:events'
import { systemClock } from '@decorum/protocol'
import { keepDoing, logOutages, outages } from '@decorum/runtime'
import type { Redis } from 'ioredis'
import type { Logger } from 'pino'
import { expect, test } from 'vitest'

function logbook() {
  const lines: string[] = []
  const written = new EventEmitter()
  const write = (...said: unknown[]) => {
    lines.push(String(said.at(-1)))
    written.emit('line')
  }
  return { lines, written, log: { warn: write, info: write, fatal: write } as unknown as Logger }
}

test('failures in a row are one outage; one after half a minute without is another', () => {
  let now = 0
  const begins = outages({ ...systemClock, monotonic: () => now }, 30_000)
  const said: number[] = []
  for (const at of [0, 1_000, 20_000, 49_000, 79_000, 110_000, 110_001]) {
    now = at
    if (begins()) said.push(at)
  }
  expect(said).toEqual([0, 110_000])
})

test('work that fails now and then during an outage, with ticks between that have nothing to do, is one line', async () => {
  const { lines, log } = logbook()
  const { promise, resolve } = Promise.withResolvers<void>()
  const stop = keepDoing(
    systemClock,
    async (time) => {
      if (time === 20) resolve()
      if (time % 5 === 0) throw new Error('Redis is away')
    },
    0,
    log,
  )
  await promise
  await stop()
  expect(lines).toEqual(['housekeeping waits'])
})

test('a connection that tries again and again is one line, and one when it is back', () => {
  const { lines, log } = logbook()
  const link = logOutages(new EventEmitter() as unknown as Redis, log)
  for (let n = 0; n < 10; n++) link.emit('error', new Error('connect ECONNREFUSED 127.0.0.1:1'))
  link.emit('ready')
  expect(lines).toEqual(['Redis is away: nothing new is sent until it answers', 'Redis is back'])
})
