/** A lease that grew old before its request could leave: it is confirmed, or nothing is sent. */

import { LedgerUnavailableError } from '@decorum/ledger'
import { loadPaceGroups } from '@decorum/politeness'
import { Lease, orderTurn } from '@decorum/sending'
import { expect, onTestFinished, test, vi } from 'vitest'
import { rig, slowLookUp } from '../support/order-rig.ts'
import { pageOrder } from '../support/orders.ts'
import { answerOf, rawOrigin } from '../support/raw-origin.ts'
import { polite, testConnections } from '../support/tools.ts'

test('a wall clock that jumps while a lease is held makes it too old: nothing is sent', async () => {
  const now = Date.now
  const { tools } = rig()
  const turn = await orderTurn(pageOrder('http://a.example'), polite, tools)
  if (turn.kind !== 'held') throw new Error(turn.kind)
  const lease = new Lease(polite, turn, tools, tools)
  expect(lease.lastCheck(undefined)).toBeUndefined()
  try {
    Date.now = () => now() + 1_100 // as after a suspended machine: the monotonic clock stood still
    expect(lease.lastCheck(undefined)).toContain('older than')
    Date.now = () => now() + 60_000
    expect(lease.stillHeld()).toContain('over')
    Date.now = () => now() - 3_600_000 // a clock set back changes nothing
    expect(lease.lastCheck(undefined)).toBeUndefined()
  } finally {
    Date.now = now
  }
})

test.each(['back-off', 'stopped', 'rules-changed', 'startup-hold', 'stale'] as const)(
  'connecting took long, and the lease is not confirmed (%s): nothing is sent, nothing is counted, the lane is given back',
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

test.each([
  ['the reply came late', 1_100, 1],
  ['the reply came when the lease was over', 45_000, 0],
])(
  'a lane was started long after its pace group was acquired (%s): nothing is sent unless both are confirmed',
  async (_, lateMs, times) => {
    const site = await rawOrigin(answerOf(200).toString('latin1'))
    const { lookup, undo } = slowLookUp(lateMs)
    onTestFinished(undo)
    const group = { agent: 'decorum', origin: 'list://cdn' }
    const acquire = async () => {
      await lookup('')
      return { kind: 'granted', lane: group, fence: 4, delayMs: 20, leaseMs: 45_000 } as const
    }
    const asked: unknown[] = []
    const confirm = async (held: unknown) => {
      asked.push(held)
      return 'stale' as const
    }
    const { tools, released, settled, run } = rig({ acquire, confirm })
    const origin = `http://127.0.0.1:${new URL(site.origin).port}`
    const groups = loadPaceGroups(
      JSON.stringify({ host: false, lists: [{ name: 'cdn', hosts: ['127.0.0.1'], delayMs: 20 }] }),
    )
    Object.assign(tools, { groups, addressOf: async () => undefined })
    await run(pageOrder(origin, '/', { fence: 9, version: 3 }))
    const both = [
      { agent: 'decorum', origin, fence: 9, version: 3 },
      { ...group, fence: 4 },
    ]
    expect(asked).toEqual(Array.from({ length: times }, () => both))
    expect([site.asked, settled]).toEqual([[], []])
    expect(released).toMatchObject([
      { origin, fence: 9, next: { kind: 'unused' } },
      { ...group, fence: 4, next: { kind: 'unused' } },
    ])
  },
)

test.each([
  ['the lane’s own is not', 30_000, 1],
  ['so is the lane’s own', 45_000, 0],
])('a robots.txt was heard when the lease of its pace group was over (%s)', async (_, heldMs, times) => {
  const now = Date.now
  const standStill = (ms: number) => vi.spyOn(Date, 'now').mockImplementation(() => now() + ms)
  onTestFinished(() => void vi.restoreAllMocks())
  const site = await rawOrigin((socket) => {
    standStill(30_000 + heldMs)
    socket.write(answerOf(200, {}, 'User-agent: *\nDisallow: /private\n'))
  })
  const acquire = async () => {
    standStill(30_000) // before the lane is started
    return { kind: 'granted', lane: { agent: 'decorum', origin: 'list://cdn' }, fence: 4, delayMs: 20 } as never
  }
  const { tools, recorded, run } = rig({ acquire })
  const groups = loadPaceGroups(
    JSON.stringify({ host: false, lists: [{ name: 'cdn', hosts: ['127.0.0.1'], delayMs: 20 }] }),
  )
  Object.assign(tools, { groups, addressOf: async () => undefined })
  await run(pageOrder(site.origin, '/robots.txt', { kind: 'robots' }))
  expect([site.asked.length, recorded.length]).toEqual([1, times])
})

test('connecting took long, and the lease is confirmed: the request is sent; after a quick connect it is not asked for', async () => {
  const site = await rawOrigin(answerOf(200).toString('latin1'))
  const origin = `http://slow.example:${new URL(site.origin).port}`
  const quick = slowLookUp(300)
  onTestFinished(quick.undo)
  let asked = 0
  const confirm = async () => {
    asked++
    return 'granted' as const
  }
  await rig({ confirm }, { connections: testConnections({ lookup: quick.lookup }) }).run(pageOrder(origin))
  expect([asked, site.asked.length]).toEqual([0, 1])
  quick.undo()
  const slow = slowLookUp(6_000) // older than the send window: the confirmation counts
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

test('a hop on another host of the same pace group: the group is confirmed with the lanes of the hop', async () => {
  const now = Date.now
  onTestFinished(() => void vi.restoreAllMocks())
  const found = await rawOrigin(answerOf(200).toString('latin1'), { host: '127.0.0.2' })
  const site = await rawOrigin(answerOf(301, { location: `${found.origin}/robots.txt` }).toString('latin1'))
  const acquire = async ({ lanes: [lane], kind }: { lanes: readonly object[]; kind: string }) => {
    if (kind === 'hop') vi.spyOn(Date, 'now').mockImplementation(() => now() + 900) // not fresh any more
    return { kind: 'granted', lane, fence: 4, delayMs: 1 } as never
  }
  const asked: string[] = []
  const confirm = async (held: readonly { origin: string }[]) => {
    asked.push(...held.map(({ origin }) => origin))
    return 'granted' as const
  }
  const { tools, run } = rig({ acquire, confirm })
  const cdn = { name: 'cdn', hosts: ['127.0.0.1', '127.0.0.2'], delayMs: 1 }
  const groups = loadPaceGroups(JSON.stringify({ host: false, lists: [cdn] }))
  Object.assign(tools, { groups, addressOf: async () => undefined })
  await run(pageOrder(site.origin, '/robots.txt', { kind: 'robots' }))
  expect(found.asked).toHaveLength(1)
  expect(asked.slice(-2)).toEqual([found.origin, 'list://cdn']) // before it, on a busy machine, those of the first request
})
