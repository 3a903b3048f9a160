import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openArchive } from '@decorum/fetcher/testing'
import { afterAll, describe, expect, test } from 'vitest'
import { BEHAVIOURS, CAP, DEADLINE, endsByDeadline, LONG_DEADLINE } from '../../fetcher/support/behaviours.ts'
import { leaseOf, page, pageOrder } from '../../fetcher/support/orders.ts'
import { agentsOf, polite, testConnections } from '../../fetcher/support/tools.ts'

async function sites(which: string): Promise<Record<string, number>> {
  const child = fork(new URL('../../fetcher/support/hostile-origins.ts', import.meta.url).pathname, [which])
  const [ports] = (await once(child, 'message')) as [Record<string, number>]
  afterAll(async () => {
    const gone = once(child, 'exit')
    child.disconnect()
    await gone
  })
  return ports
}
const ports = { ...(await sites('hostile')), ...(await sites('good')) }
const connections = testConnections()
const visit = async (name: string, over: Parameters<typeof page>[2] = {}) => {
  const start = performance.now()
  const order = pageOrder(`http://127.0.0.1:${ports[name]}`, '/page', { attempt: 5 })
  const behaviour = BEHAVIOURS[name]
  const deadlineMs = behaviour !== undefined && endsByDeadline(behaviour) ? DEADLINE : LONG_DEADLINE
  const result = await page(connections, order, { pageMaxBytes: CAP, lease: leaseOf(deadlineMs), ...over })
  return { ...result, ms: performance.now() - start }
}
/** Where it does not matter how they end, a second and a half of each is enough. */
const ROUND_MS = 1_500
const unhandled: unknown[] = []
process.on('unhandledRejection', (reason) => unhandled.push(reason))

const percentile = (values: number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.ceil((values.length * share) / 100) - 1] ?? 0

describe('each misbehaviour has its outcome, within cap and deadline', () => {
  test.concurrent.each(Object.keys(BEHAVIOURS))('%s', async (name) => {
    const { outcome } = await visit(name)
    const expected = BEHAVIOURS[name]?.expect
    if (expected?.kind === 'failed')
      expect(outcome).toMatchObject({ kind: 'failed', reason: expect.toBeOneOf([expected.reason, expected.late]) })
    else expect(outcome).toMatchObject(expected ?? {})
    if (outcome?.kind === 'fetched') {
      expect(outcome.bytes).toBeLessThanOrEqual(CAP)
      expect(outcome.truncated).toBe((expected?.kind === 'fetched' && expected.truncated) || '')
      if (expected?.kind === 'fetched' && expected.truncated !== 'length')
        expect(outcome.tolerated ?? []).toEqual(expected.tolerated ?? [])
    }
  })
})

test('there are at least sixty of them', () => expect(Object.keys(BEHAVIOURS).length).toBeGreaterThanOrEqual(60))

test('what a site left on its connection is never taken for the next answer', async () => {
  for (const name of [
    'two answers to one request',
    'a body longer than its length',
    '204 with a body',
    '304 with a body',
  ]) {
    const before = await visit(name)
    const after = await visit(name)
    expect([name, after.outcome?.kind === 'fetched' && [after.outcome.status, after.outcome.bytes]]).toEqual([
      name,
      before.outcome?.kind === 'fetched' && [before.outcome.status, before.outcome.bytes],
    ])
  }
})

test('all of them at once: memory stays as it was, and other lanes go on', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'decorum-hostile-'))
  const sink = await openArchive(folder, agentsOf())
  const names = Object.keys(BEHAVIOURS)
  // Another agent is another lane with a connection of its own.
  const round = (key: string, count = names.length) =>
    names.slice(0, count).map((name) => visit(name, { sink, agent: { ...polite, key }, lease: leaseOf(ROUND_MS) }))
  await Promise.all(round('first')) // code is warm, buffers are there
  const good = async () => {
    const { outcome, ms } = await visit('good')
    expect(outcome).toMatchObject({ kind: 'fetched', bytes: 4 })
    await new Promise((resolve) => setTimeout(resolve, 10)) // a lane rests between its visits
    return ms
  }
  const alone: number[] = []
  while (alone.length < 25) alone.push(await good())
  globalThis.gc?.()
  const before = process.memoryUsage.rss()
  let peak = 0
  let over = false
  const waits: number[] = []
  // Turns of the loop by the processor time of this thread: what other processes of the machine take does not count.
  const turns: number[] = []
  let spent = process.threadCpuUsage()
  const sampler = setInterval(() => {
    const { user, system } = process.threadCpuUsage(spent)
    spent = process.threadCpuUsage()
    turns.push((user + system) / 1_000)
    peak = Math.max(peak, process.memoryUsage.rss())
  }, 5)
  const quiet = (async () => {
    while (!over) waits.push(await good())
  })()
  const results = []
  // Again, where a machine is so slow that a round ends before other lanes have shown that they go on
  while (waits.length <= 20)
    results.push(...(await Promise.all([...round('second'), ...round('third', Math.max(0, 100 - names.length))])))
  over = true
  await quiet
  clearInterval(sampler)
  await sink.close()
  await rm(folder, { recursive: true })
  const grown = (peak - before) / 1024 / 1024
  const busy = percentile(turns, 99)
  const [quietly, among] = [percentile(alone, 50), percentile(waits, 50)]
  console.log(
    `${results.length} at once: memory +${grown.toFixed(1)} MiB; turns of the loop p99 ${busy.toFixed(1)} ms; ` +
      `a good lane's visits ${quietly.toFixed(1)} ms alone, ${waits.length} among them ${among.toFixed(1)} ms, ` +
      `p99 ${percentile(waits, 99).toFixed(1)} ms`,
  )
  expect(results.length).toBeGreaterThanOrEqual(100)
  expect(grown).toBeLessThan(64)
})

test('nothing was left unhandled', () => expect(unhandled).toEqual([]))
