/** The turn of a request, on the real ledger: hops of a robots.txt, the pace of a host, groups that an operator names. */

import type { ReservedLane, SiteLoad } from '@decorum/ledger'
import { openLedgerWithViews } from '@decorum/ledger/views'
import { loadPaceGroups } from '@decorum/politeness'
import { systemClock } from '@decorum/protocol'
import { sinceNow } from '@decorum/runtime'
import { FRESH_LEASE_MS, hopLanes, Lease, type TurnTools, takeTurn, untilOver } from '@decorum/sending/testing'
import { Redis } from 'ioredis'
import { afterAll, expect, test } from 'vitest'
import { robots } from '../../fetcher/support/orders.ts'
import { answerOf, rawOrigin } from '../../fetcher/support/raw-origin.ts'
import { agentsOf, polite, testConnections } from '../../fetcher/support/tools.ts'
import { PATIENT } from '../../support/patient.ts'
import { redisForTest } from '../../support/redis.ts'

const redis = await redisForTest()
const connections = testConnections()
let clock = 1_800_000_000_000
const ledger = await openLedgerWithViews({ redis: redis.url, partitions: 1, nowMs: () => clock, ...PATIENT })
clock += 1_000 // the first hold of an empty ledger
afterAll(() => ledger.close())

const DELAY = 1_000
const RULES = 'user-agent: *\ndisallow: /x'
const FENCE = 1 // of an order whose own lane these tests do not look at
type More = { fence?: number; hostMs?: number; agent?: typeof polite; refuse?: true }
/** Takes turns, with the lane of the host where `hostMs` says what it owes. The own lane of the request is granted without the ledger. */
const paced = (groups: string, addressOf = async (): Promise<string | undefined> => undefined) => {
  const reporter = untilOver(systemClock, { unheard: 0, stale: 0 })
  const tools: TurnTools = { ledger, groups: loadPaceGroups(groups), addressOf, reporter, agents: agentsOf() }
  return async (origin: string, delayMs = DELAY, { fence = FENCE, hostMs, agent = polite, refuse }: More = {}) => {
    const lane = { agent: agent.key, origin }
    const asked = { agent, origin, delayMs, by: lane }
    const turn = await takeTurn(
      asked,
      async (hostLane) => {
        if (refuse) return { kind: 'refused' as const }
        let host: { fence: number; delayMs: number } | undefined
        if (hostLane !== undefined && hostMs !== undefined) {
          const entry = await ledger.acquire({ lanes: [hostLane], kind: 'pace-group', delayMs: hostMs })
          if (entry.kind !== 'granted') throw new Error('the host is idle')
          host = entry
        }
        const own = { ...lane, fence, delayMs, kind: 'page' as const }
        return { kind: 'granted' as const, own, host, since: sinceNow(systemClock), leaseMs: 45_000 }
      },
      tools,
    )
    if (turn.kind !== 'held') return turn
    const lease = new Lease(agent, turn, { fetchDeadlineMs: 30_000, leaseMs: 45_000 }, tools)
    return { kind: turn.kind, lease, hops: hopLanes(lease, tools) }
  }
}
type Taken = Awaited<ReturnType<ReturnType<typeof paced>>>
const held = (taken: Taken): Extract<Taken, { kind: 'held' }> => {
  if (taken.kind !== 'held') throw new Error(`not now: ${taken.kind}`)
  return taken
}
const end = (taken: Taken, load: SiteLoad = { kind: 'normal' }): Promise<void> =>
  held(taken).lease.end({ what: 'fetched', bytes: 0, endedAt: performance.now(), load })
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
/** A visit to a lane by its name, as a stranger makes it. */
const knock = (origin: string) =>
  ledger.acquire({ lanes: [{ agent: polite.key, origin }], kind: 'pace-group', delayMs: DELAY })

test('a hop holds the lane of the origin it leads to, which owes the delay afterwards', async () => {
  const there = await rawOrigin((socket) => void socket.write(answerOf(200, {}, RULES)))
  const here = await rawOrigin((socket) => void socket.write(answerOf(301, { location: `${there.origin}/robots.txt` })))
  const acquireHop = held(await paced('{"host":false}')(here.origin)).hops
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
  const acquireHop = held(await paced('{"host":false}')(here.origin, DELAY, { agent: gentle })).hops
  await robots(connections, here.origin, { agent: gentle, acquireHop })
  const again = await knock(there.origin)
  expect(again.kind === 'wait' && again.waitMs).toBeGreaterThan(900) // this clock of Redis stands still
})

test('while that lane is in flight no hop is sent; when it is not due in time the rules are not known', async () => {
  const there = await rawOrigin((socket) => void socket.write(answerOf(200, {}, RULES)))
  const here = await rawOrigin((socket) => void socket.write(answerOf(301, { location: `${there.origin}/robots.txt` })))
  expect((await knock(there.origin)).kind).toBe('granted')
  const acquireHop = held(await paced('{"host":false}')(here.origin)).hops
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
  const fence = await beginRobots(site.origin, 80)
  const acquireHop = held(await paced('{"host":false}')(site.origin, 80, { fence })).hops
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
  const { hops: acquireHop } = held(await paced('')(here.origin, 80, { hostMs: 80 }))
  const { event } = await robots(connections, here.origin, { acquireHop })
  expect(event).toMatchObject({ kind: 'answered', status: 200 })
  expect((at[1] ?? 0) - (at[0] ?? 0)).toBeGreaterThanOrEqual(80)
})

