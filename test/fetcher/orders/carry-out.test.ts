/** One order against a ledger that says what the test wants; the origin is real. */

import { UNKNOWN_AGENT_WAIT_MS } from '@decorum/config'
import {
  carryOut,
  type Lookup,
  noSink,
  type OrdersLedger,
  openPace,
  openStats,
  START_AHEAD_MS,
  siteAnswers,
  startLease,
  type Tools,
} from '@decorum/fetcher/testing'
import {
  type Completion,
  LedgerUnavailableError,
  type Resolution,
  type RobotsFetchEnd,
  type RobotsRecord,
  type StartAnswer,
} from '@decorum/ledger'
import { loadPaceGroups } from '@decorum/politeness'
import { judge, policies, step, unknownOrigin } from '@decorum/robots'
import { expect, onTestFinished, test } from 'vitest'
import { NOW, pageOrder } from '../support/orders.ts'
import { answerOf, rawOrigin } from '../support/raw-origin.ts'
import { agentsOf, testConnections } from '../support/tools.ts'

type Script = Partial<OrdersLedger> & { permits?: StartAnswer[] }

function rig(script: Script = {}, over: Partial<Tools> = {}) {
  const settled: Completion[] = []
  const recorded: RobotsRecord[] = []
  const ended: RobotsFetchEnd[] = []
  const released: Resolution[] = []
  const started: number[] = []
  const problems: string[] = []
  const permits = [...(script.permits ?? [])]
  const ledger: OrdersLedger = {
    start: async () => {
      started.push(performance.now())
      return permits.shift() ?? { kind: 'granted', leaseMs: 45_000 }
    },
    complete: async (completion) => {
      settled.push(completion)
      return 'completed'
    },
    confirm: async () => 'granted',
    acquire: async () => ({ kind: 'wait', waitMs: 60_000 }),
    record: async (robotsRecord) => {
      recorded.push(robotsRecord)
      return 'completed'
    },
    endRobotsFetch: async (end) => {
      ended.push(end)
      return 'completed'
    },
    robotsStates: async () => [{ version: 0, state: {} }],
    body: async () => undefined,
    resolve: async (_, words) => {
      released.push(...words)
      return words.map(() => 'completed' as const)
    },
    partitionOf: () => 0,
    now: () => NOW,
    wall: () => NOW,
    ...script,
  }
  const stats = openStats({ size: 1, taken: 0, waiting: 0 })
  const log = {
    warn: (_: object, message: string) => problems.push(message),
    error: (_: object, message: string) => problems.push(message),
  }
  const connections = testConnections()
  onTestFinished(() => connections.close())
  const tools: Tools = {
    ledger,
    connections,
    agents: agentsOf(),
    pace: openPace({ ledger, groups: loadPaceGroups(undefined), addressOf: connections.addressOf }),
    sink: noSink,
    siteAnswers: siteAnswers(over.agents ?? agentsOf()),
    stats,
    log,
    pageMaxBytes: 1_000_000,
    maxAttempts: 5,
    fetchDeadlineMs: 5_000,
    leaseMs: 45_000,
    isStopping: () => false,
    ...over,
  }
  return {
    tools,
    settled,
    recorded,
    ended,
    released,
    started,
    problems,
    stats,
    run: (order: Parameters<typeof carryOut>[0]) => carryOut(order, tools),
  }
}
const refusals = async (stats: ReturnType<typeof openStats>) =>
  (await stats.registry.getSingleMetricAsString('decorum_fetcher_refused_total'))
    .split('\n')
    .filter((line) => !line.startsWith('#'))
const unavailable = () => Promise.reject(new LedgerUnavailableError('complete', new Error('gone')))

test('an order whose lane opens much later than it said gives the lane back, and its slot', async () => {
  const { run, started, released, settled } = rig({ permits: [{ kind: 'early', waitMs: 8_000 }] })
  await run(pageOrder('http://127.0.0.1:1'))
  expect([started.length, settled.length]).toEqual([1, 0])
  expect(released).toMatchObject([{ next: { kind: 'release' } }])
})

