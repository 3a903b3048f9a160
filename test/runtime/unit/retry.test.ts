/** Retries and deadlines, as every service uses them. */

import { randomBytes } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import { systemClock } from '@decorum/protocol'
import { within } from '@decorum/protocol/within'
import { closeWithin, retry } from '@decorum/runtime'
import { expect, test, vi } from 'vitest'

const failing = (times: number) => {
  let calls = 0
  return async () => {
    if (++calls <= times) throw new Error(`failure ${calls}`)
    return calls
  }
}

test('retry: work is repeated until it succeeds, and each failure is told with its number', async () => {
  const told: [string, number][] = []
  const result = await retry(
    systemClock,
    failing(2),
    0,
    (error, failures) => told.push([(error as Error).message, failures]) > 0,
  )
  expect(result).toBe(3)
  expect(told).toEqual([
    ['failure 1', 1],
    ['failure 2', 2],
  ])
})

test('retry: giving up is undefined, and an error thrown by the judge of failures is passed on', async () => {
  expect(await retry(systemClock, failing(9), 0, (_, failures) => failures < 3)).toBeUndefined()
  const fault = new TypeError('a fault')
  const isFault = (): boolean => {
    throw fault
  }
  await expect(retry(systemClock, failing(1), 0, isFault)).rejects.toBe(fault)
})

test('within: the result or error of work that ends in time; the given error for work that does not', async () => {
  const late = () => new Error('late')
  expect(await within(systemClock, Promise.resolve(1), 60_000, late)).toBe(1)
  await expect(within(systemClock, Promise.reject(new Error('its own')), 60_000, late)).rejects.toThrow('its own')
  await expect(within(systemClock, new Promise(() => {}), 1, late)).rejects.toThrow('late')
})

test('within: an answer that came while this process stood still counts, and is not called late', async () => {
  const late = vi.fn<() => Error>(() => new Error('late'))
  await setImmediate() // from here, timers are the next that the event loop looks at
  const answer = within(systemClock, promisify(randomBytes)(8), 20, late) // another thread answers
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100)
  expect(await answer).toHaveLength(8)
  await setImmediate()
  expect(late).not.toHaveBeenCalled()
})

test('closeWithin: work that fails or never ends does not keep a service from stopping', async () => {
  await closeWithin(systemClock, [Promise.reject(new Error('gone'))], 60_000)
  await closeWithin(systemClock, [new Promise(() => {})], 1)
})
