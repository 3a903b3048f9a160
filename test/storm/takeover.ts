/**
 * A ledger of an earlier layout, filled and at work, becomes one of this version's while processes of both die: the upgrade itself is
 * killed in the middle again and again, steps back once, and goes on. Judged like a storm, by what sites and frontier wrote down.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { EPOCH, keysOf, LAYOUT } from '@decorum/ledger/testing'
import { partitionTags } from '@decorum/protocol'
import { now as clock } from '@decorum/synthetic-web'
import { Redis } from 'ioredis'
import { recordedWeb, type Site } from '../support/origins/index.ts'
import { type Book, openBook } from './book.ts'
import { diceOf } from './dice.ts'
import { type FaultLog, letLoose, type Target } from './faults.ts'
import { environment, SCALED, type Times } from './manners.ts'
import { startRedisUnderFire } from './redis-fire.ts'
import { watchStalls } from './stalls.ts'
import { storedIds, untilRead } from './stored.ts'
import { judgeStorm, type StormFacts, type Verdict } from './verdict.ts'
import { countTroubles, THIS_TREE, Worker } from './worker.ts'

export type TakeoverOptions = {
  seed: number
  urls: number
  sites: number
  /** folder of a version with an earlier layout (trees.ts) */
  earlier: string
  /** of the upgrade, before it is let through */
  kills: number
  /** how long the earlier version works before, the same after the step back, and this version afterwards, ms */
  beforeMs: number
  backMs: number
  afterMs: number
  say?: (line: string) => void
}

/** One start of `decorum ledger upgrade`. */
export type Attempt = {
  back: boolean
  /** scripts of one bounded step that it ran, and the longest of them, ms of Redis's time */
  steps: number
  longestStepMs: number
  ms: number
  /** killed, or ended by itself */
  end: 'killed' | 'done'
  /** what it left behind */
  stands: Standing
}

/** As the earlier version knows it; closed to both; as this version knows it. */
export type Standing = 'earlier' | 'closed' | 'upgraded'

export type TakeoverResult = {
  facts: StormFacts
  verdict: Verdict
  attempts: Attempt[]
  /** leases and reservations that were out when the ledger was closed, each time */
  leasesOut: number[]
  /** gateways and fetchers that were killed by dice: beside them, a closing ends what the earlier fetchers have in flight */
  killed: number
  /** from the last closing to when the last partition had its new layout, ms: with the time in which the lock of a killed one ran out */
  closedMs: number
  troubles: Map<string, number>
  ms: number
}

export const TIMES: Times = {
  ...SCALED,
  delayMs: 1_000,
  capMs: 10_000,
  deadlineMs: 10_000,
  leaseMs: 20_000,
  quarantineMs: 5_000,
  reserveMs: 10_000,
  intakeLockMs: 10_000,
}
const PARTITIONS = 2
const GATEWAYS = 2
const FETCHERS = 2
const SLOTS = 50
const BATCH = 20_000
const KILL_MS = 5_000
/** A killed upgrade is killed so long after its first step, at most: so that most are killed before their last one. */
const intoItMs = (sites: number): number => 5 + sites / 200
const LOOK_MS = 2
const READ_MS = 600_000
const AGAIN_MS = 500
/** Every one is kept, so that the steps of an upgrade can be counted. */
const SLOWLOG_LENGTH = 100_000