test('an operator’s hand on the origin of a hop holds although its lane is leased as the pace lane of the host', async () => {
  for (const action of ['block', 'pause'] as const) {
    const name = `${action}.hand.example`
    const { hops } = held(await paced('')(`http://${name}`, 0, { hostMs: 0 }))
    const origin = `https://${name}`
    const hop = { origin, isRobots: true, deadlineMs: 5_000 }
    await ledger.operate({ origin, action, until: clock + 60_000, by: 'ann', reason: 'a test' }, [])
    expect(await hops(hop)).toBe(action === 'block' ? 'blocked' : 'late')
    await ledger.operate({ origin, action: action === 'block' ? 'unblock' : 'resume', by: 'ann', reason: '' }, [])
    expect(await hops(hop)).toMatchObject({ isShared: true })
  }
})

test('a pause of the host that comes while a hop waits for its own lane holds for it', async () => {
  const name = 'late.hand.example'
  const { hops } = held(await paced('')(`http://${name}`, 0, { hostMs: 0 }))
  const there = { agent: polite.key, origin: `http://${name}:8080` }
  const other = await ledger.acquire({ lanes: [there], kind: 'hop', delayMs: 0 })
  if (other.kind !== 'granted') throw new Error('nobody holds it')
  const waiting = hops({ origin: there.origin, isRobots: true, deadlineMs: 10_000 })
  await new Promise((done) => setTimeout(done, FRESH_LEASE_MS + 100))
  const by = { by: 'ann', reason: 'a test' }
  await ledger.operate({ origin: `http://${name}`, action: 'pause', until: clock + 60_000, ...by }, [])
  await ledger.resolve(0, [{ ...there, fence: other.fence, dropped: [], next: { kind: 'release' } }])
  const hop = await waiting
  if (typeof hop === 'string') throw new Error(hop)
  expect(await hop.confirm()).toContain('paused')
  await ledger.operate({ origin: `http://${name}`, action: 'resume', ...by }, [])
  expect(await hop.confirm()).toBeUndefined()
})

test('it holds for a hop back into the origin that is asked, too', async () => {
  const origin = 'http://own.example'
  const fence = await beginRobots(origin, 0)
  const { hops } = held(await paced('{"host":false}')(origin, 0, { fence }))
  const hop = { origin, isRobots: false, deadlineMs: 5_000 }
  expect(await hops(hop)).toMatchObject({ isShared: true })
  await ledger.operate({ origin, action: 'block', until: clock + 60_000, by: 'ann', reason: 'a test' }, [])
  expect(await hops(hop)).toBe('blocked')
})

test('a hop releases what it has acquired when the origin turns out to be blocked', async () => {
  const { hops } = held(await paced('{"domain":{"delayMs":5000}}')('http://www.leading.example'))
  const origin = 'https://www.barred.example'
  await ledger.operate({ origin, action: 'block', until: clock + 60_000, by: 'ann', reason: 'a test' }, [])
  expect(await hops({ origin, isRobots: false, deadlineMs: 5_000 })).toBe('blocked')
  expect((await knock('domain://barred.example')).kind).toBe('granted')
})

test('what a hop owes to the lane of the host, the robots fetch that holds this lane owes at its end', async () => {
  const [here, there] = ['http://shared-lane.example', 'http://shared-lane.example:8080']
  const asker = { agent: polite.key, origin: there }
  const fence = await beginRobots(there, 0)
  const delays = [{ agent: polite.key, delayMs: 7_000 }]
  await ledger.record({ ...asker, fence, state: {}, delays, delayMs: 0, elapsedMs: 0 })
  clock += 10_000
  const taken = held(await paced('')(here, 0, { hostMs: 0 }))
  const hop = await taken.hops({ origin: there, isRobots: false, deadlineMs: 5_000 })
  if (typeof hop === 'string') throw new Error(hop)
  expect(taken.lease.owedByHopsMs).toBe(7_000)
  await hop.complete({ kind: 'unanswered', endedAt: performance.now(), timing: { totalMs: 1 } })
  await end(taken)
  for (const origin of [there, 'https://shared-lane.example']) {
    const again = await knock(origin)
    expect(again.kind === 'wait' && again.waitMs).toBeGreaterThan(6_900) // this clock of Redis stands still
  }
})

test('the lane of https is the lane of its host: other schemes and ports are started with it, it needs no other', async () => {
  const hostOf = async (groups: string, origin: string) =>
    held(await paced(groups)(origin, 0, { hostMs: 0 })).lease.leases.paceLeases.map((lane) => lane.origin)
  expect(await hostOf('', 'http://a.example')).toEqual(['https://a.example'])
  expect(await hostOf('', 'https://b.example:8443')).toEqual(['https://b.example'])
  expect(await hostOf('', 'https://c.example')).toEqual([])
  expect(await hostOf('{"host":false}', 'http://d.example')).toEqual([])
})

