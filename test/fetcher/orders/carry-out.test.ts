/** One order from its slot to its end, against a ledger that answers as the test says. */
import type { Socket } from 'node:net'
import { UNKNOWN_AGENT_WAIT_MS } from '@decorum/config'
import { START_AHEAD_MS } from '@decorum/fetcher/testing'
import { LedgerUnavailableError, type StartAnswer } from '@decorum/ledger'
import type { ArchiveRef } from '@decorum/protocol'
import { expect, onTestFinished, test } from 'vitest'
import { onStoppedClock, whenDeadlinePasses } from '../support/clock.ts'
import { refusals, rig, slowLookUp, unavailable } from '../support/order-rig.ts'
import { NOW, pageOrder } from '../support/orders.ts'
import { answerOf, rawOrigin } from '../support/raw-origin.ts'
import { agentsOf, testConnections } from '../support/tools.ts'

test('an order whose lane is due much later than it said releases the lane and its slot', async () => {
  const { run, started, released, settled } = rig({ permits: [{ kind: 'early', waitMs: 8_000 }] })
  await run(pageOrder('http://127.0.0.1:1'))
  expect([started.length, settled.length]).toEqual([1, 0])
  expect(released).toMatchObject([{ next: { kind: 'release' } }])
})

test('an agent that this fetcher does not know: the lane is deferred at once, for a bounded while, with the reason', async () => {
  const { run, started, released, settled, problems, stats } = rig()
  const order = pageOrder('http://127.0.0.1:1', '/', { agent: 'new-bot', fence: 8 })
  await run(order)
  await run(order)
  expect([started, settled]).toEqual([[], []])
  const next = { kind: 'defer', until: NOW + UNKNOWN_AGENT_WAIT_MS, why: 'unknown-agent' }
  expect(released).toEqual(Array(2).fill({ agent: 'new-bot', origin: order.origin, fence: 8, dropped: [], next }))
  expect(await refusals(stats)).toEqual(['decorum_fetcher_refused_total{why="unknown-agent"} 2'])
  expect(problems, 'said once').toHaveLength(1)
})

test('a page: started right before its request, completed with the time since its last byte', async () => {
  const site = await rawOrigin(answerOf(200, {}, 'hello').toString('latin1'))
  const { run, settled, started } = rig()
  await run(pageOrder(site.origin, '/', { fence: 77, delayMs: 1_234 }))
  expect(settled).toHaveLength(1)
  expect(settled[0]).toMatchObject({
    agent: 'decorum',
    origin: site.origin,
    fence: 77,
    delayMs: 1_234,
    load: { kind: 'normal' },
    outcome: { kind: 'fetched', id: 'id-1' },
  })
  expect(settled[0]?.elapsedMs).toBeGreaterThanOrEqual(0)
  expect((site.asked[0]?.at ?? 0) - (started[0] ?? 0)).toBeGreaterThan(0)
})

test('an agent with an adaptive delay: a slow exchange owes a multiple of its time, one that was not sent owes nothing more', async () => {
  const entry = { name: 'slow', userAgent: 'slow (+https://a.example)', adaptiveDelay: { factor: 5, capMs: 60_000 } }
  const agents = agentsOf({ agents: JSON.stringify([entry]) })
  const SLOW_MS = 120
  const order = (origin: string) => pageOrder(origin, '/', { agent: 'slow', delayMs: 100 })
  const page = await rawOrigin(answerOf(200, {}, 'soon').toString('latin1'))
  await onStoppedClock(async (pass) => {
    const slow = (end: (socket: Socket) => unknown) =>
      rawOrigin((socket) => {
        pass(SLOW_MS)
        end(socket)
      })
    const late = await slow((socket) => socket.write(answerOf(200, {}, 'at last')))
    const hung = await slow((socket) => socket.resetAndDestroy())
    const rules = await slow((socket) => socket.write(answerOf(200, {}, 'User-agent: *\nDisallow: /no')))
    const { run, settled, recorded } = rig({}, { agents })
    await run(order(late.origin))
    await run(order(hung.origin))
    await run({ ...order(rules.origin), path: '/robots.txt', kind: 'robots' })
    expect([...settled, ...recorded].map(({ delayMs }) => delayMs)).toEqual(Array(3).fill(SLOW_MS * 5))
  })
  const { lookup, undo } = slowLookUp(60_000) // longer than the lease
  onTestFinished(undo)
  const tired = rig({}, { agents, connections: testConnections({ lookup }) })
  await tired.run(order(`http://slow.example:${new URL(page.origin).port}`))
  undo()
  expect([tired.settled, tired.released.map(({ next }) => next.kind)]).toEqual([[], ['unused']])
  const other = rig()
  await other.run(pageOrder(page.origin, '/', { delayMs: 100 }))
  expect(other.settled[0]?.delayMs).toBe(100) // off unless asked for
})

