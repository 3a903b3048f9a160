/** A Redis that is away: every call of the ledger says so by one error, whether Redis is dead or only stands still. */
import { LedgerUnavailableError } from '@decorum/ledger'
import { type LedgerWithViews, openLedgerWithViews } from '@decorum/ledger/views'
import { expect, onTestFinished, test } from 'vitest'
import { PATIENT } from '../support/patient.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'

type CallName = {
  [Name in keyof LedgerWithViews]: LedgerWithViews[Name] extends (...given: never[]) => Promise<unknown> ? Name : never
}[keyof LedgerWithViews]

const origin = 'http://site.test'
const lane = { origin, agent: 'bot' }
const held = { ...lane, fence: 1 }
const about = { by: 'test', reason: 'test' }
const outcome = {
  id: 'a',
  url: `${origin}/a`,
  agent: 'bot',
  kind: 'failed',
  reason: 'dns',
  detail: '',
  at: 1,
  attempts: 1,
}

/** Each call; the compiler names one that is missing. `onWake`, `setRates` and `reportLate` try again until they succeed. */
const CALLS: Record<
  Exclude<CallName, 'close' | 'onWake' | 'setRates' | 'reportLate'>,
  (ledger: LedgerWithViews) => Promise<unknown>
> = {
  store: (ledger) => ledger.store(0, [{ outcome } as never]),
  forgetMark: (ledger) => ledger.forgetMark(0, 'job'),
  outbox: (ledger) => ledger.outbox(0, 1),
  clearOutbox: (ledger) => ledger.clearOutbox(0, ['1-1']),
  reserve: (ledger) => ledger.reserve(0, { limit: 1, aheadMs: 0, inFlightLimit: 1, outcomesLimit: 1 } as never),
  claim: (ledger) => ledger.claim(lane),
  firstUrlOf: (ledger) => ledger.firstUrlOf(lane, 'normal', 'default'),
  start: (ledger) => ledger.start({ ...lane, fence: 1, kind: 'page', delayMs: 1, version: 0 } as never),
  confirm: (ledger) => ledger.confirm([held]),
  hopTurn: (ledger) => ledger.hopTurn(lane.origin, 'others', 1_000),
  keepHopTurn: (ledger) => ledger.keepHopTurn(lane.origin, 'others', 1_000),
  acquire: (ledger) => ledger.acquire({ lanes: [{ ...lane, delayMs: 1 }], waitMs: 0 } as never),
  next: (ledger) => ledger.next({ kind: 'hop', lane, held: [held], elapsedMs: 0, delayMs: 1 }),
  grant: (ledger) => ledger.grant({ ...lane, version: 0, delayMs: 1, leaseMs: 1_000, by: lane }),
  extend: (ledger) => ledger.extend([held], 1_000),
  complete: (ledger) =>
    ledger.complete({ ...lane, fence: 1, delayMs: 1, elapsedMs: 1, load: { kind: 'normal' } } as never),
  resolve: (ledger) => ledger.resolve(0, [{ ...held, dropped: [], next: { kind: 'unused' } }]),
  record: (ledger) => ledger.record({ ...held, state: {}, delays: [], delayMs: 1, elapsedMs: 1 }),
  keep: (ledger) => ledger.keep(origin, {}),
  endRobotsFetch: (ledger) => ledger.endRobotsFetch({ origin, fence: 1, agents: ['bot'] }),
  body: (ledger) => ledger.body(0, 'hash'),
  robotsStates: (ledger) => ledger.robotsStates(0, [origin]),
  reap: (ledger) => ledger.reap(0),
  viewOrigin: (ledger) => ledger.viewOrigin(origin, ['bot']),
  viewLanes: (ledger) => ledger.viewLanes(0, { sort: 'soonest', limit: 1 } as never),
  viewPartition: (ledger) => ledger.viewPartition(0),
  viewClosed: (ledger) => ledger.viewClosed(0, { gate: 'paused', limit: 1 } as never, ['bot']),
  scanLanes: (ledger) => ledger.scanLanes(0, { cursor: '0', domain: 'site.test' } as never),
  notesOf: (ledger) => ledger.notesOf(origin),
  examples: (ledger) => ledger.examples(0, ['dns']),
  sample: (ledger) => ledger.sample(0),
  samples: (ledger) => ledger.samples(0, 1),
  operate: (ledger) => ledger.operate({ origin, ...about, action: 'pause' }, ['bot']),
  operations: (ledger) => ledger.operations(0, 1),
  dropBacklog: (ledger) => ledger.dropBacklog(lane, 'test', ''),
  intake: (ledger) => ledger.intake(0),
  laterTargets: (ledger) => ledger.laterTargets(),
  waitingForIntake: (ledger) => ledger.waitingForIntake(),
  findInJobs: (ledger) => ledger.findInJobs(0, { id: 'a' }),
  findPending: (ledger) => ledger.findPending(lane, { id: 'a' }),
  findOutcome: (ledger) => ledger.findOutcome(0, 'default', { id: 'a' }),
  storedIn: (ledger) => ledger.storedIn('a'),
  areStored: (ledger) => ledger.areStored([{ origin, id: 'a' }]),
  cancel: (ledger) => ledger.cancel({ ...lane, entry: 'a' } as never, outcome as never),
  crawls: (ledger) => ledger.crawls(),
  changeCrawl: (ledger) => ledger.changeCrawl({ name: 'news', change: { weight: 2 }, ...about }),
  forgetCrawl: (ledger) => ledger.forgetCrawl('news'),
  limitCrawls: (ledger) => ledger.limitCrawls(),
  sweepCrawls: (ledger) => ledger.sweepCrawls(0),
  trimOutcomes: (ledger) => ledger.trimOutcomes(0),
  oldestOutcome: (ledger) => ledger.oldestOutcome(),
  unread: (ledger) => ledger.unread('default'),
  readers: (ledger) => ledger.readers('default'),
  forgetReader: (ledger) => ledger.forgetReader({ crawl: 'default', group: 'g', ...about } as never),
  announce: (ledger) => ledger.announce({} as never),
  members: (ledger) => ledger.members(),
  memory: (ledger) => ledger.memory(),
  announceRestart: (ledger) => ledger.announceRestart(),
  stop: (ledger) => ledger.stop({ names: ['other.test'], ...about }),
  lift: (ledger) => ledger.lift({ names: ['site.test'], ...about }),
  announceContent: (ledger) => ledger.announceContent('http://127.0.0.1:1'),
  keepsContent: (ledger) => ledger.keepsContent('http://127.0.0.1:1'),
}

