/** May this URL be fetched now? Answered from the fleet's present state; nothing is fetched or changed. */

import type { Agent } from '@decorum/config'
import type { LedgerWithViews, OriginView } from '@decorum/ledger/views'
import { delayOwed, tokensOf } from '@decorum/politeness'
import type { CrawlUrl } from '@decorum/protocol'
import { type Copy, type Judgement, judge, needsRules, parseRobots, policies, type RobotsTxt } from '@decorum/robots'
import { defined } from '@decorum/runtime'
import { robotsWord, whyItWaits } from '../why.ts'
import { length } from '../words.ts'
import type { CheckAnswer } from './answers.ts'

export async function check(ledger: LedgerWithViews, agent: Agent, { origin, path }: CrawlUrl): Promise<CheckAnswer> {
  const partition = ledger.partitionOf(origin)
  const [view, part] = await Promise.all([ledger.viewOrigin(origin, [agent.key]), ledger.viewPartition(partition)])
  const { now, state } = view
  const policy = policies[agent.profile]
  const hash = needsRules(state, policy, now)
  const body = hash === undefined ? undefined : await ledger.body(partition, hash)
  const rules = body === undefined ? undefined : parseRobots(body, { policy })
  const url = origin + path
  // If the ledger has lost the body (`rules` is undefined), the gateway has robots.txt fetched again
  const judgement: Judgement =
    hash !== undefined && rules === undefined
      ? { kind: 'ask' }
      : judge(rules === undefined ? state : { ...state, rules }, url, tokensOf(agent), policy, now)
  const lane = view.lanes[0] ?? { agent: agent.key, origin, waiting: 0, state: 'idle' as const, tries: 0, closed: [] }
  return {
    url,
    origin,
    agent: agent.name,
    profile: agent.profile,
    ...verdictOf(judgement, now),
    ...explained(rules, url, agent),
    ...inForce(judgement, view, hash),
    delay: {
      ...delayOwed(view, agent),
      floorMs: agent.minDelayMs,
      capMs: agent.maxDelayMs,
      ...siteDelay(rules, agent),
    },
    lane: { ...lane, why: whyItWaits(lane, view, { ...part, now }), delay: delayOwed(view, agent) },
    ...defined({ policy: view.policy }),
    robots: robotsWord(state),
    state,
    now,
  }
}

type Verdict = Pick<CheckAnswer, 'verdict' | 'why' | 'sentence' | 'until'>

function verdictOf(judgement: Judgement, now: number): Verdict {
  switch (judgement.kind) {
    case 'allowed': {
      const { why, rule } = judgement
      const by = rule === undefined ? ALLOWED[why] : `by line ${rule.line}, ${rule.type}: ${rule.pattern}`
      return { verdict: 'allowed', why, sentence: `allowed: ${by}${old(judgement.stale)}` }
    }
    case 'refused': {
      const { rule, group } = judgement
      const sentence = `disallowed by line ${rule.line}, ${rule.type}: ${rule.pattern} (group of ${group.agents.join(', ')}, line ${group.line})`
      return { verdict: 'disallowed', why: 'rule', sentence: sentence + old(judgement.stale) }
    }
    case 'wait': {
      const { why, until } = judgement
      const what = why === 'robots-in-flight' ? 'its robots.txt is being fetched' : 'its robots.txt is unreachable'
      return { verdict: 'wait', why, until, sentence: `not now: ${what}; looked at again in ${length(until - now)}` }
    }
    case 'ask':
      return { verdict: 'ask-first', why: 'unknown', sentence: 'not before its robots.txt has been fetched' }
    default:
      return judgement satisfies never
  }
}

const old = (stale: boolean): string => (stale ? '; by what was known before it stopped answering' : '')

const ALLOWED: Record<Extract<Judgement, { kind: 'allowed' }>['why'], string> = {
  'robots.txt': 'robots.txt itself may always be fetched',
  rule: 'a rule allows it',
  'no-match': 'no rule of its group matches',
  'empty-rule': 'no rule of its group matches; one of them has no pattern',
  'no-group': 'no group names this agent, and there is none for everybody',
  unavailable: 'the site has no robots.txt',
  'outage-without-copy': 'its robots.txt is unreachable, and this profile then opens the site',
}

function explained(rules: RobotsTxt | undefined, url: string, agent: Agent): Partial<CheckAnswer> {
  if (rules === undefined) return {}
  const { path, rule, group, token, losers } = rules.explain(url, tokensOf(agent))
  const named = group && { line: group.line, agents: [...group.agents] }
  return { path, losers: [...losers], ...defined({ rule, group: named, token }) }
}

/** The stored robots.txt on which the verdict is based; none if it is based on no copy. */
function inForce(judgement: Judgement, { state }: OriginView, hash: string | undefined): Pick<CheckAnswer, 'rules'> {
  const copies = [state.copy, ...Object.values(state.olderCopies ?? {})]
  const copy: Copy | undefined = copies.find((one) => one !== undefined && one.hash === hash)
  if (copy === undefined || !('stale' in judgement)) return {}
  return { rules: { hash: copy.hash, at: copy.at, stale: judgement.stale, refresh: judgement.refresh } }
}

function siteDelay(rules: RobotsTxt | undefined, agent: Agent): Pick<CheckAnswer['delay'], 'site'> {
  const delay = rules?.explainDelay(tokensOf(agent))
  if (delay === undefined) return {}
  const { seconds, written, line } = delay
  return { site: { seconds, written, line, honoured: agent.honourCrawlDelay } }
}