test('the time that a sink takes counts as part of the delay', async () => {
  const site = await rawOrigin(answerOf(200, {}, 'hello').toString('latin1'))
  const sink = {
    keepsBodies: true,
    store: () => new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), 120)),
    close: async () => {},
  }
  const { run, settled } = rig({}, { sink })
  await run(pageOrder(site.origin))
  expect(settled[0]?.elapsedMs).toBeGreaterThanOrEqual(119)
})

test('a page that takes a sink half a minute has its reference; a sink that hangs costs the reference while the lease still counts', async () => {
  const site = await rawOrigin(answerOf(200, {}, 'hello').toString('latin1'))
  const LEASE_MS = 45_000
  await onStoppedClock(async (pass) => {
    const keepIn = async (ms: number, stored: Promise<ArchiveRef>) => {
      let isAsked = false
      const store = () => {
        isAsked = true
        return stored
      }
      const { run, settled, stats } = rig({}, { sink: { keepsBodies: true, store, close: async () => {} } })
      const carried = run(pageOrder(site.origin))
      await expect.poll(() => isAsked).toBe(true)
      pass(ms)
      return { carried, settled, failures: () => stats.registry.getSingleMetricAsString(FAILURES) }
    }
    const kept = Promise.withResolvers<ArchiveRef>()
    const slow = await keepIn(30_000, kept.promise)
    kept.resolve(ARCHIVED)
    await slow.carried
    expect(slow.settled).toMatchObject([{ outcome: { kind: 'fetched', archive: ARCHIVED }, elapsedMs: 30_000 }])
    expect(await slow.failures()).toContain(`${FAILURES} 0`)

    const hung = await keepIn(LEASE_MS - 1_000, new Promise(() => {}))
    await hung.carried
    expect(hung.settled).toMatchObject([{ outcome: { kind: 'fetched', bytes: 5 } }])
    expect(hung.settled[0]?.outcome).not.toHaveProperty('archive')
    expect(await hung.failures()).toContain(`${FAILURES} 1`)
  })
})
const ARCHIVED: ArchiveRef = { file: 'a.warc.gz', offset: 0, length: 5 }
const FAILURES = 'decorum_fetcher_sink_failures_total'

test('the lease is asked for a moment before the lane is due, on the clock of Redis; the request leaves when it is due', async () => {
  const site = await rawOrigin(answerOf(200).toString('latin1'))
  const { run, started } = rig({ permits: [{ kind: 'granted', leaseMs: 45_000, waitMs: 40 }] })
  const start = performance.now()
  await run(pageOrder(site.origin, '/', { notBefore: NOW + 150 }))
  const [asked = 0] = started
  expect(asked - start).toBeGreaterThanOrEqual(150 - START_AHEAD_MS)
  expect((site.asked[0]?.at ?? 0) - asked).toBeGreaterThanOrEqual(40)
})

test('early: asked again when the ledger says so, and not for ever', async () => {
  const site = await rawOrigin(answerOf(200).toString('latin1'))
  const twice = rig({
    permits: [
      { kind: 'early', waitMs: 60 },
      { kind: 'early', waitMs: 60 },
    ],
  })
  await twice.run(pageOrder(site.origin))
  expect(twice.started).toHaveLength(3)
  expect((twice.started[2] ?? 0) - (twice.started[0] ?? 0)).toBeGreaterThanOrEqual(119)
  expect(twice.settled).toHaveLength(1)
  const always = rig({ permits: Array(100).fill({ kind: 'early', waitMs: 1 }) })
  await always.run(pageOrder(site.origin))
  expect(always.started.length).toBeLessThan(20)
  expect(await refusals(always.stats)).toEqual(['decorum_fetcher_refused_total{why="too-early"} 1'])
  expect(site.asked).toHaveLength(1)
})