test.each([
  ['dead', (redis: TestRedis) => redis.kill9()],
  ['standing still', async (redis: TestRedis) => void process.kill(redis.pid, 'SIGSTOP')],
])('Redis is %s: every call fails with LedgerUnavailableError', async (_, hurt) => {
  const redis = await startRedis()
  const ledger = await openLedgerWithViews({
    redis: redis.url,
    partitions: 1,
    isNew: true,
    ...PATIENT,
    callDeadlineMs: 1_000,
  })
  onTestFinished(async () => {
    await ledger.close()
    await redis.kill9()
  })
  // A crawl that is known, with something to do for it: else nothing would be asked about crawls.
  await ledger.changeCrawl({ name: 'news', change: { state: 'cancelled', limits: { stored: 1 } }, ...about })
  await ledger.crawlBook.refresh()
  await ledger.stop({ names: ['site.test'], ...about })
  await hurt(redis)
  const told = await Promise.allSettled([
    ...Object.values(CALLS).map(async (call) => call(ledger)),
    ledger.crawlBook.refresh(),
    ledger.pool(0, 'p').offer(['order']),
    ledger.pool(0, 'p').take(1),
    ledger.pool(0, 'p').waiting(),
  ])
  const names = [...Object.keys(CALLS), 'look', 'offer', 'take', 'waiting']
  const others = told.flatMap((one, at) =>
    one.status === 'rejected' && one.reason instanceof LedgerUnavailableError
      ? []
      : [`${names[at]}: ${one.status === 'rejected' ? one.reason : 'no error'}`],
  )
  expect(others).toEqual([])
})
