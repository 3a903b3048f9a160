/** HeldGroups above a lane, on the real ledger: hops of a robots.txt, the pace of a host, groups that an operator names. */
import { type AcquireHop, type HeldGroups, hopLanes, openPace } from '@decorum/fetcher/testing'
import type { ReservedLane } from '@decorum/ledger'
import { openLedgerWithViews } from '@decorum/ledger-views'
import { loadPaceGroups } from '@decorum/politeness'
import { Redis } from 'ioredis'
import { afterAll, expect, test } from 'vitest'
import { PATIENT } from '../../support/patient.ts'
import { redisForTest } from '../../support/redis.ts'
import { robots } from '../support/orders.ts'
import { answerOf, rawOrigin } from '../support/raw-origin.ts'
import { polite, testConnections } from '../support/tools.ts'

const redis = await redisForTest()
const connections = testConnections()
let clock = 1_800_000_000_000
const ledger = await openLedgerWithViews({ redis: redis.url, partitions: 1, nowMs: () => clock, ...PATIENT })
clock += 1_000 // the first hold of an empty ledger
afterAll(() => ledger.close())

const DELAY = 1_000
const RULES = 'user-agent: *\ndisallow: /x'
const paced = (groups: string, addressOf = async (): Promise<string | undefined> => undefined) => {
  const pace = openPace({ ledger, groups: loadPaceGroups(groups), addressOf })
  return (origin: string, delayMs = DELAY) => pace.acquire(polite, origin, delayMs)
}
const held = (groups: HeldGroups | { waitMs: number }): HeldGroups => {
  if ('waitMs' in groups) throw new Error(`shut for ${groups.waitMs} ms`)
  return groups
}
const FENCE = 1 // of an order whose own lane these tests do not look at
const hopsOf = (groups: HeldGroups, fence = FENCE): AcquireHop => hopLanes(groups, fence)
/** The lane of an origin, begun by an order for its robots.txt. @returns its fence */
async function beginRobots(origin: string, delayMs = DELAY): Promise<number> {
  const lane = { agent: polite.key, origin }
  const pending = { id: origin, path: '/', expiresAt: 4_000_000_000_000, hops: 0, priority: 'normal' as const }
  await ledger.store(0, [{ lane, pending }])
  const taken = await ledger.reserve(0, { limit: 1, aheadMs: 0, inFlightLimit: 1_000, peek: 1, lane })
  if (taken.kind !== 'reserved') throw new Error(taken.why)
  const [{ fence, robots: known }] = taken.lanes as [ReservedLane]
  const permit = await ledger.start({ ...lane, fence, kind: 'robots', version: known.version, delayMs })
  if (permit.kind !== 'granted') throw new Error(permit.kind)
  return fence
}
/** As begin does together with the lane. */
async function beginHost(groups: HeldGroups, delayMs: number): Promise<void> {
  const entry = await ledger.acquire({ lanes: [groups.hostLane!], kind: 'pace-group', delayMs })
  if (entry.kind !== 'granted') throw new Error('the host is idle')
  groups.started(entry)
}
/** A visit to a lane by its name, as a stranger makes it. */
const knock = (origin: string) =>
  ledger.acquire({ lanes: [{ agent: polite.key, origin }], kind: 'pace-group', delayMs: DELAY })

test('a hop holds the lane of the origin it leads to, which owes the delay afterwards', async () => {
  const there = await rawOrigin((socket) => void socket.write(answerOf(200, {}, RULES)))
  const here = await rawOrigin((socket) => void socket.write(answerOf(301, { location: `${there.origin}/robots.txt` })))
  const acquireHop = hopsOf(held(await paced('{"host":false}')(here.origin)))
  const { event } = await robots(connections, here.origin, { acquireHop })
  expect(event).toMatchObject({ kind: 'answered', status: 200 })
  const again = await knock(there.origin)
  expect(again).toMatchObject({ kind: 'wait' })
  expect(again.kind === 'wait' && again.waitMs).toBeLessThanOrEqual(polite.minDelayMs)
})

