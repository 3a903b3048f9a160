/** A whole fleet for one test: recording sites, role processes on a real Redis, a frontier that collects outcomes. */

import { agentsOf, judgeRecord, type Report } from '@decorum/audit'
import { type Fleet, type RoleEvent, startFleet } from '@decorum/cli'
import { type Frontier, openFrontier } from '@decorum/client'
import { isSetting } from '@decorum/config'
import type { Candidate, Outcome } from '@decorum/protocol'
import { expect } from 'vitest'
import { type RecordedWeb, recordedWeb, type Site } from '../support/origins/index.ts'

/** Times scaled so that a lost lease comes back within seconds. */
export const TIMES = {
  delayMs: 150,
  capMs: 2_000,
  deadlineMs: 1_500,
  leaseMs: 2_500,
  quarantineMs: 500,
  robotsRetryMs: 1_000,
}

/**
 * Where no test waits for a lease or a deadline to end, and where something has to be done before one ends: on a busy machine a short one
 * ends while a process is kept from running.
 */
export const LONG_LEASES = { FETCH_DEADLINE_MS: '10000', LEASE_MS: '12000' }

export type Journey = {
  web: RecordedWeb
  fleet: Fleet
  frontier: Frontier
  /** id → every outcome that came for it: one each, if the promise holds */
  outcomes: Map<string, Outcome[]>
  /** resolves when so many candidates have an outcome; rejects with the fleet's troubles when they do not come */
  outcomesOf(count: number): Promise<void>
  /** crashes and warnings of the fleet */
  troubles: string[]
  /** the audit of what the sites have recorded so far */
  audit(): Promise<Report>
  close(): Promise<void>
}

export type JourneyOptions = {
  redisUrl: string
  sites: Site[]
  gateways?: number
  fetchers?: number
  env?: NodeJS.ProcessEnv
}

/** A crawl that takes longer hangs. */
const PATIENCE_MS = 300_000

/** Its User-Agent is what the audit knows it by. */
const AGENT = { name: 'journeybot', userAgent: 'Mozilla/5.0 (compatible; journeybot/1.0; +https://example.com/bot)' }

/** Starts it all; on failure what had been started is stopped. */
export async function startJourney(options: JourneyOptions): Promise<Journey> {
  const { redisUrl, sites, gateways = 1, fetchers = 1 } = options
  const web = await recordedWeb(sites)
  const troubles: string[] = []
  const onEvent = (event: RoleEvent): void => {
    if (event.kind === 'died') troubles.push(`${event.name} ended: ${event.how}`)
    if (event.kind === 'line' && event.line.level >= 40 && !event.starting)
      troubles.push(`${event.name}: ${event.line.msg}`)
  }
  const env = fleetEnv(redisUrl, options.env)
  const fleet = await startFleet({ env, gateways, fetchers, onEvent }).catch(async (error: unknown) => {
    await web.close()
    throw error
  })
  const frontier = await openFrontier({ redis: redisUrl, patienceMs: 30_000 })
  const outcomes = new Map<string, Outcome[]>()
  const listeners = new Set<() => void>()
  const collecting = (async () => {
    for await (const { outcome, ack } of frontier.outcomes({ group: 'journey' })) {
      // An acknowledgement that Redis lost brings the same delivery again: the same entry, not a second outcome.
      const before = outcomes.get(outcome.id) ?? []
      if (!before.some((one) => JSON.stringify(one) === JSON.stringify(outcome)))
        outcomes.set(outcome.id, [...before, outcome])
      await ack().catch(() => undefined)
      for (const look of listeners) look()
    }
  })()
  return {
    web,
    fleet,
    frontier,
    outcomes,
    troubles,
    outcomesOf: async (count) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const look = (): void => {
        if (outcomes.size >= count) resolve()
      }
      const late = setTimeout(() => {
        reject(
          new Error(
            `${outcomes.size} of ${count} outcomes after ${PATIENCE_MS / 1_000} s; ${troubles.join('; ') || 'no trouble heard of'}`,
          ),
        )
      }, PATIENCE_MS)
      listeners.add(look)
      collecting.catch(reject)
      look()
      await promise.finally(() => {
        clearTimeout(late)
        listeners.delete(look)
      })
    },
    audit: async () => judgeRecord(await web.evidence(), auditOptions),
    close: async () => {
      await frontier.close()
      await collecting.catch(() => undefined)
      await fleet.stop(5_000)
      await web.close()
    },
  }
}

const auditOptions = {
  agents: agentsOf({ agent: AGENT.name, profile: 'decorum', minDelayMs: TIMES.delayMs, maxDelayMs: TIMES.capMs }),
  robotsRetryMs: TIMES.robotsRetryMs,
}

/** The environment of role processes: scaled times, loopback open, and nothing of the user's own settings. */
export function fleetEnv(redisUrl: string, more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const own = Object.fromEntries(Object.entries(process.env).filter(([name]) => !isSetting(name)))
  return {
    ...own,
    REDIS_URL: redisUrl,
    DECORUM_AGENTS: JSON.stringify([AGENT]),
    DECORUM_ALLOW_ADDRESSES: '127.0.0.0/8',
    DEFAULT_DELAY_MS: String(TIMES.delayMs),
    MAX_DELAY_MS: String(TIMES.capMs),
    FETCH_DEADLINE_MS: String(TIMES.deadlineMs),
    LEASE_MS: String(TIMES.leaseMs),
    QUARANTINE_MS: String(TIMES.quarantineMs),
    ROBOTS_RETRY_MS: String(TIMES.robotsRetryMs),
    FETCH_PROCESSES: '0', // a supervisor is a second process that most tests have no use for
    LOG_LEVEL: 'warn',
    ...more,
  }
}

/** `count` pages of every site, mixed. */
export function pagesOf(web: RecordedWeb, count: number): (Candidate & { id: string })[] {
  const sites = Object.entries(web.origins)
  return Array.from({ length: count }, (_, n) =>
    sites.map(([name, origin]) => ({ id: `${name}/${n}`, url: `${origin}/page-${n}` })),
  ).flat()
}

/** Every candidate has exactly one outcome, and the sites saw no violation. */
export async function expectPolite(journey: Journey, candidates: { id: string }[]): Promise<Report> {
  const several = [...journey.outcomes.values()].filter((list) => list.length !== 1)
  expect(several, 'candidates with more than one outcome').toEqual([])
  const missing = candidates.filter(({ id }) => !journey.outcomes.has(id))
  expect(missing, 'candidates without an outcome').toEqual([])
  const report = await journey.audit()
  expect(report.examples, 'violations that the sites recorded').toEqual([])
  return report
}
