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
    // Nothing was stopped when the lease was started.
    const connections = testConnections({ lookup, stops: { why: stoppedAt } })
    const { run, settled, released } = rig({}, { connections })
    await run(pageOrder(origin, path, { kind, fence: 9 }))
    expect([site.asked, settled]).toEqual([[], []])
    expect(released).toMatchObject([{ fence: 9, next: { kind: 'unused' } }])
  },
)
