/** URLs in, outcomes out: which of the demo's candidates have their outcome, and whether it is the expected one. */
import type { Outcome, OutcomeKind } from '@decorum/protocol'
import { reasonOf, Tally } from '../crawl/tally.ts'
import type { DemoUrl } from './sites.ts'

/** Expected outcomes of the redirects' targets, by path. */
const TARGETS: Record<string, OutcomeKind> = {
  '/welcome': 'disallowed',
  '/hidden': 'disallowed',
  '/landing': 'fetched',
}

export type DemoSums = {
  urls: number
  /** number of redirect targets, which are separate candidates */
  targets: number
  outcomes: number
  byKind: Record<string, number>
  /** faults as sentences: a second outcome, an unknown id, or an unexpected kind */
  wrong: string[]
}

export function demoTally(urls: DemoUrl[]) {
  const tally = new Tally('demo')
  for (const [n, { url }] of urls.entries()) tally.expect(n + 1, url)
  const byKind: Record<string, number> = {}
  const wrong: string[] = []
  return {
    /** The id under which the n-th URL is enqueued. */
    idOf: (n: number): string => tally.idOf(n + 1),
    record(outcome: Outcome): void {
      const { id, kind, url } = outcome
      if (tally.record(outcome) !== 'new') return void wrong.push(`${url}: a second outcome (${kind})`)
      const name = nameOf(outcome)
      byKind[name] = (byKind[name] ?? 0) + 1
      const line = tally.lineOf(id) ?? 0
      const expect = id === tally.idOf(line) ? urls[line - 1]?.expect : TARGETS[new URL(url).pathname]
      if (expect !== undefined && kind !== expect) wrong.push(`${url}: ${name}, where ${expect} was to be expected`)
    },
    get sums(): DemoSums {
      const { total, done } = tally.counts
      return { urls: urls.length, targets: total - urls.length, outcomes: done, byKind, wrong }
    },
    get complete(): boolean {
      return tally.left === 0
    },
    /** URLs that still wait. */
    waiting: (): string[] =>
      [...urls.filter((_, n) => !tally.hasOutcome(n + 1)), ...tally.waitingTargets()].map(({ url }) => url),
  }
}

function nameOf(outcome: Outcome): string {
  const reason = reasonOf(outcome)
  return reason === undefined || reason === '200' ? outcome.kind : `${outcome.kind}: ${reason}`
}
