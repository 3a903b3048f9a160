/** Places in line of clients that have hung up. */
import { EventEmitter } from 'node:events'
import { systemClock } from '@decorum/protocol'
import { Places } from '@decorum/proxy/testing'
import { type Caller, GoneError } from '@decorum/sending/granting'
import { afterEach, expect, test, vi } from 'vitest'

afterEach(() => void vi.useRealTimers())

class Client extends EventEmitter {
  closed = false
  hangUp(): void {
    this.closed = true
    this.emit('close')
  }
}
type Answer = Awaited<ReturnType<Parameters<Places['wait']>[2]>>
const answer = (waitMs: number): Answer => ({ kind: 'wait', waitMs }) as Answer

/** Questions as they are put, each with what answers it. */
function line() {
  const asked: { caller: Caller; resolve: (one: Answer) => void }[] = []
  const ask = (caller: Caller): Promise<Answer> => {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    caller.onGone = () => reject(new GoneError())
    asked.push({ caller, resolve })
    return promise
  }
  return { asked, ask }
}

test('the same request of the same client comes back to its place, and another one does not', async () => {
  vi.useFakeTimers()
  const places = new Places(systemClock)
  const { asked, ask } = line()
  const [first, other, again] = [new Client(), new Client(), new Client()]
  const lost = places.wait('a', first, ask)
  lost.catch(() => undefined)
  first.hangUp()
  await expect(lost).rejects.toThrow(GoneError)
  expect(asked[0]?.caller).toMatchObject({ isAway: true, isGone: false })
  void places.wait('b', other, ask)
  expect(asked).toHaveLength(2)
  const found = places.wait('a', again, ask)
  expect(asked).toHaveLength(2)
  expect(asked[0]?.caller.isAway).toBe(false)
  asked[0]?.resolve(answer(7))
  expect(await found).toMatchObject({ waitMs: 7 })
})

test('a place is kept for ten seconds, and nothing is left of it then', async () => {
  vi.useFakeTimers()
  const places = new Places(systemClock)
  const { asked, ask } = line()
  const client = new Client()
  const lost = places.wait('a', client, ask)
  lost.catch(() => undefined)
  client.hangUp()
  await vi.advanceTimersByTimeAsync(9_900)
  expect(asked[0]?.caller.isGone).toBe(false)
  await vi.advanceTimersByTimeAsync(200)
  expect(asked[0]?.caller.isGone).toBe(true)
  void places.wait('a', new Client(), ask)
  expect(asked).toHaveLength(2)
})

test('when the process ends nobody waits any more', async () => {
  vi.useFakeTimers()
  const places = new Places(systemClock)
  const { ask } = line()
  const waiting = places.wait('a', new Client(), ask)
  places.close()
  await expect(waiting).rejects.toThrow(GoneError)
  await expect(places.wait('b', new Client(), ask)).rejects.toThrow(GoneError)
  expect(vi.getTimerCount()).toBe(0)
})