test('names at one address go one after another, with the silence of the address between them', async () => {
  const acquire = paced('{"address":{"delayMs":500}}', async () => '192.0.2.7')
  const first = held(await acquire('https://one.example'))
  expect(await acquire('https://two.example')).toHaveProperty('waitMs')
  clock += 70
  await end(first)
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
  await end(a)
  expect(await acquire('https://img.example')).toHaveProperty('waitMs') // the silence of the place that is free
  clock += 300
  held(await acquire('https://img.example'))
  await end(b)
})

test('a group that was acquired for a lane that is not opened is as it was before', async () => {
  const acquire = paced('{"domain":{"delayMs":5000}}')
  expect(await acquire('https://www.released.example', DELAY, { refuse: true })).toEqual({ kind: 'refused' })
  held(await acquire('https://shop.released.example'))
})

test('a turn that a stop of the group holds is put off for the stop, not for the pace: its end wakes the lane', async () => {
  const [name, by] = ['stopped-group.test', { by: 'test', reason: 'a test' }]
  const take = paced('{"domain":{"delayMs":500}}')
  await ledger.stop({ ...by, names: [name] })
  expect(await take(`http://${name}`)).toMatchObject({ kind: 'later', gate: 'stopped' })
  await ledger.lift({ ...by, names: [name] })
  const first = await take(`http://${name}`)
  expect(await take(`http://other.${name}`)).toMatchObject({ kind: 'later', gate: 'pace-group' })
  await end(first)
})

test('when one of two groups is not free, the other is not kept', async () => {
  const acquire = paced('{"domain":{"delayMs":100},"address":{"delayMs":100}}', async () => '192.0.2.9')
  const busy = paced('{"domain":{"delayMs":100}}')
  held(await busy('https://a.both.example'))
  expect(await acquire('https://b.both.example')).toHaveProperty('waitMs') // the address was entered before the domain
  expect((await knock('address://192.0.2.9')).kind).toBe('granted')
})

test('each agent has groups of its own, unless the operator says that they share one', async () => {
  const other = { ...polite, key: 'other', name: 'other' }
  for (const [shared, kind] of [
    [false, 'entered'],
    [true, 'back-off'],
  ] as const) {
    const acquire = paced(JSON.stringify({ domain: { delayMs: 500, sharedByAgents: shared } }))
    held(await acquire(`https://www.shared-${shared}.example`))
    const second = await acquire(`https://shop.shared-${shared}.example`, DELAY, { agent: other })
    expect('waitMs' in second ? 'back-off' : 'entered').toBe(kind)
  }
})

test("'too fast' on any of its origins closes the host, and no other pace group", async () => {
  const acquire = paced('{"domain":{"delayMs":100}}')
  const taken = await acquire('http://fast.host.example', 100, { hostMs: 100 })
  await end(taken, { kind: 'asked-for-less', retryAfterMs: 60_000 })
  clock += 200
  const host = await knock('https://fast.host.example')
  expect(host.kind === 'wait' && host.waitMs).toBeGreaterThan(50_000)
  expect((await knock('domain://host.example')).kind).toBe('granted')
})

test('a connection to another address than the group that is held sends nothing', async () => {
  const site = await rawOrigin((socket) => void socket.write(answerOf(200, {}, RULES)))
  const acquire = paced('{"host":false,"address":{"delayMs":100}}', async () => '192.0.2.33')
  const { lease } = held(await acquire(site.origin))
  expect(lease.lastCheck('192.0.2.33')).toBeUndefined()
  const { event, detail, unsent } = await robots(connections, site.origin, { lease })
  expect([event, unsent, detail]).toEqual([undefined, 'not-sent', 'the pace group of 127.0.0.1 is not held'])
  expect(site.asked).toEqual([])
})

test('a name that could not be looked up has no group, so nothing is sent if it is found after all', async () => {
  const { lease } = held(await paced('{"address":{"delayMs":100}}')('https://late.example'))
  expect(lease.lastCheck('192.0.2.34')).toMatch(/is not held/)
  expect(held(await paced('')('https://late.example')).lease.lastCheck('192.0.2.34')).toBeUndefined()
})

test('a queue without requests is forgotten', async () => {
  const raw = new Redis(redis.url)
  const acquire = paced('{"domain":{"delayMs":2000}}')
  const first = held(await acquire('https://a.forgotten.example'))
  expect(await acquire('https://b.forgotten.example')).toHaveProperty('waitMs')
  const queued = () => raw.hexists('{decorum:0}:queues', `${polite.key} domain://forgotten.example`)
  expect(await queued()).toBe(1)
  await end(first)
  clock += 4_000_000
  await ledger.reap(0)
  expect(await queued()).toBe(0)
  raw.disconnect()
})
