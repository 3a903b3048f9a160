/** Fetches one robots.txt for `decorum check`: under a lease of the fleet that runs, or by this command alone when none runs. */

import type { Agent } from '@decorum/config'
import type { LedgerWithViews } from '@decorum/ledger/views'
import { ROBOTS_MAX_BYTES, type RobotsEvent } from '@decorum/robots'
import { CommandError } from './exit.ts'

export type RobotsAnswer = {
  body: Uint8Array
  /** whether robots.txt is longer than `body`; the rest is ignored */
  cut: boolean
  isAnswered: boolean
  /** the event for the origin's state; undefined when nothing was sent */
  event: RobotsEvent | undefined
  /** the answer in one line for people; `facts`: the same for programs */
  sentence: string
  facts: object
}

export type Requester = {
  agent: Agent
  env: NodeJS.ProcessEnv
  /** ledger of the running fleet, and the version of the origin's state there; undefined: no fleet runs */
  fleet: { ledger: LedgerWithViews; version: number } | undefined
}

const TURN_MS = 60_000

/**
 * @param origin  scheme://host[:port]
 * @returns undefined when the fleet has fetched robots.txt meanwhile: the ledger has the answer now
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
  const { event, hops, rules = new Uint8Array(), detail, unsent } = visited
  const found = hops.at(-1)?.url ?? asked
  const ms = performance.now() - started
  const body = rules.subarray(0, ROBOTS_MAX_BYTES)
  const cut = rules.length > ROBOTS_MAX_BYTES
  const answer = (what: string, details: { kind: string; status?: number; why?: string }): RobotsAnswer => ({
    ...{ body, cut, event, isAnswered: details.kind !== 'unanswered' },
    sentence: `${asked}${found === asked ? '' : ` → ${found}`}: ${what}`,
    facts: { asked, found, ms, ...details },
  })
  if (event?.kind === 'answered') {
    const { status } = event
    const rest = cut ? ', the rest is ignored' : ''
    return answer(`${status}, ${body.length} bytes${rest}, ${Math.round(ms)} ms`, { kind: 'answered', status })
  }
  if (event?.kind === 'unanswered' && event.reason === 'too-many-redirects')
    return answer('more than five redirects', { kind: 'too-many-redirects' })
  const why =
    unsent === 'no-contact'
      ? 'nothing was sent: no contact is given, set DECORUM_CONTACT or a User-Agent with one'
      : detail
  return answer(why, { kind: 'unanswered', why })
}
