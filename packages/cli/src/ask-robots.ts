/** Fetches one robots.txt for `decorum check`: under a lease of the fleet that runs, or by this command alone when none runs. */

import type { Agent } from '@decorum/config'
import type { LedgerWithViews } from '@decorum/ledger/views'
import { ROBOTS_MAX_BYTES, type RobotsEvent } from '@decorum/robots'
import { CommandError } from './exit.ts'

export type RobotsAnswer = {
  /** the requested URL, and the URL that gave the answer */
  asked: string
  found: string
  ms: number
  /** the event for the origin's state; undefined when nothing was sent */
  event: RobotsEvent | undefined
} & (
  | { kind: 'answered'; status: number; body: Uint8Array; cut: boolean }
  | { kind: 'too-many-redirects' }
  | { kind: 'unanswered'; why: string }
)

export type Requester = {
  agent: Agent
  env: NodeJS.ProcessEnv
  /** and the version of the origin's rules for the fetch; undefined: no fleet runs */
  fleet: { ledger: LedgerWithViews; version: number } | undefined
}

const TURN_MS = 60_000

/**
 * @param origin  scheme://host[:port]
 * @returns undefined when the fleet has fetched it meanwhile: the ledger has the answer now
 * @throws CommandError when the lane's turn does not come in time
 */
export async function requestRobotsOf(
  origin: string,
  { agent, env, fleet }: Requester,
): Promise<RobotsAnswer | undefined> {
  const { readConfig } = await import('@decorum/fetcher/config')
  const { checkRobots } = await import('@decorum/sending/robots')
  const started = performance.now()
  const config = readConfig({ ...env, REDIS_URL: env.REDIS_URL || 'redis://127.0.0.1' }) // no connection is made
  const settings = { ...config, fetchDeadlineMs: config.FETCH_DEADLINE_MS, leaseMs: config.LEASE_MS }
  const visited = await checkRobots({ origin, agent, settings, fleet, patienceMs: TURN_MS })
  const asked = `${origin}/robots.txt`
  if (visited === undefined) {
    if ((await fleet?.ledger.viewOrigin(origin, []))?.version !== fleet?.version) return undefined
    throw new CommandError(
      `the turn of ${origin} did not come within ${TURN_MS / 1_000} s: 'decorum origin ${origin}' says what it waits for`,
    )
  }
  const { event, hops, rules: body = new Uint8Array(), detail, unsent } = visited
  const base = { asked, found: hops.at(-1)?.url ?? asked, ms: performance.now() - started, event }
  if (event?.kind === 'answered') {
    const cut = body.length > ROBOTS_MAX_BYTES
    return { ...base, kind: 'answered', status: event.status, body: body.subarray(0, ROBOTS_MAX_BYTES), cut }
  }
  if (event?.kind === 'unanswered' && event.reason === 'too-many-redirects')
    return { ...base, kind: 'too-many-redirects' }
  const why =
    unsent === 'no-contact'
      ? 'nothing was sent: no contact is given, set DECORUM_CONTACT or a User-Agent with one'
      : detail
  return { ...base, kind: 'unanswered', why }
}
