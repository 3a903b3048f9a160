/** The order of a robots fetch: what is recorded of the origin, and what its lane owes. */

import type { Tools } from '@decorum/fetcher/testing'
import { LedgerUnavailableError, type Resolution, type RobotsRecord } from '@decorum/ledger'
import { judge, policies, step, unknownOrigin } from '@decorum/robots'
import { siteAnswers } from '@decorum/sending/robots'
import { type Lookup, SEND_WINDOW_MS } from '@decorum/sending/testing'
import { expect, test } from 'vitest'
import { onStoppedClock } from '../support/clock.ts'
import { refusals, rig } from '../support/order-rig.ts'
import { NOW, pageOrder } from '../support/orders.ts'
import { answerOf, rawOrigin } from '../support/raw-origin.ts'
import { agentsOf, testConnections } from '../support/tools.ts'

test('the record has the state, the body, and the delay of each agent', async () => {
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
      { agent: 'two', delayMs: 0 },
    ],
  })
  expect(robotsRecord?.body?.hash).toBe(robotsRecord?.state.copy?.hash)
  expect(Buffer.from(robotsRecord?.body?.bytes ?? []).toString()).toContain('Crawl-delay')
})

test('a month of failures of robots.txt: the profile that allows a site whose pages answer is told of such pages', async () => {
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
  for (let n = 0; n <= 10_000; n++) answers.record(`http://s${n}.example`, 200, n + 1)
  const failure = { kind: 'unanswered', reason: 'timeout', jitter: 0 } as const
  const told = (n: number) => answers.stateAfter(unknownOrigin, `http://s${n}.example`, failure).siteAnsweredAt
  expect([told(0), told(1), told(10_000)]).toEqual([undefined, 2, 10_001])
  answers.record('http://bad.example', 502, 5)
  expect(answers.stateAfter(unknownOrigin, 'http://bad.example', failure)).toBe(unknownOrigin)
  const good = { kind: 'answered', status: 404, jitter: 0 } as const
  expect(answers.stateAfter(unknownOrigin, 'http://s1.example', good)).toBe(unknownOrigin)
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
const askedBy = async (site: { origin: string }, body: Tools['ledger']['body'], state = etagState()) => {
  const one = rig({ robotsStates: async () => [{ version: 3, state }], body })
  await one.run(pageOrder(site.origin, '/robots.txt', { kind: 'robots', delayMs: 3_000 }))
  return one.recorded
}

test('a 304 renews the copy together with its body, and the delay in it', async () => {
  const [robotsRecord] = await askedBy(await unchangedSite(), async () => Buffer.from(DELAY))
  expect(robotsRecord).toMatchObject({
    state: { copy: { hash: 'h' } },
    body: { hash: 'h', bytes: Buffer.from(DELAY) },
    delays: [{ agent: 'decorum', delayMs: 3_000 }],
  })
})

test('without the body at hand no validator is sent: the file comes whole', async () => {
  for (const body of [async () => undefined, () => Promise.reject(new Error('away'))]) {
    const site = await unchangedSite()
    const [robotsRecord] = await askedBy(site, body)
    expect(site.asked[0]?.head).not.toMatch(/if-(none-match|modified-since)/i)
    expect(robotsRecord).toMatchObject({ state: { answer: { kind: 'ok' } }, delays: [{ delayMs: 3_000 }] })
    expect(Buffer.from(robotsRecord?.body?.bytes ?? []).toString()).toBe(DELAY)
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

test('the request that brought a delay owes it to its lane and to the lane of its host', async () => {
  const site = await rawOrigin(answerOf(200, {}, DELAY).toString('latin1'))
  const paceLane = { fence: 44, delayMs: 100 }
  const { run, recorded, settled } = rig({ permits: [{ kind: 'granted', leaseMs: 45_000, paceLane }] })
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

test.each([
  ['that stood still for most of its send window says nothing of the site, whose name was not answered', 1, []],
  ['that ran all the while says that the name was not answered', SEND_WINDOW_MS / 100, ['dns']],
] as const)('robots of a process %s', async (_, steps, reasons) => {
  let isAsked = false
  const lookup: Lookup = () => new Promise(() => (isAsked = true))
  const { run, settled, recorded, ended, released } = rig({}, { connections: testConnections({ lookup }) })
  const order = pageOrder('http://slow.example', '/robots.txt', { kind: 'robots', fence: 9 })
  await onStoppedClock(async (pass) => {
    const carried = run(order)
    await expect.poll(() => isAsked).toBe(true)
    for (let n = 0; n < steps; n++) pass(SEND_WINDOW_MS / steps)
    await carried
  })
  expect(settled, 'no attempt of the waiting URL is counted').toEqual([])
  expect(recorded.map(({ state }) => state.answer?.reason)).toEqual(reasons)
  expect(released.map(({ next }) => next.kind)).toEqual(reasons.length === 0 ? ['unused'] : [])
  const { origin } = order
  expect(ended).toEqual(reasons.length === 0 ? [{ origin, fence: 9, agents: ['decorum'] }] : [])
})

test('robots while the ledger does not say what is known: nothing is sent, and the lanes go back as soon as it answers', async () => {
  const site = await rawOrigin(answerOf(200).toString('latin1'))
  const released: Resolution[] = []
  let unheard = 0
  const { run, settled, recorded, ended, stats, problems } = rig({
    permits: [{ kind: 'granted', leaseMs: 45_000, paceLane: { fence: 3, delayMs: 20 } }],
    robotsStates: () => Promise.reject(new LedgerUnavailableError('states', new Error('gone'))),
    resolve: async (_, words) => {
      if (unheard++ < 2) throw new LedgerUnavailableError('resolve', new Error('gone'))
      released.push(...words)
      return words.map(() => 'completed')
    },
  })
  await run(pageOrder(site.origin, '/robots.txt', { kind: 'robots', fence: 9 }))
  expect([site.connections, settled, recorded]).toEqual([0, [], []])
  expect(released.sort((a, b) => a.fence - b.fence)).toEqual([
    { agent: 'decorum', origin: 'https://127.0.0.1', fence: 3, dropped: [], next: { kind: 'unused' } },
    { agent: 'decorum', origin: site.origin, fence: 9, dropped: [], next: { kind: 'unused' } },
  ])
  expect(ended).toEqual([{ origin: site.origin, fence: 9, agents: ['decorum'] }])
  expect(await refusals(stats)).toEqual(['decorum_fetcher_refused_total{why="ledger-unavailable"} 1'])
  expect([stats.broken, problems]).toEqual([0, []])
})

test('robots of an agent without contact: the pending URL is refused', async () => {
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
