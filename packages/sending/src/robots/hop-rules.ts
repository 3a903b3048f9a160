/**
 * Decides where a redirected robots.txt may lead (docs/robots.md). A URL that the rules of its origin forbid is not requested. At
 * another origin expired rules still forbid, and nothing is requested while its robots.txt is unreachable. An unknown origin may be
 * requested, because a site may keep its robots.txt elsewhere.
 */

import type { Agent } from '@decorum/config'
import type { Ledger } from '@decorum/ledger'
import { robotsJudge } from '@decorum/politeness/admission'
import type { Judgement } from '@decorum/robots'

/** Why a hop to this URL is not made, or undefined. */
export type ForbidsHop = (origin: string, path: string) => Promise<string | undefined>

/**
 * @param requesting  the origin whose robots.txt is fetched. It has just answered, so its outage has ended, and a redirect within
 * the origin takes precedence over its expired rules
 * @param now     the ledger's time, ms
 */
export function hopRules(
  ledger: Pick<Ledger, 'robotsStates' | 'body' | 'partitionOf' | 'now'>,
  agent: Agent,
  requesting: string,
  now: () => number,
): ForbidsHop {
  const robots = robotsJudge(ledger, undefined)
  return async (origin, path) => {
    if (path === '/robots.txt') return undefined // always allowed (RFC 9309 §2.2.2)
    try {
      const [known] = await ledger.robotsStates(ledger.partitionOf(origin), [origin])
      const { question: _, ...state } = known?.state ?? {}
      const at = async (instant: number): Promise<Judgement | 'unreadable'> => {
        const rules = await robots.rules(agent, origin, state, instant)
        return rules === 'lost' ? 'unreadable' : robots.judge(agent, origin, path, state, rules, instant)
      }
      const own = origin === requesting
      let verdict = await at(now())
      if (!own && verdict !== 'unreadable' && verdict.kind === 'ask' && state.answer !== undefined)
        verdict = await at(state.answer.at)
      if (verdict === 'unreadable') return `the rules of ${origin} cannot be read`
      if (verdict.kind === 'refused') return `${origin} forbids ${path} (line ${verdict.rule.line} of its robots.txt)`
      if (verdict.kind === 'wait' && !own) return `the robots.txt of ${origin} is unreachable`
      return undefined
    } catch {
      return `the rules of ${origin} could not be asked for`
    }
  }
}