test('a slow hop of an agent with an adaptive delay owes it there, too', async () => {
  const gentle = { ...polite, adaptiveDelay: { factor: 10, floorMs: 0, capMs: 60_000 } }
  const there = await rawOrigin((socket) => void setTimeout(() => socket.write(answerOf(200, {}, RULES)), 100))
  const here = await rawOrigin((socket) => void socket.write(answerOf(301, { location: `${there.origin}/robots.txt` })))
  const pace = openPace({ ledger, groups: loadPaceGroups('{"host":false}'), addressOf: async () => undefined })
  const acquireHop = hopsOf(held(await pace.acquire(gentle, here.origin, DELAY)))
  await robots(connections, here.origin, { agent: gentle, acquireHop })
  const again = await knock(there.origin)
  expect(again.kind === 'wait' && again.waitMs).toBeGreaterThan(900) // this clock of Redis stands still
})

test('while that lane is in flight no hop is sent; when it is not due in time the rules are not known', async () => {
  const there = await rawOrigin((socket) => void socket.write(answerOf(200, {}, RULES)))
  const here = await rawOrigin((socket) => void socket.write(answerOf(301, { location: `${there.origin}/robots.txt` })))
  expect((await knock(there.origin)).kind).toBe('granted')
  const acquireHop = hopsOf(held(await paced('{"host":false}')(here.origin)))
  const { event } = await robots(connections, here.origin, {
    acquireHop: (hop) => acquireHop({ ...hop, deadlineMs: 200 }),
  })
  expect(event).toMatchObject({ kind: 'unanswered', reason: 'timeout' })
  expect(there.asked).toEqual([])
})

test('a hop within the origin comes after the delay', async () => {
  const at: number[] = []
  const site = await rawOrigin((socket, { head }) => {
    at.push(performance.now())
    socket.write(
      head.startsWith('GET /robots.txt ') ? answerOf(301, { location: '/rules.txt' }) : answerOf(200, {}, RULES),
    )
  })
  const fence = await beginRobots(site.origin)
  const acquireHop = hopsOf(held(await paced('{"host":false}')(site.origin, 80)), fence)
  const { event } = await robots(connections, site.origin, { acquireHop })
  expect(event).toMatchObject({ kind: 'answered', status: 200 })
  expect((at[1] ?? 0) - (at[0] ?? 0)).toBeGreaterThanOrEqual(80)
})

test('a hop to another origin of the same host waits for the delay first: the lane of the host is held already', async () => {
  const at: number[] = []
  const there = await rawOrigin((socket) => {
    at.push(performance.now())
    socket.write(answerOf(200, {}, RULES))
  })
  const here = await rawOrigin((socket) => {
    at.push(performance.now())
    socket.write(answerOf(301, { location: `${there.origin}/robots.txt` }))
  })
  const groups = held(await paced('')(here.origin, 80))
  await beginHost(groups, 80)
  const { event } = await robots(connections, here.origin, { acquireHop: hopsOf(groups) })
  expect(event).toMatchObject({ kind: 'answered', status: 200 })
  expect((at[1] ?? 0) - (at[0] ?? 0)).toBeGreaterThanOrEqual(80)
})

test('an operator’s hand on the origin of a hop holds although its lane is leased as the pace lane of the host', async () => {
  for (const action of ['block', 'pause'] as const) {
    const name = `${action}.hand.example`
    const groups = held(await paced('')(`http://${name}`, 0))
    await beginHost(groups, 0)
    const origin = `https://${name}`
    const hop = { origin, isRobots: true, deadlineMs: 5_000 }
    await ledger.operate({ origin, action, until: clock + 60_000, by: 'ann', reason: 'a test' }, [])
    expect(await hopsOf(groups)(hop)).toBe(action === 'block' ? 'blocked' : 'late')
    await ledger.operate({ origin, action: action === 'block' ? 'unblock' : 'resume', by: 'ann', reason: '' }, [])
    expect(await hopsOf(groups)(hop)).toMatchObject({ isShared: true })
  }
})

