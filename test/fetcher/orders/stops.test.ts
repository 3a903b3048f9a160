/** Emergency stops as a fetcher keeps them: what the ledger cannot know (addresses), and what comes in after the lease was started. */
import { expect, test } from 'vitest'
import { rig } from '../support/order-rig.ts'
import { pageOrder } from '../support/orders.ts'
import { answerOf, rawOrigin } from '../support/raw-origin.ts'
import { testConnections } from '../support/tools.ts'

const ADDRESS = '127.0.0.1'
const lookup = async () => [{ address: ADDRESS, family: 4 as const }]
const stoppedAt = (_: string, address: string | undefined): string | undefined =>
  address === ADDRESS ? `${ADDRESS} is stopped` : undefined

test('a host whose name leads to a stopped address is not connected to: its lane is put off, and no attempt is counted', async () => {
  const site = await rawOrigin(answerOf(200).toString('latin1'))
  const origin = `http://named.example:${new URL(site.origin).port}`
  const stops = { why: stoppedAt, hasAddresses: () => true }
  const { run, settled, started, released } = rig({ stops }, { connections: testConnections({ lookup }) })
  await run(pageOrder(origin, '/', { fence: 9 }))
  expect([site.connections, site.asked, started, settled]).toEqual([0, [], [], []])
  expect(released).toMatchObject([{ fence: 9, dropped: [], next: { kind: 'defer', why: 'stopped' } }])
})

test.each([
  ['page', '/page'],
  ['robots', '/robots.txt'],
] as const)(
  'a stop that comes in while a connection is made: the %s is not sent, and the lease is given back unused',
  async (kind, path) => {
    const site = await rawOrigin(answerOf(200).toString('latin1'))
    const origin = `http://named.example:${new URL(site.origin).port}`
    // Nothing was stopped when the lease was started, and when the connection was begun.
    let asked = 0
    const why = (name: string, address: string | undefined) => (asked++ === 0 ? undefined : stoppedAt(name, address))
    const connections = testConnections({ lookup, stops: { why } })
    const { run, settled, released } = rig({}, { connections })
    await run(pageOrder(origin, path, { kind, fence: 9 }))
    expect([site.connections, site.asked, settled]).toEqual([1, [], []])
    expect(released).toMatchObject([{ fence: 9, next: { kind: 'unused' } }])
  },
)

test.each([
  ['page', '/page'],
  ['robots', '/robots.txt'],
] as const)('a stop that comes in before a connection is made: a %s is not connected to', async (kind, path) => {
  const site = await rawOrigin(answerOf(200).toString('latin1'))
  const origin = `http://named.example:${new URL(site.origin).port}`
  const connections = testConnections({ lookup, stops: { why: stoppedAt } })
  const { run, settled, released } = rig({}, { connections }) // when its turn was taken, nothing was stopped
  await run(pageOrder(origin, path, { kind, fence: 9 }))
  expect([site.connections, settled]).toEqual([0, []])
  expect(released).toMatchObject([{ fence: 9, next: { kind: 'unused' } }])
})

test.each([
  ['before its turn', () => true],
  ['after it', () => false],
])('a hop of a robots.txt to a stopped address (%s) is not connected to', async (_, hasAddresses) => {
  const other = await rawOrigin(answerOf(200).toString('latin1'), { host: '127.0.0.2' })
  const location = `http://other.example:${new URL(other.origin).port}/robots.txt`
  const site = await rawOrigin(answerOf(301, { location }).toString('latin1'))
  const named = async (host: string) => [
    { address: host === 'other.example' ? '127.0.0.2' : ADDRESS, family: 4 as const },
  ]
  const why = (_: string, address: string | undefined) => (address === '127.0.0.2' ? 'stopped' : undefined)
  const acquire: NonNullable<Parameters<typeof rig>[0]>['acquire'] = async ({ lanes: [lane] }) => ({
    kind: 'granted',
    lane: lane!,
    fence: 4,
    delayMs: 0,
    leaseMs: 45_000,
  })
  const connections = testConnections({ lookup: named, stops: { why } })
  const { run, recorded } = rig({ acquire, stops: { why, hasAddresses } }, { connections })
  await run(pageOrder(site.origin, '/robots.txt', { kind: 'robots', fence: 9 }))
  expect([site.asked.length, other.connections]).toEqual([1, 0])
  expect(recorded).toMatchObject([{ state: { answer: { reason: 'timeout' } } }])
})
