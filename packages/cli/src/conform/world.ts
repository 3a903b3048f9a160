/** The test environment: a fleet on a separate Redis, recording sites, and the tested worker as a process. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Frontier, openFrontier } from '@decorum/client'
import { type LedgerWithViews, openLedgerWithViews } from '@decorum/ledger/views'
import type { Outcome } from '@decorum/protocol'
import { collect } from '../collect.ts'
import { messageOf } from '../exit.ts'
import { type Fleet, startFleet } from '../fleet.ts'
import { isolatedEnv } from '../isolated-env.ts'
import { ensureRedis } from '../local-redis/index.ts'
import { type Site, spawnWeb, type WebProcess } from '../synthetic-web/index.ts'
import { openHeaderSite } from './header-site.ts'
import { ownFailure, patiently, roleTrouble, runAll } from './own-failure.ts'
import { AGENT, CONFORM } from './settings.ts'
import { startWorker } from './worker.ts'

export type World = Awaited<ReturnType<typeof openWorld>>

export class NotBegunError extends Error {
  override readonly name = 'NotBegunError'
}

/** Longest wait for the worker's next step: MAX_ATTEMPTS dead leases, one after the other, and a busy machine. */
export const PATIENCE_MS = 60_000
const FLEET_GRACE_MS = 5_000

/**
 * @param interrupted  Ctrl-C: everything started by then is ended again
 * @throws CommandError when the worker cannot be started, the errors of Redis and fleet, and the reason of `interrupted`
 */
export async function openWorld(sites: Site[], record: string, command: string[], interrupted: AbortSignal) {
  const failing = new AbortController()
  const over = AbortSignal.any([interrupted, failing.signal])
  let isClosing = false
  const fails = (...what: Parameters<typeof ownFailure>) => {
    if (!isClosing) failing.abort(ownFailure(...what))
  }
  /** functions that end what was started, the latest first */
  const ends: (() => unknown)[] = []
  const close = () => {
    isClosing = true
    return runAll(ends)
  }
  const opened = async <T>(opening: Promise<T>, end: (it: T) => unknown): Promise<T> => {
    const it = await opening
    ends.unshift(() => end(it))
    over.throwIfAborted()
    return it
  }
  try {
    const headers = await opened(openHeaderSite(), (site) => site.close())
    const web = await opened(openSites(sites, record), (it) => it.stop())
    void web.exited.then((how) => fails('sites', `their process ended (${how})`))
    let redisUrl: string | undefined
    // Once Redis runs, each line reports its end: even if it is restarted, its latest writes may be lost.
    const log = (line: string) => void (redisUrl !== undefined && fails('Redis', line.replace(/^Redis: /, '')))
    const redis = await opened(ensureRedis({ log }), (it) => it.stop())
    redisUrl = redis.url
    const trouble = roleTrouble((why) => fails('fleet', why))
    const starting = startFleet({
      env: isolatedEnv(redisUrl, [AGENT], CONFORM),
      gateways: 1,
      fetchers: 1,
      permits: 1,
      onEvent: trouble.onRoleEvent,
    })
    const fleet = await opened(starting, (it) => it.stop(FLEET_GRACE_MS))
    const ledger = await opened(patiently(ledgerOn(redisUrl), over), (it) => it.close())
    const outcomes = new Map<string, Outcome[]>()
    const frontier = await opened(openFrontier({ redis: redisUrl }), (it) => it.close())
    const reading = readOutcomes(frontier, outcomes)
    reading.catch(() => undefined) // close() reports the error, when everything else has ended
    ends.push(() => reading)
    const [permits] = fleet.of('permits')
    const worker = await opened(startWorker(command, `http://127.0.0.1:${permits?.port}`), (it) => it.end())
    const originOf = (site: string) => web.origins[site] as string
    return {
      web,
      headers,
      frontier,
      /** Outcomes by id of the candidate; more than one if a promise was broken. */
      outcomes,
      worker,
      /** Aborts when the trial must end: at Ctrl-C, or with a CommandError when Redis, the sites or the fleet have failed. */
      over,
      /** Instant at which a request to a site began or ended, by the sites' clock. @throws NotBegunError when there is no such request */
      async began(site: string, kind: 'began' | 'ended' = 'began') {
        const word = web.heard((one) => one.site === site && one.kind === kind && one.path !== '/robots.txt')
        const first = await Promise.race([word, sleep(PATIENCE_MS, undefined, { ref: false })])
        if (first === undefined) throw new NotBegunError(site)
        return first.at
      },
      pause(site: string, action: 'pause' | 'resume' = 'pause') {
        const operation = { origin: originOf(site), by: 'conform', reason: 'the situation', action }
        return patiently(() => ledger.operate(operation, [AGENT.name]), over)
      },
      killPermits: () => killPermits(fleet, trouble.expect),
      /** Whether the lane of a site has a lease. */
      isHeld: (site: string) => patiently(() => isHeld(ledger, originOf(site)), over),
      /** Ends everything that was started. @throws the first error, after all attempts */
      close,
    }
  } catch (error) {
    await close().catch(() => undefined) // the original error matters more
    throw over.aborted ? over.reason : error
  }
}

async function openSites(sites: Site[], record: string): Promise<WebProcess> {
  const failed = (error: unknown): never => {
    throw ownFailure('sites', messageOf(error))
  }
  const web = await spawnWeb({ sites, record }).catch(failed)
  return { ...web, stop: () => web.stop().catch(failed) }
}

const ledgerOn = (redis: string) => (): Promise<LedgerWithViews> =>
  openLedgerWithViews({ redis, partitions: 1, leaseMs: CONFORM.LEASE_MS, quarantineMs: CONFORM.QUARANTINE_MS })

async function killPermits(fleet: Fleet, expect: (pid: number) => void): Promise<void> {
  const [permits] = fleet.of('permits')
  if (permits?.pid !== undefined) {
    expect(permits.pid)
    process.kill(permits.pid, 'SIGKILL')
  }
  for (const until = Date.now() + 30_000; permits?.restarts === 0 && Date.now() < until;) await sleep(50)
}

const readOutcomes = (frontier: Frontier, outcomes: Map<string, Outcome[]>): Promise<void> =>
  collect(frontier.outcomes({ group: 'conform' }), async (some) => {
    for (const outcome of some) outcomes.set(outcome.id, [...(outcomes.get(outcome.id) ?? []), outcome])
  })

async function isHeld(ledger: LedgerWithViews, origin: string): Promise<boolean> {
  const { lanes } = await ledger.viewOrigin(origin, [AGENT.name])
  return lanes.some(({ state }) => state === 'in-flight')
}
