/**
 * What one party could know of one origin's rules at any instant, from the robots.txt answers in the record alone.
 * Where more than one view was possible (an answer that had just arrived, a connection cut in mid-body), all are given:
 * only what every one of them forbids is held against the visitor.
 */
import { type Policy, parseRobots, type RobotsTxt } from '@decorum/robots'
import type { Answered, RobotsFetch } from './robots-fetches.ts'
import type { Visitor } from './visitors.ts'

export type View =
  | { kind: 'rules'; rules: RobotsTxt }
  | { kind: 'open' }
  /** the site cannot be asked: nothing may be fetched */
  | { kind: 'refused' }
  /** the record does not tell */
  | { kind: 'unknown' }

export type Knowledge = {
  fetches: readonly RobotsFetch[]
  /** Views under a policy at an instant; empty: nothing had been answered yet. */
  viewsAt(at: number, policy: Policy): View[]
  /** When anything was last answered before that instant. */
  askedBefore(at: number): number | undefined
}

/**
 * @param fetches   of one party and origin, any order
 * @param graceMs   how long after an answer a request may still rest on the one before
 * @param rulesOf   parses a body under a policy; shared, so that each body is parsed once
 */
export function knowledgeOf(fetches: RobotsFetch[], graceMs: number, rulesOf: RulesOf): Knowledge {
  const byEnd = fetches.toSorted((a, b) => a.end - b.end)
  /** index of the last fetch that had ended by then, or -1 */
  const lastBy = (at: number): number => {
    let low = 0
    let high = byEnd.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((byEnd[middle] as RobotsFetch).end <= at) low = middle + 1
      else high = middle
    }
    return low - 1
  }
  return {
    fetches,
    askedBefore: (at) => byEnd[lastBy(at)]?.end,
    viewsAt: (at, policy) => {
      const last = lastBy(at)
      const views: View[] = []
      for (let index = Math.max(lastBy(at - graceMs), 0); index <= last; index++) {
        for (const answer of byEnd[index]?.answers ?? []) views.push(viewOf(answer, byEnd, index, policy, at, rulesOf))
      }
      return views
    },
  }
}

export type RulesOf = (answered: Answered, policy: Policy) => RobotsTxt | undefined

/** Parses each body once per way of reading. */
export function rulesReader(): RulesOf {
  const parsed = new Map<string, RobotsTxt>()
  return (answered, policy) => {
    if (!('body' in answered) || answered.body === undefined) return undefined
    const key = `${policy.name} ${answered.bodyKey}`
    const rules = parsed.get(key) ?? parseRobots(answered.body, { policy })
    parsed.set(key, rules)
    return rules
  }
}

const meaningOf = (answered: Answered, policy: Policy): 'obey' | 'open' | 'unreachable' | 'renewed' | 'unknown' =>
  answered.kind === 'unknown' || answered.kind === 'renewed' ? answered.kind : policy.answers[answered.kind]

function viewOf(
  answer: Answered,
  byEnd: RobotsFetch[],
  index: number,
  policy: Policy,
  at: number,
  rulesOf: RulesOf,
): View {
  switch (meaningOf(answer, policy)) {
    case 'open':
      return { kind: 'open' }
    case 'obey':
      return asView(rulesOf(answer, policy))
    case 'renewed':
      return lastCopy(byEnd, index, policy, rulesOf) ?? { kind: 'unknown' }
    case 'unreachable':
      return duringOutage(byEnd, index, policy, at, rulesOf)
    default:
      return { kind: 'unknown' }
  }
}

const asView = (rules: RobotsTxt | undefined): View => (rules ? { kind: 'rules', rules } : { kind: 'unknown' })

/** The windows of spec/robots.md §6, counted from the beginning of the first fetch that failed. */
function duringOutage(byEnd: RobotsFetch[], index: number, policy: Policy, at: number, rulesOf: RulesOf): View {
  let first = index
  const failed = (i: number): boolean =>
    byEnd[i]?.answers.some((answer) => meaningOf(answer, policy) === 'unreachable') ?? false
  while (first > 0 && failed(first - 1)) first--
  const elapsed = at - (byEnd[first]?.start ?? at)
  if (elapsed < policy.denyForMs) return { kind: 'refused' }
  const copy = lastCopy(byEnd, first, policy, rulesOf)
  if (elapsed < policy.staleForMs) return copy ?? { kind: policy.withoutCopy === 'open' ? 'open' : 'refused' }
  if (policy.afterwards === 'refuse') return { kind: 'refused' }
  if (policy.afterwards === 'copy-or-open') return copy ?? { kind: 'open' }
  return { kind: 'open' }
}

function lastCopy(byEnd: RobotsFetch[], before: number, policy: Policy, rulesOf: RulesOf): View | undefined {
  for (let index = before - 1; index >= 0; index--) {
    for (const answer of byEnd[index]?.answers ?? []) {
      if (meaningOf(answer, policy) === 'obey') return asView(rulesOf(answer, policy))
    }
  }
  return undefined
}

/** Does this view let the visitor fetch the path? */
export function allows(view: View, url: string, visitor: Visitor): boolean {
  if (view.kind === 'rules') return view.rules.isAllowed(url, visitor.tokens)
  return view.kind !== 'refused'
}

/** The silence that a visitor owes under a view, ms: max(floor, min(crawl-delay, cap)). */
export function silenceOwed(view: View | undefined, visitor: Visitor): number {
  const seconds = view?.kind === 'rules' && visitor.honourCrawlDelay ? view.rules.crawlDelay(visitor.tokens) : undefined
  return seconds === undefined ? visitor.floorMs : Math.max(visitor.floorMs, Math.min(seconds * 1_000, visitor.capMs))
}