export async function takeOver(options: TakeoverOptions): Promise<TakeoverResult> {
  const { seed, urls, say = () => undefined } = options
  const began = clock()
  const dice = diceOf(seed)
  const folder = await mkdtemp(join(tmpdir(), 'decorum-takeover-'))
  const data = join(folder, 'redis')
  await mkdir(data)
  const redis = await startRedisUnderFire(data)
  const stalls = watchStalls(folder, redis.url)
  const raw = new Redis(redis.url)
  const names = Array.from({ length: options.sites }, (_, n) => `site-${n}`)
  const web = await recordedWeb(
    names.map((name): Site => ({ name, robots: { body: 'User-agent: *\nDisallow: /no\n' }, pages: { delayMs: 20 } })),
  )
  const { troubles, onTrouble } = countTroubles()
  const earlier = fleetOf('earlier', options.earlier, redis.url, onTrouble)
  const current = fleetOf('current', THIS_TREE, redis.url, onTrouble)
  const log: FaultLog = { kills: [], freezes: [], outages: [], hurts: [], configs: [] }
  const end = new AbortController()
  let book: Book | undefined
  try {
    await Promise.all(earlier.map(({ worker }) => worker.startUntilReady()))
    const frontier = await openBook(redis.url)
    book = frontier
    for (let n = 0; n < urls; n += BATCH)
      await frontier.pour(
        Array.from({ length: Math.min(BATCH, urls - n) }, (_, i) => ({
          id: `u${n + i}`,
          url: `${web.origins[names[(n + i) % names.length] as string]}/page/${n + i}`,
        })),
      )
    await untilStored(raw)
    say(`${urls} URLs of ${names.length} sites are stored by the earlier version after ${seconds(began)}`)
    const from = clock()
    const rage = (targets: Target[], ms: number, signal: AbortSignal): Promise<void> =>
      letLoose(targets, redis, {
        rhythm: { killMs: KILL_MS, freezeMs: ms * 100, hurtMs: ms, configMs: 0, outages: [] },
        times: TIMES,
        dice,
        ms,
        log,
        signal,
      })
    const raging = rage([...earlier, ...current], options.beforeMs, end.signal)
    await sleep(options.beforeMs)

    const attempts: Attempt[] = []
    const leasesOut: number[] = []
    let closedAt = 0
    let steppedBack = false
    const onClosed = async (): Promise<void> => {
      // What the earlier fetchers have in flight cannot be completed any more: to them the upgrade is a death.
      closedAt = clock()
      for (const { worker } of earlier)
        if (worker.role === 'fetcher') log.kills.push({ name: worker.name, role: 'fetcher', at: closedAt })
      leasesOut.push(await countLeases(raw))
    }
    // Started before the upgrade, refused until its end, and started again by what watches them.
    for (const { worker } of current) void worker.start().catch(() => undefined)
    for (let kill = 1; kill <= options.kills && attempts.at(-1)?.stands !== 'upgraded'; kill++) {
      attempts.push(await attempt(raw, redis.url, { killAfterMs: dice.between(0, intoItMs(options.sites)), onClosed }))
      say(describe(attempts.at(-1) as Attempt))
      if (steppedBack || kill < options.kills / 2 || attempts.at(-1)?.stands !== 'closed') continue
      steppedBack = true
      attempts.push(await attempt(raw, redis.url, { back: true }))
      say(`${describe(attempts.at(-1) as Attempt)}; ${frontier.outcomes.size} outcomes`)
      await sleep(options.backMs)
      say(`the earlier version went on: ${frontier.outcomes.size} outcomes`)
    }
    attempts.push(await attempt(raw, redis.url, { onClosed }))
    const closedMs = (await upgradedAt(raw)) - closedAt
    say(
      `${describe(attempts.at(-1) as Attempt)}; closed for ${Math.round(closedMs)} ms in all; ${frontier.outcomes.size} outcomes`,
    )
    for (const { worker } of earlier) worker.end()
    await sleep(options.afterMs)
    end.abort()
    await raging
    say(`this version went on: ${frontier.outcomes.size} outcomes`)
    // Nobody is at work while the stores are counted; what has just ended is still handed out.
    for (const { worker } of current) worker.end()
    await Promise.all([...earlier, ...current].map(({ worker }) => worker.gone()))
    const stored = await storedIds(redis.url, PARTITIONS)
    await untilRead(redis.url, PARTITIONS, READ_MS)
    const evidence = await web.evidence()
    await frontier.close()
    const { accepted, outcomes, unsure, redelivered } = frontier
    const facts: StormFacts = {
      times: TIMES,
      slots: SLOTS * FETCHERS, // of both at once, when the ledger is closed
      evidence,
      faults: log,
      stalls: stalls.end(from),
      starts: [...earlier, ...current].flatMap(({ worker }) => worker.starts),
      book: { accepted, outcomes, unsure, redelivered },
      stored,
      breaksOff: () => false,
    }
    const killed = log.kills.length - leasesOut.length * FETCHERS
    return { facts, verdict: judgeStorm(facts), attempts, leasesOut, killed, closedMs, troubles, ms: clock() - began }
  } finally {
    end.abort()
    await book?.close()
    for (const { worker } of [...earlier, ...current]) worker.end()
    raw.disconnect()
    await redis.stop()
    await web.close()
    await rm(folder, { recursive: true, force: true })
  }
}

const seconds = (since: number): string => `${Math.round((clock() - since) / 1_000)} s`
const describe = ({ back, end, stands, ms, steps, longestStepMs }: Attempt): string =>
  `upgrade${back ? ' --back' : ''} ${end} after ${Math.round(ms)} ms, the ledger is ${stands}: ${steps} steps, the longest ${longestStepMs.toFixed(1)} ms`

function fleetOf(
  name: string,
  tree: string,
  redisUrl: string,
  onTrouble: (name: string, said: string) => void,
): Target[] {
  const env = environment(redisUrl, TIMES, {
    DECORUM_PARTITIONS: String(PARTITIONS),
    FETCH_CONCURRENCY: String(SLOTS),
    PORT: '0',
  })
  const member = (role: Worker['role']) => (_: unknown, n: number) => ({
    worker: new Worker({ role, name: `${name}-${role}-${n + 1}`, env, onTrouble, tree }),
    supervised: false,
  })
  return [
    ...Array.from({ length: GATEWAYS }, member('gateway')),
    ...Array.from({ length: FETCHERS }, member('fetcher')),
  ]
}