test('it holds for a hop back into the origin that is asked, too', async () => {
  const origin = 'http://own.example'
  const fence = await beginRobots(origin, 0)
  const groups = held(await paced('{"host":false}')(origin, 0))
  const hop = { origin, isRobots: false, deadlineMs: 5_000 }
  expect(await hopsOf(groups, fence)(hop)).toMatchObject({ isShared: true, fence })
  await ledger.operate({ origin, action: 'block', until: clock + 60_000, by: 'ann', reason: 'a test' }, [])
  expect(await hopsOf(groups, fence)(hop)).toBe('blocked')
})

test('a hop releases what it has acquired when the origin turns out to be blocked', async () => {
  const groups = held(await paced('{"domain":{"delayMs":5000}}')('http://www.leading.example'))
  const origin = 'https://www.barred.example'
  await ledger.operate({ origin, action: 'block', until: clock + 60_000, by: 'ann', reason: 'a test' }, [])
  expect(await hopsOf(groups)({ origin, isRobots: false, deadlineMs: 5_000 })).toBe('blocked')
  expect((await knock('domain://barred.example')).kind).toBe('granted')
})

test('what a hop owes to the lane of the host, the robots fetch that holds this lane owes at its end', async () => {
  const [here, there] = ['http://shared-lane.example', 'http://shared-lane.example:8080']
  const asker = { agent: polite.key, origin: there }
  const fence = await beginRobots(there, 0)
  const delays = [{ agent: polite.key, delayMs: 7_000 }]
  await ledger.record({ ...asker, fence, state: {}, delays, delayMs: 0, elapsedMs: 0 })
  clock += 10_000
  const groups = held(await paced('')(here, 0))
  await beginHost(groups, 0)
  const hop = await hopsOf(groups)({ origin: there, isRobots: false, deadlineMs: 5_000 })
  if (typeof hop === 'string') throw new Error(hop)
  expect([groups.owedByHopsMs, groups.delayMs()]).toEqual([7_000, 7_000])
  await hop.complete({ kind: 'unanswered', endedAt: performance.now(), timing: { totalMs: 1 } })
  await groups.complete({ endedAt: performance.now(), delayMs: 0 })
  for (const origin of [there, 'https://shared-lane.example']) {
    const again = await knock(origin)
    expect(again.kind === 'wait' && again.waitMs).toBeGreaterThan(6_900) // this clock of Redis stands still
  }
})

test('the lane of https is the lane of its host: other schemes and ports are started with it, it needs no other', async () => {
  const acquire = paced('')
  expect(held(await acquire('http://a.example')).hostLane).toEqual({ agent: polite.key, origin: 'https://a.example' })
  expect(held(await acquire('https://a.example:8443')).hostLane?.origin).toBe('https://a.example')
  expect(held(await acquire('https://a.example')).hostLane).toBeUndefined()
  expect(held(await paced('{"host":false}')('http://a.example')).hostLane).toBeUndefined()
})

test('names at one address go one after another, with the silence of the address between them', async () => {
  const acquire = paced('{"address":{"delayMs":500}}', async () => '192.0.2.7')
  const first = held(await acquire('https://one.example'))
  expect(await acquire('https://two.example')).toHaveProperty('waitMs')
  clock += 70
  await first.complete({ endedAt: performance.now(), delayMs: DELAY })
  const second = await acquire('https://two.example')
  expect(second).toHaveProperty('waitMs')
  expect('waitMs' in second && second.waitMs).toBeGreaterThan(490)
  clock += 500
  held(await acquire('https://two.example'))
})

test('a group with two places lets two in, and no third', async () => {
  const acquire = paced('{"lists":[{"name":"cdn","hosts":["*.cdn.example","img.example"],"delayMs":300,"inFlight":2}]}')
  const [a, b] = [held(await acquire('https://x.cdn.example')), held(await acquire('https://y.z.cdn.example'))]
  expect(await acquire('https://img.example')).toHaveProperty('waitMs')
  held(await acquire('https://cdn.example')) // not below itself, so not in the list
  await a.complete({ endedAt: performance.now(), delayMs: DELAY })
  expect(await acquire('https://img.example')).toHaveProperty('waitMs') // the silence of the place that is free
  clock += 300
  held(await acquire('https://img.example'))
  await b.complete({ endedAt: performance.now(), delayMs: DELAY })
})

