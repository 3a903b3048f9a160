/** The verdict of robots.txt on a URL, without a permit; a robots.txt that is not known is ordered from a fetcher. */

import { disallowed } from '@decorum/politeness/admission'
import { admit, Problem, type Token } from '@decorum/sending/granting'
import type { Desk } from './desk.ts'
import type { RobotsAnswer } from './schemas.ts'

/** Possible values of `maxAgeMs`, longest first: the first after which the verdict would still be the same is chosen. */
const AGES_MS = [86_400_000, 21_600_000, 3_600_000, 600_000, 60_000, 5_000]

/** @throws Problem · LedgerUnavailableError */
export async function verdict(url: string, name: string | undefined, token: Token, desk: Desk): Promise<RobotsAnswer> {
  const { config, origins } = desk
  const agent = desk.agentOf(name, token)
  const wish = admit(url, agent, token, config.guard)
  if (wish instanceof Problem) throw wish
  const { origin, path } = wish
  const { judgement, delayMs, version, state } = await origins.verdict(agent, origin, path)
  const base = { url: wish.url, agent: agent.name, delayMs }
  if (judgement.kind === 'ask' && desk.fetchers() > 0) {
    const requested = await desk.robots.orderFetch({ agent: agent.key, origin }, token, version, delayMs)
    if (typeof requested === 'object' && 'why' in requested)
      throw new Problem('quota', requested.why, { retryAfterMs: 1_000 })
  }
  if (judgement.kind === 'ask' || judgement.kind === 'wait')
    return { ...base, verdict: 'unknown', why: judgement.kind === 'ask' ? 'unknown' : judgement.why, maxAgeMs: 0 }
  const now = desk.now(wish)
  const rules = await origins.robots.rules(agent, origin, state, now)
  const { question: _, ...known } = state
  const isSame = (ms: number): boolean => {
    const then = origins.robots.judge(agent, origin, path, known, rules, now + ms)
    return then.kind === judgement.kind && 'stale' in then && then.stale === judgement.stale
  }
  const maxAgeMs = AGES_MS.find((ms) => isSame(ms)) ?? 0
  if (judgement.kind === 'allowed') return { ...base, verdict: 'allowed', why: judgement.why, maxAgeMs }
  const { kind, ...rule } = disallowed(judgement)
  return { ...base, verdict: kind, ...rule, maxAgeMs }
}