test('an order whose URL expires while it waits is given back: nothing is sent', async () => {
  const site = await rawOrigin(answerOf(200).toString('latin1'))
  const early = rig({ permits: [{ kind: 'early', waitMs: 30 }] })
  const since = performance.now()
  early.tools.ledger.wall = () => NOW + performance.now() - since
  await early.run(pageOrder(site.origin, '/', { expiresAt: NOW + 20 }))
  expect(early.started).toHaveLength(1)
  expect(site.connections).toBe(0)
  expect(early.released).toMatchObject([{ dropped: [], next: { kind: 'release' } }])
  expect(await refusals(early.stats)).toEqual(['decorum_fetcher_refused_total{why="expired"} 1'])
})

test.each(['stale', 'startup-hold', 'rules-changed', 'back-off', 'robots-in-flight'] as const)(
  'refused (%s): nothing is sent, nothing is settled, it is counted',
  async (why) => {
    const site = await rawOrigin(answerOf(200).toString('latin1'))
    const { run, settled, stats } = rig({ permits: [{ kind: 'refused', why }] })
    await run(pageOrder(site.origin))
    expect(site.connections).toBe(0)
    expect(settled).toEqual([])
    expect(await refusals(stats)).toEqual([`decorum_fetcher_refused_total{why="${why}"} 1`])
  },
)

test('a ledger that does not answer start: nothing is sent', async () => {
  const site = await rawOrigin(answerOf(200).toString('latin1'))
  const { run, stats, problems } = rig({
    start: () => Promise.reject(new LedgerUnavailableError('start', new Error('gone'))),
  })
  await run(pageOrder(site.origin))
  expect(site.connections).toBe(0)
  expect(await refusals(stats)).toEqual(['decorum_fetcher_refused_total{why="ledger-unavailable"} 1'])
  expect(problems).toEqual([])
})

test('a completion that the ledger does not answer is repeated, with the longer time since the last byte', async () => {
  const site = await rawOrigin(answerOf(200).toString('latin1'))
  const rests: number[] = []
  const { run, stats } = rig({
    complete: ({ elapsedMs }) => {
      rests.push(elapsedMs)
      return rests.length < 3 ? unavailable() : Promise.resolve('stale') // the second one was heard, its reply lost
    },
  })
  await run(pageOrder(site.origin))
  expect(rests).toHaveLength(3)
  expect((rests[2] ?? 0) - (rests[0] ?? 0)).toBeGreaterThan(400)
  expect(stats).toMatchObject({ unheard: 2, stale: 0, broken: 0 })
})

test('reports end with the lease', async () => {
  const site = await rawOrigin(answerOf(200).toString('latin1'))
  await onStoppedClock(async (pass) => {
    const told: number[] = []
    const complete = () => {
      told.push(performance.now() - start)
      setImmediate(pass, 250) // when it waits for the next time
      return unavailable()
    }
    const start = performance.now()
    const permits: StartAnswer[] = [{ kind: 'granted', leaseMs: 900 }]
    const { run, stats } = rig({ permits, complete }, { leaseMs: 900, fetchDeadlineMs: 500 })
    await run(pageOrder(site.origin))
    expect(told).toEqual([0, 250, 500, 750, 1_000])
    expect(stats.unheard).toBe(5)
  })
})

test('a stale answer to the first report is counted: the lease had ended without us', async () => {
  const site = await rawOrigin(answerOf(200).toString('latin1'))
  const { run, stats } = rig({ complete: async () => 'stale' })
  await run(pageOrder(site.origin))
  expect(stats.stale).toBe(1)
})