test('an agent that this fetcher does not know: the lane is given back at once, for a bounded while, with the reason', async () => {
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

test('a page: started in the instant before, settled with the silence kept since its last byte', async () => {
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

test('an agent that rests in proportion: a slow exchange owes a multiple of itself, one that was not sent what it did', async () => {
  const entry = { name: 'slow', userAgent: 'slow (+https://a.example)', adaptiveDelay: { factor: 5, capMs: 60_000 } }
  const agents = agentsOf({ agents: JSON.stringify([entry]) })
  const SLOW_MS = 120
  const slow = (octets: Buffer) => rawOrigin((socket) => void setTimeout(() => socket.write(octets), SLOW_MS))
  const page = await slow(answerOf(200, {}, 'at last'))
  const hung = await rawOrigin((socket) => void setTimeout(() => socket.resetAndDestroy(), SLOW_MS))
  const rules = await slow(answerOf(200, {}, 'User-agent: *\nDisallow: /no'))
  const { run, settled, recorded } = rig({}, { agents })
  const order = (origin: string) => pageOrder(origin, '/', { agent: 'slow', delayMs: 100 })
  await run(order(page.origin))
  await run(order(hung.origin))
  await run({ ...order(rules.origin), path: '/robots.txt', kind: 'robots' })
  const owed = [...settled, ...recorded].map(({ delayMs }) => delayMs)
  expect(owed).toHaveLength(3)
  for (const delayMs of owed) {
    expect(delayMs).toBeGreaterThanOrEqual((SLOW_MS - 1) * 5)
    expect(delayMs).toBeLessThanOrEqual(10_000)
  }
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

test('the time that a sink takes counts as silence', async () => {
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

test('begin is asked a moment before the lane opens, on the clock of Redis; the request leaves when it is open', async () => {
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

test('a ledger that does not hear the completion is told again, with the longer silence', async () => {
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

test('telling ends with the lease', async () => {
  const site = await rawOrigin(answerOf(200).toString('latin1'))
  const { run, stats } = rig(
    { permits: [{ kind: 'granted', leaseMs: 900 }], complete: unavailable },
    { leaseMs: 900, fetchDeadlineMs: 500 },
  )
  const start = performance.now()
  await run(pageOrder(site.origin))
  expect(performance.now() - start).toBeGreaterThan(850)
  expect(stats.unheard).toBeGreaterThan(1)
})

test('a stale answer at the first telling is counted: the lease had ended without us', async () => {
  const site = await rawOrigin(answerOf(200).toString('latin1'))
  const { run, stats } = rig({ complete: async () => 'stale' })
  await run(pageOrder(site.origin))
  expect(stats.stale).toBe(1)
})

test('an exchange never outlives its lease', async () => {
  const site = await rawOrigin(() => {})
  const { run, settled } = rig(
    { permits: [{ kind: 'granted', leaseMs: 800 }] },
    { leaseMs: 800, fetchDeadlineMs: 600_000 }, // beyond the time that a test may take: only the lease can end it
  )
  await run(pageOrder(site.origin))
  expect(settled[0]).toMatchObject({ load: { kind: 'no-answer' } })
})

test('an agent that this fetcher does not know sends nothing and says so', async () => {
  const site = await rawOrigin(answerOf(200).toString('latin1'))
  const { run, problems, started } = rig()
  await run(pageOrder(site.origin, '/', { agent: 'stranger' }))
  expect([started.length, site.connections]).toEqual([0, 0])
  expect(problems[0]).toContain('DECORUM_AGENTS')
})

test('a process that is asked to stop begins nothing new and gives the lane back at once', async () => {
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

test('robots: the robotsRecord carries state, body, and the delay of each agent', async () => {
  const site = await rawOrigin(answerOf(200, {}, 'User-agent: *\nCrawl-delay: 99\n').toString('latin1'))
  const agents = agentsOf({
    agents: JSON.stringify([
      { name: 'one', userAgent: 'one (+https://a.example)' },
      { name: 'two', userAgent: 'two (+https://a.example)', profile: 'google' },
    ]),
  })
  const { run, recorded, settled } = rig({}, { agents })
  await run(pageOrder(site.origin, '/robots.txt', { kind: 'robots', agent: 'one', fence: 5 }))
  expect(settled).toEqual([])
  expect(recorded).toHaveLength(1)
  const [robotsRecord] = recorded
  expect(robotsRecord).toMatchObject({
    agent: 'one',
    origin: site.origin,
    fence: 5,
    delays: [
      { agent: 'one', delayMs: 10_000, clampedFrom: 99 },
      { agent: 'two', delayMs: 100 },
    ],
  })
  expect(robotsRecord?.body?.hash).toBe(robotsRecord?.state.copy?.hash)
  expect(Buffer.from(robotsRecord?.body?.octets ?? []).toString()).toContain('Crawl-delay')
})

test('a month of failures of robots.txt: a profile that lets in who finds the site accessible hears of pages that answer', async () => {
  const site = await rawOrigin(
    (socket, { path }) => void socket.write(answerOf(path === '/robots.txt' ? 500 : path === '/gone' ? 404 : 200)),
  )
  const agentOf = (profile: string) =>
    agentsOf({ agents: JSON.stringify([{ name: 'one', userAgent: 'one (+https://a.example)', profile }]) })
  const DAY = 86_400_000
  const failed = { kind: 'answered', status: 500, jitter: 0 } as const
  const state = step(unknownOrigin, failed, NOW - 30 * DAY)
  const after = async (profile: 'google' | 'decorum', ...pages: string[]) => {
    const { run, recorded } = rig({ robotsStates: async () => [{ version: 1, state }] }, { agents: agentOf(profile) })
    for (const path of pages) await run(pageOrder(site.origin, path, { agent: 'one' }))
    await run(pageOrder(site.origin, '/robots.txt', { kind: 'robots', agent: 'one' }))
    const told = recorded[0]?.state ?? unknownOrigin
    return [told.siteAnsweredAt, judge(told, '/', 'one', policies[profile], NOW + 1_000).kind]
  }
  expect(await after('google')).toEqual([undefined, 'wait'])
  expect(await after('google', '/gone')).toEqual([NOW, 'allowed'])
  expect(await after('google', '/')).toEqual([NOW, 'allowed'])
  expect(await after('decorum', '/')).toEqual([undefined, 'wait']) // nobody would read it
})

test('pages that answered are remembered within a bound, the latest ones; a good robots.txt needs no such news', () => {
  const agents = agentsOf({
    agents: JSON.stringify([{ name: 'g', userAgent: 'g (+https://a.example)', profile: 'google' }]),
  })
  const answers = siteAnswers(agents)
  for (let n = 0; n <= 10_000; n++) answers.heard(`http://s${n}.example`, 200, n + 1)
  const failure = { kind: 'unanswered', reason: 'timeout', jitter: 0 } as const
  const told = (n: number) => answers.toldTo(unknownOrigin, `http://s${n}.example`, failure).siteAnsweredAt
  expect([told(0), told(1), told(10_000)]).toEqual([undefined, 2, 10_001])
  answers.heard('http://bad.example', 502, 5)
  expect(answers.toldTo(unknownOrigin, 'http://bad.example', failure)).toBe(unknownOrigin)
  const good = { kind: 'answered', status: 404, jitter: 0 } as const
  expect(answers.toldTo(unknownOrigin, 'http://s1.example', good)).toBe(unknownOrigin)
})

test('robots unreachable: the old copy still sets the delays', async () => {
  const site = await rawOrigin((socket) => void socket.resetAndDestroy())
  const rules = Buffer.from('User-agent: *\nCrawl-delay: 3\n')
  const state = step(unknownOrigin, { kind: 'answered', status: 200, hash: 'h', jitter: 0 }, NOW - 1_000)
  const asked: string[] = []
  const { run, recorded } = rig({
    robotsStates: async () => [{ version: 3, state }],
    body: async (_, hash) => {
      asked.push(hash)
      return rules
    },
  })
  await run(pageOrder(site.origin, '/robots.txt', { kind: 'robots' }))
  expect(asked).toEqual(['h'])
  expect(recorded[0]).toMatchObject({
    state: { answer: { reason: 'reset' }, copy: { hash: 'h' } },
    delays: [{ agent: 'decorum', delayMs: 3_000 }],
  })
  expect(recorded[0]).not.toHaveProperty('body')
})

/** An origin with an ETag whose file asked for 3 s; its 304 to anybody, or to those alone who send the ETag. */
const DELAY = 'User-agent: *\nCrawl-delay: 3\n'
const etagState = (agoMs = 1_000) =>
  step(unknownOrigin, { kind: 'answered', status: 200, hash: 'h', etag: '"v1"', jitter: 0 }, NOW - agoMs)
const unchangedSite = (always = false) =>
  rawOrigin((socket, { head }) => {
    const isKnown = always || head.includes('if-none-match: "v1"')
    socket.write(isKnown ? answerOf(304) : answerOf(200, { etag: '"v1"' }, DELAY))
  })
const askedBy = async (site: { origin: string }, body: OrdersLedger['body'], state = etagState()) => {
  const one = rig({ robotsStates: async () => [{ version: 3, state }], body })
  await one.run(pageOrder(site.origin, '/robots.txt', { kind: 'robots', delayMs: 3_000 }))
  return one.recorded
}

test('a 304 renews the copy together with its body, and the delay in it', async () => {
  const [robotsRecord] = await askedBy(await unchangedSite(), async () => Buffer.from(DELAY))
  expect(robotsRecord).toMatchObject({
    state: { copy: { hash: 'h' } },
    body: { hash: 'h', octets: Buffer.from(DELAY) },
    delays: [{ agent: 'decorum', delayMs: 3_000 }],
  })
})

test('without the body at hand no validator is sent: the file comes whole', async () => {
  for (const body of [async () => undefined, () => Promise.reject(new Error('away'))]) {
    const site = await unchangedSite()
    const [robotsRecord] = await askedBy(site, body)
    expect(site.asked[0]?.head).not.toMatch(/if-(none-match|modified-since)/i)
    expect(robotsRecord).toMatchObject({ state: { answer: { kind: 'ok' } }, delays: [{ delayMs: 3_000 }] })
    expect(Buffer.from(robotsRecord?.body?.octets ?? []).toString()).toBe(DELAY)
  }
})

test('a 304 to that is no answer, waits for its retry, and keeps the delay that is known', async () => {
  const site = await unchangedSite(true)
  const [lost] = await askedBy(site, async () => undefined)
  expect(lost?.state).toMatchObject({ answer: { kind: 'no-answer', reason: 'protocol' } })
  expect(lost?.state.copy).toBeUndefined() // a copy without its body is none
  expect(judge(lost?.state ?? {}, '/', 'decorum', policies.decorum, NOW + 30_000)).toMatchObject({ kind: 'wait' })
  expect(judge(lost?.state ?? {}, '/', 'decorum', policies.decorum, NOW + 90_000)).toMatchObject({ kind: 'ask' })
  const [again] = await askedBy(site, async () => undefined, lost?.state)
  expect(again?.delays).toEqual([{ agent: 'decorum' }])
  const [unread] = await askedBy(site, () => Promise.reject(new Error('away')))
  expect(unread?.state).toMatchObject({ answer: { reason: 'protocol' }, copy: { hash: 'h' } })
  for (const robotsRecord of [lost, unread]) {
    expect(robotsRecord?.delays).toEqual([{ agent: 'decorum' }]) // it stays as it is
    expect(robotsRecord?.delayMs).toBe(3_000)
    expect(robotsRecord).not.toHaveProperty('body')
  }
})

test('the request that brought a delay owes it to its lane and to the clock of its host', async () => {
  const site = await rawOrigin(answerOf(200, {}, DELAY).toString('latin1'))
  const clock = { fence: 44, delayMs: 100 }
  const { run, recorded, settled } = rig({ permits: [{ kind: 'granted', leaseMs: 45_000, clock }] })
  await run(pageOrder(site.origin, '/robots.txt', { kind: 'robots' }))
  expect(settled).toMatchObject([{ origin: 'https://127.0.0.1', fence: 44, delayMs: 3_000, secondary: true }])
  expect(recorded).toMatchObject([{ delayMs: 3_000 }])
})

test('rules that there is no room for are no rules: the origin waits for its retry, at the delay that they asked for', async () => {
  const site = await rawOrigin(answerOf(200, {}, DELAY).toString('latin1'))
  const lessons: RobotsRecord[] = []
  const { run } = rig({
    record: async (robotsRecord) => {
      lessons.push(robotsRecord)
      return robotsRecord.body === undefined ? 'completed' : 'full'
    },
  })
  await run(pageOrder(site.origin, '/robots.txt', { kind: 'robots' }))
  const [first, second] = lessons
  expect(first?.body).toBeDefined()
  expect(second).toMatchObject({ state: { answer: { reason: 'no-room' } }, delays: [{ delayMs: 3_000 }] })
  expect(second?.state.copy).toBeUndefined()
  for (const policy of Object.values(policies))
    expect(judge(second?.state ?? {}, '/', 'decorum', policy, NOW + 1_000)).toMatchObject({ kind: 'wait' })
  expect(lessons).toHaveLength(2)
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

test('robots that could not be sent: the lane goes back unused, no attempt is counted, the robots fetch ends', async () => {
  const site = await rawOrigin(answerOf(200).toString('latin1'))
  const { run, settled, recorded, ended, released } = rig(
    {
      permits: [{ kind: 'granted', leaseMs: 40 }],
      robotsStates: () => new Promise((resolve) => setTimeout(() => resolve([{ version: 0, state: {} }]), 80)),
    },
    { leaseMs: 40, fetchDeadlineMs: 30 },
  )
  await run(pageOrder(site.origin, '/robots.txt', { kind: 'robots', fence: 9 }))
  expect(site.asked).toEqual([])
  expect(settled, 'no attempt of the waiting URL is counted').toEqual([])
  expect(released).toMatchObject([{ fence: 9, dropped: [], next: { kind: 'unused' } }])
  expect(recorded).toEqual([])
  expect(ended).toEqual([{ origin: site.origin, fence: 9, agents: ['decorum'] }])
})

test('robots of an agent without contact: the waiting head is refused', async () => {
  const { run, settled, recorded, ended } = rig(
    {},
    {
      agents: agentsOf({}),
      connections: testConnections({ lookup: async () => [{ address: '203.0.114.1', family: 4 }] }),
    },
  )
  await run(pageOrder('http://public.example', '/robots.txt', { kind: 'robots', meta: { a: 1 } }))
  expect(settled).toMatchObject([{ outcome: { kind: 'refused', reason: 'no-contact', id: 'id-1', meta: { a: 1 } } }])
  expect([recorded, ended.length]).toEqual([[], 1])
})

test('a wall clock that jumps while a permit is held makes it too old: nothing is sent', async () => {
  const now = Date.now
  const ledger = {
    start: async (): Promise<StartAnswer> => ({ kind: 'granted', leaseMs: 45_000 }),
    confirm: async () => 'granted' as const,
  }
  const started = await startLease(ledger, pageOrder('http://a.example'), { fetchDeadlineMs: 30_000, leaseMs: 45_000 })
  if (started.kind !== 'lease') throw new Error(started.why)
  expect(started.lease.lastCheck()).toBeUndefined()
  try {
    Date.now = () => now() + 6_000 // as after a suspended machine: the monotonic clock stood still
    expect(started.lease.lastCheck()).toContain('older than')
    Date.now = () => now() + 60_000
    expect(started.lease.stillHeld()).toContain('over')
    Date.now = () => now() - 3_600_000 // a clock set back changes nothing
    expect(started.lease.lastCheck()).toBeUndefined()
  } finally {
    Date.now = now
  }
})

/** A look-up during which both clocks of this process seem to move on, as in a slow one. */
function slowLookUp(ms: number): { lookup: Lookup; undo(): void } {
  const real = Date.now
  return {
    async lookup() {
      Date.now = () => real() + ms
      return [{ address: '127.0.0.1', family: 4 }]
    },
    undo() {
      Date.now = real
    },
  }
}

test.each(['back-off', 'rules-changed', 'startup-hold', 'stale'] as const)(
  'connecting took long, and the permit is refused meanwhile (%s): nothing is sent, nothing is counted, the lane is given back',
  async (why) => {
    const site = await rawOrigin(answerOf(200).toString('latin1'))
    const { lookup, undo } = slowLookUp(1_100)
    onTestFinished(undo)
    const asked: unknown[] = []
    const { run, settled, released } = rig(
      {
        confirm: async (held) => {
          asked.push(held)
          return why
        },
      },
      { connections: testConnections({ lookup }) },
    )
    const origin = `http://slow.example:${new URL(site.origin).port}`
    await run(pageOrder(origin, '/', { fence: 9, version: 3 }))
    expect(asked).toEqual([[{ agent: 'decorum', origin, fence: 9, version: 3 }]])
    expect(site.asked).toEqual([])
    expect(settled).toEqual([])
    expect(released).toEqual([{ agent: 'decorum', origin, fence: 9, dropped: [], next: { kind: 'unused' } }])
  },
)

test('connecting took long, and the permit still holds: the request is sent; a quick one is not asked for again', async () => {
  const site = await rawOrigin(answerOf(200).toString('latin1'))
  const origin = `http://slow.example:${new URL(site.origin).port}`
  const quick = slowLookUp(900)
  onTestFinished(quick.undo)
  let asked = 0
  const confirm = async () => {
    asked++
    return 'granted' as const
  }
  await rig({ confirm }, { connections: testConnections({ lookup: quick.lookup }) }).run(pageOrder(origin))
  expect([asked, site.asked.length]).toEqual([0, 1])
  quick.undo()
  const slow = slowLookUp(6_000) // older than a permit may be: the new one counts
  onTestFinished(slow.undo)
  const { run, settled } = rig({ confirm }, { connections: testConnections({ lookup: slow.lookup }) })
  await run(pageOrder(origin))
  expect([asked, site.asked.length]).toEqual([1, 2])
  expect(settled).toMatchObject([{ outcome: { kind: 'fetched' } }])
})

test('a ledger that does not answer is no permission', async () => {
  const site = await rawOrigin(answerOf(200).toString('latin1'))
  const { lookup, undo } = slowLookUp(1_100)
  onTestFinished(undo)
  const confirm = () => Promise.reject(new LedgerUnavailableError('confirm', new Error('gone')))
  const { run, released } = rig({ confirm }, { connections: testConnections({ lookup }) })
  await run(pageOrder(`http://slow.example:${new URL(site.origin).port}`))
  expect(site.asked).toEqual([])
  expect(released).toMatchObject([{ next: { kind: 'unused' } }])
})

test('robots.txt, too: refused, the robots fetch ends and the waiting URL has not been tried', async () => {
  const site = await rawOrigin(answerOf(200).toString('latin1'))
  const { lookup, undo } = slowLookUp(1_100)
  onTestFinished(undo)
  const { run, settled, ended, released } = rig(
    { confirm: async () => 'back-off' },
    { connections: testConnections({ lookup }) },
  )
  await run(pageOrder(`http://slow.example:${new URL(site.origin).port}`, '/robots.txt', { kind: 'robots', fence: 9 }))
  expect([site.asked, settled]).toEqual([[], []])
  expect(released).toMatchObject([{ fence: 9, next: { kind: 'unused' } }])
  expect(ended).toMatchObject([{ fence: 9 }])
})
