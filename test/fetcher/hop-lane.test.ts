/** Hops of a robots.txt: into another origin's lane through the ledger, within the own lane after the gap. */
import { openLedger } from '@decorum/ledger'
import { afterAll, expect, test } from 'vitest'
import { hopLanes } from '../../services/fetcher/src/hop-lane.ts'
import { redisForTest } from '../support/redis.ts'
import { robots } from './support/orders.ts'
import { answerOf, rawOrigin } from './support/raw-origin.ts'
import { polite, testConnections } from './support/tools.ts'

const redis = await redisForTest()
const connections = testConnections()
let clock = 1_800_000_000_000
const ledger = await openLedger({ redis: redis.url, partitions: 1, nowMs: () => clock })
clock += 1_000 // the first hold of an empty ledger
afterAll(() => ledger.close())

const RULES = 'user-agent: *\ndisallow: /x'

test('a hop enters the lane of the origin it leads to, and leaves it owing the gap', async () => {
  const there = await rawOrigin((socket) => void socket.write(answerOf(200, {}, RULES)))
  const here = await rawOrigin((socket) => void socket.write(answerOf(301, { location: `${there.origin}/robots.txt` })))
  const { event } = await robots(connections, here.origin, { enterHop: hopLanes(ledger) })
  expect(event).toMatchObject({ kind: 'answered', status: 200 })
  const lane = { agent: polite.key, origin: there.origin }
  const again = await ledger.enter(lane, polite.minGapMs)
  expect(again.kind).toBe('wait')
  expect(again.kind === 'wait' && again.waitMs).toBeLessThanOrEqual(polite.minGapMs)
})

test('a slow hop of an agent that rests in proportion owes that there, too', async () => {
  const gentle = { ...polite, adaptiveGap: { factor: 10, floorMs: 0, capMs: 60_000 } }
  const there = await rawOrigin((socket) => void setTimeout(() => socket.write(answerOf(200, {}, RULES)), 100))
  const here = await rawOrigin((socket) => void socket.write(answerOf(301, { location: `${there.origin}/robots.txt` })))
  await robots(connections, here.origin, { agent: gentle, enterHop: hopLanes(ledger) })
  const again = await ledger.enter({ agent: gentle.key, origin: there.origin }, 0)
  expect(again.kind === 'wait' && again.waitMs).toBeGreaterThan(900) // this clock of Redis stands still
})

test('while that lane is in flight no hop is sent; when it does not open in time the rules are not known', async () => {
  const there = await rawOrigin((socket) => void socket.write(answerOf(200, {}, RULES)))
  const here = await rawOrigin((socket) => void socket.write(answerOf(301, { location: `${there.origin}/robots.txt` })))
  const busy = await ledger.enter({ agent: polite.key, origin: there.origin }, 0)
  expect(busy.kind).toBe('granted')
  const enterHop = hopLanes(ledger)
  const { event } = await robots(connections, here.origin, {
    enterHop: (agent, origin) => enterHop(agent, origin, 200),
  })
  expect(event).toMatchObject({ kind: 'unanswered', reason: 'timeout' })
  expect(there.asked).toEqual([])
})

test('a hop within the origin comes after the gap', async () => {
  const at: number[] = []
  const site = await rawOrigin((socket, { head }) => {
    at.push(performance.now())
    socket.write(
      head.startsWith('GET /robots.txt ') ? answerOf(301, { location: '/rules.txt' }) : answerOf(200, {}, RULES),
    )
  })
  const { event } = await robots(connections, site.origin, { gapMs: 80 })
  expect(event).toMatchObject({ kind: 'answered', status: 200 })
  expect((at[1] ?? 0) - (at[0] ?? 0)).toBeGreaterThanOrEqual(80)
})
