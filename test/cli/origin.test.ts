/** `decorum origin`: one site looked at, and the operator's hand on it. */

import { hostname, userInfo } from 'node:os'
import { act, printOrigin, readAction } from '@decorum/cli/testing'
import { loadAgents } from '@decorum/config'
import { type LedgerWithViews, type OriginView, openLedgerWithViews } from '@decorum/ledger/views'
import type { Tolerated } from '@decorum/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { monitorCommands } from '../support/monitor.ts'
import { redisForTest } from '../support/redis.ts'
import { decorum, startDecorum } from './decorum.ts'
import { decorumHere } from './decorum-here.ts'

const redis = await redisForTest()
const ORIGIN = 'https://site.example'
let ledger: LedgerWithViews

beforeAll(async () => {
  ledger = await openLedgerWithViews({ redis: redis.url, partitions: 1 })
})
afterAll(() => ledger.close())

/** The real program for one of them. */
const origin = (...args: string[]) =>
  (args[0] === '--pause' ? decorum : decorumHere)(['origin', `${ORIGIN}/a/page`, ...args], {
    env: { REDIS_URL: redis.url },
  })
const view = (): Promise<OriginView> => ledger.viewOrigin(ORIGIN, ['decorum'])
const store = (ids: string[]) =>
  ledger.store(
    0,
    ids.map((id) => ({
      lane: { agent: 'decorum', origin: ORIGIN },
      pending: { id, path: `/${id}`, expiresAt: Date.now() + 600_000, hops: 0, priority: 'normal' as const },
    })),
  )

test('pause for a while and resume: printed, shown, and recorded with who and why', async () => {
  const paused = await origin('--pause', '--for', '1h30m', '--reason', 'they wrote to us', '--by', 'ann')
  expect(paused).toMatchObject({ code: 0, stderr: '' })
  expect(paused.stdout).toMatch(/^paused: nothing is fetched, URLs wait\nhttps:\/\/site\.example\n/)
  expect(paused.stdout).toMatch(/ {2}paused {5}for another 1 h (30|29) min[^\n]*: they wrote to us\n/)
  const { now, paused: until } = await view()
  expect((until?.until ?? 0) - now).toBeGreaterThan(5_300_000)
  const resumed = await origin('--resume', '--json')
  expect(JSON.parse(resumed.stdout)).not.toHaveProperty('paused')
  expect(await ledger.operations(0, 2)).toMatchObject([
    { action: 'resume', reason: '' },
    { action: 'pause', by: 'ann', reason: 'they wrote to us' },
  ])
})

test('block without an end, unblock; a delay by hand and its end; refetch', async () => {
  // Without a process each: what is typed becomes options in program.ts
  const agents = loadAgents({ defaultDelayMs: 1_000, maxDelayMs: 10_000 })
  const does = async (options: Parameters<typeof readAction>[0]): Promise<string> => {
    const action = readAction(options)
    if (action === undefined) throw new Error('an action was meant')
    const said = await act(ledger, ORIGIN, action, agents, new AbortController().signal)
    return `${said}\n${printOrigin(await view(), agents)}`
  }
  expect(await does({ block: true, reason: 'court order' })).toContain('blocked    until somebody ends it: court order')
  expect(await does({ unblock: true })).not.toContain('court order')
  const slow = await does({ delay: 30_000, for: 604_800_000, reason: 'small host' })
  expect(slow).toContain('by hand    a delay of 30 s for another 7 d: small host')
  expect(slow).toContain('delay    30 s, set by hand: small host')
  expect(await does({ restoreDelay: true })).not.toContain('by hand')
  expect(await does({ refetch: true })).toMatch(/^its robots.txt is fetched again/)
  expect((await ledger.operations(0, 1))[0]).toMatchObject({
    action: 'refetch',
    by: `${userInfo().username} on ${hostname()}`,
  })
})