test('a group that was acquired for nothing is as it was before', async () => {
  const acquire = paced('{"domain":{"delayMs":5000}}')
  const visit = held(await acquire('https://www.released.example'))
  expect(await acquire('https://shop.released.example')).toHaveProperty('waitMs')
  await visit.release()
  held(await acquire('https://shop.released.example'))
})

test('when one of two groups is not free, the other is not kept', async () => {
  const acquire = paced('{"domain":{"delayMs":100},"address":{"delayMs":100}}', async () => '192.0.2.9')
  const busy = paced('{"domain":{"delayMs":100}}')
  const first = held(await busy('https://a.both.example'))
  expect(await acquire('https://b.both.example')).toHaveProperty('waitMs') // the address was entered before the domain
  expect((await knock('address://192.0.2.9')).kind).toBe('granted')
  await first.release()
})

test('each agent has groups of its own, unless the operator says that they share one', async () => {
  const other = { ...polite, key: 'other', name: 'other' }
  for (const [shared, kind] of [
    [false, 'entered'],
    [true, 'back-off'],
  ] as const) {
    const groups = loadPaceGroups(JSON.stringify({ domain: { delayMs: 500, sharedByAgents: shared } }))
    const pace = openPace({ ledger, groups, addressOf: async () => undefined })
    held(await pace.acquire(polite, `https://www.shared-${shared}.example`, DELAY))
    const second = await pace.acquire(other, `https://shop.shared-${shared}.example`, DELAY)
    expect('waitMs' in second ? 'back-off' : 'entered').toBe(kind)
  }
})

test("'too fast' on any of its origins closes the host, and no other pace group", async () => {
  const acquire = paced('{"domain":{"delayMs":100}}')
  const visit = held(await acquire('http://fast.host.example'))
  await beginHost(visit, 100)
  await visit.complete({
    endedAt: performance.now(),
    load: { kind: 'asked-for-less', retryAfterMs: 60_000 },
    delayMs: 100,
  })
  clock += 200
  const host = await knock('https://fast.host.example')
  expect(host.kind === 'wait' && host.waitMs).toBeGreaterThan(50_000)
  expect((await knock('domain://host.example')).kind).toBe('granted')
})

test('a connection to another address than the group that is held sends nothing', async () => {
  const site = await rawOrigin((socket) => void socket.write(answerOf(200, {}, RULES)))
  const acquire = paced('{"host":false,"address":{"delayMs":100}}', async () => '192.0.2.33')
  const { wrongAddress } = held(await acquire(site.origin))
  expect(wrongAddress('192.0.2.33')).toBeUndefined()
  const { event, detail, unsent } = await robots(connections, site.origin, { wrongAddress })
  expect([event, unsent, detail]).toEqual([undefined, 'not-sent', 'the pace group of 127.0.0.1 is not held'])
  expect(site.asked).toEqual([])
})

test('a name that could not be looked up has no group, so nothing is sent if it is found after all', async () => {
  const { wrongAddress } = held(await paced('{"address":{"delayMs":100}}')('https://late.example'))
  expect(wrongAddress('192.0.2.34')).toMatch(/is not held/)
  expect(held(await paced('')('https://late.example')).wrongAddress('192.0.2.34')).toBeUndefined()
})

test('a queue without requests is forgotten', async () => {
  const raw = new Redis(redis.url)
  const acquire = paced('{"domain":{"delayMs":2000}}')
  const visit = held(await acquire('https://a.forgotten.example'))
  expect(await acquire('https://b.forgotten.example')).toHaveProperty('waitMs')
  const queued = () => raw.hexists('{decorum:0}:queues', `${polite.key} domain://forgotten.example`)
  expect(await queued()).toBe(1)
  await visit.release()
  clock += 4_000_000
  await ledger.reap(0)
  expect(await queued()).toBe(0)
  raw.disconnect()
})