/** Until no job of candidates waits or is at work. */
async function untilStored(raw: Redis): Promise<void> {
  for (;;) {
    let jobs = 0
    for (const tag of partitionTags(PARTITIONS))
      for (const list of ['wait', 'active']) jobs += await raw.llen(`${tag}:candidates:${list}`)
    if (jobs === 0) return
    await sleep(AGAIN_MS)
  }
}

async function countLeases(raw: Redis): Promise<number> {
  const counts = await Promise.all(partitionTags(PARTITIONS).map((tag) => raw.hlen(keysOf(tag).leases)))
  return counts.reduce((sum, n) => sum + n, 0)
}

async function standingOf(raw: Redis): Promise<Standing> {
  const layouts = await Promise.all(partitionTags(PARTITIONS).map((tag) => raw.hget(keysOf(tag).epoch, EPOCH.layout)))
  if (layouts.every((layout) => layout === LAYOUT.version)) return 'upgraded'
  return layouts.some((layout) => layout?.endsWith(`>${LAYOUT.version}`)) ? 'closed' : 'earlier'
}

/** By the ledger's own note of it, ms since 1970. */
async function upgradedAt(raw: Redis): Promise<number> {
  const notes = await Promise.all(partitionTags(PARTITIONS).map((tag) => raw.hget(keysOf(tag).epoch, EPOCH.upgraded)))
  return Math.max(...notes.map((note) => Number(note?.split(' ')[1])))
}

/**
 * Runs `decorum ledger upgrade` until it has the lock, which a killed one leaves behind for some seconds.
 * @param killAfterMs  SIGKILL so long after the ledger is seen to be closed
 * @param onClosed     called when it closes the ledger
 * @throws Error with what it said when it fails otherwise
 */
async function attempt(
  raw: Redis,
  url: string,
  { back = false, killAfterMs, onClosed }: { back?: boolean; killAfterMs?: number; onClosed?: () => Promise<void> },
): Promise<Attempt> {
  await raw.config('SET', 'slowlog-log-slower-than', '0', 'slowlog-max-len', String(SLOWLOG_LENGTH))
  for (;;) {
    await raw.call('SLOWLOG', 'RESET')
    const before = { change: await lastChange(raw), stood: await standingOf(raw) }
    const at = clock()
    const child = fork(
      join(THIS_TREE, 'packages/cli/src/main.ts'),
      ['ledger', 'upgrade', '--json', ...(back ? ['--back'] : [])],
      {
        env: { ...process.env, REDIS_URL: url },
        stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      },
    )
    const said = Promise.all(
      [child.stdout, child.stderr].map((stream) => (stream === null ? Promise.resolve('') : text(stream))),
    )
    const ended = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>
    const watching = watch(raw, child, before, killAfterMs, onClosed)
    const [code, signal] = await ended
    await watching
    const ms = clock() - at
    const steps = await stepsOf(raw)
    const told = { back, steps: steps.length, longestStepMs: Math.max(0, ...steps), ms, stands: await standingOf(raw) }
    if (signal === 'SIGKILL') return { ...told, end: 'killed' }
    if (code === 0) return { ...told, end: 'done' }
    const words = (await said).join(' ')
    if (!/is at work, or was cut off/.test(words))
      throw new Error(`decorum ledger upgrade ended with ${code}: ${words}`)
    await sleep(AGAIN_MS)
  }
}

/** The number of the last change of the ledger: each upgrade takes the next one before its first step. */
const lastChange = (raw: Redis): Promise<string | null> =>
  raw.hget(keysOf(partitionTags(PARTITIONS)[0] as string).epoch, EPOCH.change)

async function watch(
  raw: Redis,
  child: ChildProcess,
  before: { change: string | null; stood: Standing },
  killAfterMs: number | undefined,
  onClosed: (() => Promise<void>) | undefined,
): Promise<void> {
  const runs = (): boolean => child.exitCode === null && child.signalCode === null
  while ((await lastChange(raw)) === before.change) {
    if (!runs()) return
    await sleep(LOOK_MS)
  }
  if (before.stood === 'earlier') await onClosed?.()
  if (killAfterMs === undefined) return
  await sleep(killAfterMs)
  if (runs()) child.kill('SIGKILL')
}

/** Durations of the steps since the log was emptied, ms. Every step of a change begins with the same comparison (lib/guard.lua of the ledger’s move). */
async function stepsOf(raw: Redis): Promise<number[]> {
  const entries = (await raw.call('SLOWLOG', 'GET', SLOWLOG_LENGTH)) as [number, number, number, string[]][]
  return entries
    .filter(
      ([, , , [verb = '', script = '']]) => verb.toUpperCase() === 'EVAL' && script.includes(`'${EPOCH.change}') ~=`),
    )
    .map(([, , micros]) => micros / 1_000)
}
