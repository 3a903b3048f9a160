/** When callers in line have the ledger asked again. */

import { systemClock } from '@decorum/protocol'
import { Lines } from '@decorum/sending/granting/testing'
import { afterEach, expect, test, vi } from 'vitest'

type Options = ConstructorParameters<typeof Lines>[0]
type Wish = Parameters<Options['attempt']>[0]
type Wait = Extract<Awaited<ReturnType<Options['attempt']>>, { kind: 'wait' }>

const wish = {
  agent: { key: 'bot', minDelayMs: 1_000 },
  origin: 'http://site.test',
  path: '/',
  url: 'http://site.test/',
  by: { name: '' },
  index: 0,
} as Wish

afterEach(() => void vi.useRealTimers())

/** @returns the instants at which a lane was asked for that answers so each time, ms from the first one */
async function asked(answers: (n: number) => Omit<Wait, 'kind'>, forMs: number): Promise<number[]> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] })
  const at: number[] = []
  const start = performance.now()
  const lines = new Lines({
    clock: systemClock,
    attempt: async () => {
      at.push(performance.now() - start)
      return { kind: 'wait', ...answers(at.length) }
    },
    mostWaiting: 10,
    release: async () => undefined,
    refusedAlready: () => undefined,
  })
  const answer = lines.request([wish], 1_000, forMs, { isGone: false })
  await vi.advanceTimersByTimeAsync(forMs)
  expect(await answer).toMatchObject({ kind: 'wait' })
  return at
}

test('a lane that is said to be free in 1 ms again and again is not asked for that often', async () => {
  const at = await asked(() => ({ waitMs: 1, gate: 'lane-busy' }), 1_000)
  expect(at.length).toBeLessThanOrEqual(1_000 / 14 + 1)
})

test('rules are looked for less and less often, also when their lane is busy in between', async () => {
  const gates = ['robots-in-flight', 'lane-busy', 'robots-in-flight'] as const
  const at = await asked((n) => ({ waitMs: 1, gate: gates[n % 3] ?? 'robots-in-flight' }), 5_000)
  expect(at.length).toBeLessThanOrEqual(45)
})

test('an instant is waited for exactly, however soon it is', async () => {
  const at = await asked((n) => ({ waitMs: n === 1 ? 10 : 60_000, gate: 'delay' }), 1_000)
  expect(at).toEqual([0, 4]) // asked 6 ms ahead: the ledger grants a little ahead
})

test.each(['stopped', 'paused', 'visiting-hours', 'budget', 'robots-unreachable'] as const)(
  '%s may open before its time: it is looked at every two seconds',
  async (gate) => {
    const at = await asked(() => ({ waitMs: 3_600_000, gate }), 7_000)
    expect(at).toHaveLength(4)
  },
)

test('a caller that is away keeps its place, is passed over meanwhile, and is served when it is back', async () => {
  const served: string[] = []
  let isDue = false
  const lines = new Lines({
    clock: systemClock,
    mostWaiting: 10,
    attempt: async ({ url }) => {
      if (!isDue) return { kind: 'wait', waitMs: 5, gate: 'delay' }
      served.push(url)
      return { kind: 'granted', turn: { leases: { own: { delayMs: 0 } } } } as Awaited<ReturnType<Options['attempt']>>
    },
    release: async () => undefined,
    refusedAlready: () => undefined,
  })
  const first: Parameters<Lines['request']>[3] = { isGone: false }
  const waits = lines.request([{ ...wish, url: 'first' }], 1_000, 60_000, first)
  const others = ['second', 'third'].map((url) => lines.request([{ ...wish, url }], 1_000, 60_000, { isGone: false }))
  first.isAway = true
  isDue = true
  await Promise.all(others)
  expect(served).toEqual(['second', 'third'])
  expect(lines.waiting).toBe(1)
  first.isAway = false
  first.onBack?.()
  await waits
  expect(served.at(-1)).toBe('first')
  expect(lines.waiting).toBe(0)
})