test('the gates that are closed stand beside the lane, whether or not it has been looked at, and no others', async () => {
  const agents = loadAgents({ defaultDelayMs: 1_000, maxDelayMs: 10_000 })
  const site = 'https://gates.example'
  const does = (options: Parameters<typeof readAction>[0]) =>
    act(
      ledger,
      site,
      readAction(options) as NonNullable<ReturnType<typeof readAction>>,
      agents,
      new AbortController().signal,
    )
  const laneLine = async (): Promise<string> =>
    printOrigin(await ledger.viewOrigin(site, ['decorum']), agents)
      .split('\n')
      .at(-1) ?? ''
  const lane = { agent: 'decorum', origin: site }
  const pending = { id: 'g', path: '/g', expiresAt: Date.now() + 600_000, hops: 0, priority: 'normal' as const }
  await ledger.store(0, [{ lane, pending }])
  await does({ pause: true, reason: 'x' })
  expect(await laneLine()).toMatch(/1 waiting, due \(.*paused.*\)$/)
  const looked = () => ledger.reserve(0, { limit: 10, aheadMs: 0, inFlightLimit: 9, peek: 1 })
  await expect.poll(() => looked().then(laneLine)).toMatch(/1 waiting, due in .* \(.*paused.*\)$/)
  await does({ resume: true })
  expect(await laneLine()).not.toContain('paused')
})

test('faults of its answers that were overlooked are counted over its latest notes', async () => {
  const about = { url: `${ORIGIN}/odd`, agent: 'decorum', at: Date.now(), attempts: 1 }
  const page = {
    kind: 'fetched' as const,
    status: 200,
    headers: [],
    bytes: 1,
    truncated: '' as const,
    digest: 'sha1:A',
  }
  const timed = { startedAt: 1, ms: 1, address: '192.0.2.1' }
  const odd = (id: string, tolerated: Tolerated[]) => ({ outcome: { ...about, ...page, ...timed, id, tolerated } })
  await ledger.store(0, [odd('one', ['bare-lf', 'folded-header']), odd('two', ['folded-header'])])
  await expect.poll(async () => (await ledger.notesOf(ORIGIN)).filter((note) => 'tolerated' in note).length).toBe(2)
  const shown = await origin()
  expect(shown.stdout).toContain('  overlooked folded-header 2, bare-lf 1 (faults, among its latest notes)\n')
  expect(JSON.parse((await origin('--json')).stdout).tolerated).toEqual({ 'folded-header': 2, 'bare-lf': 1 })
})

test('drop: how many URLs ended', async () => {
  await store(['a', 'b', 'c'])
  const dropped = await origin('--drop', '--reason', 'not wanted')
  expect(dropped.stdout).toMatch(/^dropped: 3 URLs, each with its outcome\n/)
  expect((await view()).lanes[0]?.waiting).toBe(0)
})

test('Ctrl-C while a drop waits for a lane in flight: what is left stays stored, and the act is recorded', async () => {
  await store(['flying', 'waits'])
  const taken = await ledger.reserve(0, { limit: 1, aheadMs: 60_000, inFlightLimit: 9, peek: 1 })
  expect(taken.kind).toBe('reserved')
  const before = (await ledger.operations(0, 1))[0]?.at
  const running = startDecorum(['origin', ORIGIN, '--drop', '--reason', 'x'], { env: { REDIS_URL: redis.url } })
  await tried(`decorum ${ORIGIN}`)
  running.child.kill('SIGINT')
  const { code, stderr } = await running.result
  expect([code, stderr]).toEqual([3, 'stopped: each URL that was dropped has its outcome, the others wait\n'])
  expect((await view()).lanes[0]?.waiting).toBe(2)
  expect((await ledger.operations(0, 1))[0]?.at).toBeGreaterThan(before ?? 0)
})

/** Resolves when somebody has asked Redis for this lane. */
async function tried(lane: string): Promise<void> {
  const asked = Promise.withResolvers<void>()
  const monitor = await monitorCommands(redis.url, (args) => args.includes(lane) && asked.resolve())
  await asked.promise
  monitor.close()
}

test('wrong usage: exit 2 with a sentence, and nothing is done', async () => {
  const before = await ledger.operations(0, 100)
  expect(await origin('--pause')).toMatchObject({ code: 2, stderr: expect.stringContaining('--pause needs --reason') })
  const nobody = await origin('--drop', '--agent', 'who', '--reason', 'x')
  expect(nobody).toMatchObject({ code: 2, stderr: expect.stringContaining("no agent is called 'who'") })
  expect(await ledger.operations(0, 100)).toEqual(before)
})
