/** A fleet on a Redis of its own, recording sites, and the worker that is tried, as a process. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Frontier, openFrontier } from '@decorum/client'
import { type Ledger, openLedger } from '@decorum/ledger'
import { ensureRedis } from '@decorum/local-redis'
import type { Outcome } from '@decorum/protocol'
import { type Site, spawnWeb, type WebProcess } from '@decorum/synthetic-web'
import { CommandError } from '../exit.ts'
import { startFleet } from '../fleet.ts'
import { type HeaderSite, openHeaderSite } from './header-site.ts'
import { CONFORM, conformEnv } from './settings.ts'

export type Worker = {
  readonly isRunning: boolean
  /** the last lines that it wrote to stderr */
  readonly lastWords: readonly string[]
  /** to it and its children */
  signal(signal: NodeJS.Signals): void
  endsWithin(ms: number): Promise<boolean>
}

export type World = {
  web: WebProcess
  headers: HeaderSite
  frontier: Frontier
  /** by id; more than one where a promise was broken */
  outcomes: Map<string, Outcome[]>
  worker: Worker
  /** when a request of a site began, or ended, on the clock of the sites */
  began(site: string, kind?: 'began' | 'ended'): Promise<number>
  now(): number
  pause(site: string, action?: 'pause' | 'resume'): Promise<void>
  pauseFor(ms: number): Promise<unknown>
  killPermits(): Promise<void>
  /** whether the lane of a site has a lease */
  isHeld(site: string): Promise<boolean>
  close(): Promise<void>
}

const LAST_WORDS = 10
const KILL_AFTER_MS = 5_000
/** What is judged is the worker: a machine that stands still for some seconds ends nothing. */
const CALL_DEADLINE_MS = 60_000

/**
 * @param command  the worker; {url} and {pool} in its arguments stand for what it needs, as do DECORUM_URL and DECORUM_POOL
 * @throws CommandError when it cannot be started, and the errors of Redis and fleet
 */
export async function openWorld(sites: Site[], record: string, command: string[]): Promise<World> {
  const closing: (() => unknown)[] = []
  const close = async (): Promise<void> => {
    for (const end of closing.toReversed()) await end()
  }
  try {
    const headers = await openHeaderSite()
    closing.push(() => headers.close())
    const web = await spawnWeb({ sites, record })
    closing.push(() => web.stop())
    const redis = await ensureRedis({ log: () => {} })
    closing.push(() => redis.stop())
    const fleet = await startFleet({ env: conformEnv(process.env, redis.url), gateways: 1, fetchers: 1, permits: 1 })
    closing.push(() => fleet.stop(KILL_AFTER_MS))
    const ledger = await openLedger({
      redis: redis.url,
      partitions: 1,
      leaseMs: CONFORM.leaseMs,
      quarantineMs: CONFORM.quarantineMs,
      callDeadlineMs: CALL_DEADLINE_MS,
    })
    closing.push(() => ledger.close())
    const frontier = await openFrontier({ redis: redis.url })
    const outcomes = new Map<string, Outcome[]>()
    const reading = readOutcomes(frontier, outcomes)
    reading.catch(() => undefined) // close() tells of it, when everything else has ended
    closing.unshift(() => reading)
    closing.push(() => frontier.close())
    const [permits] = fleet.of('permits')
    const worker = await startWorker(command, `http://127.0.0.1:${permits?.port}`)
    closing.push(() => endWorker(worker))
    const originOf = (site: string): string => web.origins[site] as string
    return {
      web,
      headers,
      frontier,
      outcomes,
      worker,
      began: async (site, kind = 'began') =>
        (await web.heard((word) => word.site === site && word.kind === kind && word.path !== '/robots.txt')).at,
      now: () => performance.timeOrigin + performance.now(),
      pause: (site, action = 'pause') =>
        ledger.operate({ origin: originOf(site), by: 'conform', reason: 'the situation', action }, [
          CONFORM.agent.name,
        ]),
      pauseFor: (ms) => sleep(ms),
      async killPermits() {
        if (permits?.pid !== undefined) process.kill(permits.pid, 'SIGKILL')
        for (const until = Date.now() + 30_000; permits?.restarts === 0 && Date.now() < until; ) await sleep(50)
      },
      isHeld: (site) => isHeld(ledger, originOf(site)),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

async function readOutcomes(frontier: Frontier, outcomes: Map<string, Outcome[]>): Promise<void> {
  for await (const { outcome, ack } of frontier.outcomes({ group: 'conform' })) {
    outcomes.set(outcome.id, [...(outcomes.get(outcome.id) ?? []), outcome])
    await ack().catch(() => undefined) // a worker is not to blame for it
  }
}

async function isHeld(ledger: Ledger, origin: string): Promise<boolean> {
  const { lanes } = await ledger.viewOrigin(origin, [CONFORM.agent.name])
  return lanes.some(({ state }) => state === 'in-flight')
}

async function startWorker(command: string[], url: string): Promise<Worker & { child: ChildProcess }> {
  const [program = '', ...args] = command.map((text) =>
    text.replaceAll('{url}', url).replaceAll('{pool}', CONFORM.pool),
  )
  const child = spawn(program, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true, // a process group of its own, which is stopped and continued as a whole
    env: { ...process.env, DECORUM_URL: url, DECORUM_POOL: CONFORM.pool },
  })
  await once(child, 'spawn').catch((error: Error) => {
    throw new CommandError(`conform: the worker did not start: ${error.message}`)
  })
  const lastWords: string[] = []
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    lastWords.push(...text.split('\n').filter((line) => line.trim() !== ''))
    lastWords.splice(0, lastWords.length - LAST_WORDS)
  })
  const isRunning = (): boolean => child.exitCode === null && child.signalCode === null
  return {
    child,
    lastWords,
    get isRunning() {
      return isRunning()
    },
    signal(signal) {
      if (child.pid === undefined) return // it never began; 0 would be this process's own group
      try {
        process.kill(-child.pid, signal)
      } catch {} // it has ended
    },
    async endsWithin(ms) {
      if (!isRunning()) return true
      const late = new AbortController()
      const ended = once(child, 'exit', { signal: late.signal }).then(
        () => true,
        () => false,
      )
      const timer = setTimeout(() => late.abort(), ms)
      return ended.finally(() => clearTimeout(timer))
    },
  }
}

async function endWorker(worker: Worker): Promise<void> {
  worker.signal('SIGCONT')
  worker.signal('SIGTERM')
  if (!(await worker.endsWithin(KILL_AFTER_MS))) worker.signal('SIGKILL')
}
