import { openTurns } from '@decorum/sending/testing'
import { expect, test } from 'vitest'

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('so many at a time, in the order of their coming, however each of them ends', async () => {
  const inTurn = openTurns(2)
  const began: number[] = []
  const gates = Array.from({ length: 5 }, () => Promise.withResolvers<number>())
  const results = gates.map(({ promise }, n) =>
    inTurn(() => {
      began.push(n)
      return promise
    }).catch((error: Error) => error.message),
  )
  await tick()
  expect(began).toEqual([0, 1])
  gates[1]?.reject(new Error('broken'))
  await tick()
  expect(began).toEqual([0, 1, 2])
  for (const [n, { resolve }] of gates.entries()) resolve(n)
  expect(await Promise.all(results)).toEqual([0, 'broken', 2, 3, 4])
  expect(began).toEqual([0, 1, 2, 3, 4])
})

test('who gives up while waiting is gone at once, and its place goes to the next; who has started is not torn away', async () => {
  const inTurn = openTurns(1)
  const gate = Promise.withResolvers<string>()
  const began: string[] = []
  const [first, second, early] = [new AbortController(), new AbortController(), AbortSignal.abort(new Error('before'))]
  const holding = inTurn(() => gate.promise, first.signal)
  const givenUp = inTurn(async () => void began.push('given up'), second.signal)
  const last = inTurn(async () => void began.push('last'))
  await expect(inTurn(async () => void began.push('early'), early)).rejects.toThrow('before')
  second.abort(new Error('no more'))
  await expect(givenUp).rejects.toThrow('no more')
  first.abort()
  gate.resolve('done')
  expect(await holding).toBe('done')
  await last
  expect(began).toEqual(['last'])
})

test('a turn that is given up in the very tick in which it comes is passed on', async () => {
  const inTurn = openTurns(1)
  const gate = Promise.withResolvers<void>()
  const between = new AbortController()
  const holding = inTurn(async () => {
    await gate.promise
    queueMicrotask(() => between.abort(new Error('between')))
  })
  const unlucky = inTurn(async () => 'not reached', between.signal)
  const next = inTurn(async () => 'reached')
  gate.resolve()
  await holding
  await Promise.allSettled([unlucky])
  expect(await next).toBe('reached')
})