test.each([
  ['stale', 429, { kind: 'asked-for-less', retryAfterMs: 90_000 }],
  ['unavailable', 429, { kind: 'asked-for-less', retryAfterMs: 90_000 }],
  ['unavailable', 403, { kind: 'asked-to-wait', retryAfterMs: 90_000 }],
  ['unavailable', 200, undefined],
] as const)(
  'a lease that is over (%s), an answer %i: a site that asks for silence is closed all the same',
  async (how, status, load) => {
    const headers = load === undefined ? {} : { 'retry-after': '90' }
    const site = await rawOrigin(answerOf(status, headers).toString('latin1'))
    await onStoppedClock(async (pass) => {
      const complete = () => {
        if (how === 'stale') return Promise.resolve('stale' as const)
        setImmediate(pass, 1_000) // when it waits for the next time
        return unavailable()
      }
      const permits: StartAnswer[] = [{ kind: 'granted', leaseMs: 1_000 }]
      const { run, late } = rig({ permits, complete }, { leaseMs: 1_000, fetchDeadlineMs: 500 })
      await run(pageOrder(site.origin))
      expect(site.asked).toHaveLength(1)
      expect(late).toMatchObject(load === undefined ? [] : [{ origin: site.origin, load }])
    })
  },
)

test('an exchange never outlives its lease', async () => {
  const site = await rawOrigin(() => {})
  const { run, settled } = rig(
    { permits: [{ kind: 'granted', leaseMs: 800 }] },
    { leaseMs: 800, fetchDeadlineMs: 600_000 },
  )
  await whenDeadlinePasses(
    800,
    () => site.asked.length === 1,
    () => run(pageOrder(site.origin)),
  )
  expect(settled[0]).toMatchObject({ load: { kind: 'no-answer' } })
})

test('an agent that this fetcher does not know sends nothing and says so', async () => {
  const site = await rawOrigin(answerOf(200).toString('latin1'))
  const { run, problems, started } = rig()
  await run(pageOrder(site.origin, '/', { agent: 'stranger' }))
  expect([started.length, site.connections]).toEqual([0, 0])
  expect(problems[0]).toContain('DECORUM_AGENTS')
})

test('a process that is asked to stop starts nothing new and releases the lane at once', async () => {
  const { run, started, stats, released } = rig({}, { isStopping: () => true })
  await run(pageOrder('http://127.0.0.1:1', '/', { fence: 9 }))
  expect(started).toEqual([])
  expect(released).toMatchObject([{ origin: 'http://127.0.0.1:1', fence: 9, dropped: [], next: { kind: 'release' } }])
  expect(await refusals(stats)).toEqual(['decorum_fetcher_refused_total{why="stopping"} 1'])
})

test('a fault of this program breaks one order off, says so, and rejects nothing', async () => {
  const site = await rawOrigin(answerOf(200).toString('latin1'))
  const { run, problems, stats } = rig({ complete: () => Promise.reject(new TypeError('a fault')) })
  await run(pageOrder(site.origin))
  expect(stats).toMatchObject({ broken: 1, started: 1, ended: 1 })
  expect(problems).toHaveLength(1)
})

test.each([
  ['/robots.txt', 'robots-page', 1],
  ['/%72obots.txt?x=1', 'robots-page', 1],
  ['/a/robots.txt', 'page', 0],
] as const)('a page %s is started as %s, and its end is told to who waits for it', async (path, kind, ends) => {
  const site = await rawOrigin(answerOf(200).toString('latin1'))
  const kinds: string[] = []
  const { run, settled, ended } = rig({
    start: async (request) => {
      kinds.push(request.kind)
      return { kind: 'granted', leaseMs: 45_000 }
    },
  })
  await run(pageOrder(site.origin, path, { fence: 12 }))
  expect([kinds, settled.length]).toEqual([[kind], 1])
  expect(ended).toEqual(Array(ends).fill({ origin: site.origin, fence: 12, agents: ['decorum'] }))
})

test('a ledger that does not answer six times: the lease of the host is reported until it has, as that of the lane is', async () => {
  const site = await rawOrigin(answerOf(200).toString('latin1'))
  const failures = new Map<string, number>()
  const completed: string[] = []
  const complete: NonNullable<Parameters<typeof rig>[0]>['complete'] = async ({ origin }) => {
    const before = failures.get(origin) ?? 0
    failures.set(origin, before + 1)
    if (before < 6) return unavailable()
    completed.push(origin)
    return 'completed'
  }
  const permits = [{ kind: 'granted' as const, leaseMs: 45_000, paceLane: { fence: 3, delayMs: 20 } }]
  const { run, stats } = rig({ permits, complete })
  await run(pageOrder(site.origin))
  expect(completed.sort()).toEqual([site.origin, 'https://127.0.0.1'].sort())
  expect(stats.broken).toBe(0)
})
