/** URLs in, outcomes out: which of the demo's candidates have their outcome, and whether it is the expected one. */
import type { Outcome, OutcomeKind } from '@decorum/protocol'
import type { DemoUrl } from './sites.ts'

/** What redirects of the demo lead to. */
const TARGETS: Record<string, OutcomeKind> = {
  '/welcome': 'disallowed',
  '/hidden': 'disallowed',
  '/landing': 'fetched',
}

export type Tally = {
  urls: number
  /** redirect targets, candidates of their own */
  targets: number
  outcomes: number
  byKind: Record<string, number>
  /** sentences: an outcome twice, of an unknown id, or another than expected */
  wrong: string[]
}

export function demoTally(urls: DemoUrl[]): {
  record(outcome: Outcome): void
  readonly tally: Tally
  readonly complete: boolean
  /** URLs that still wait */
  waiting(): string[]
} {
  const expected = new Map<string, { url: string; expect: OutcomeKind | undefined }>(
    urls.map(({ url, expect }, n) => [idOf(n), { url, expect }]),
  )
  /** a target's outcome may come before its redirect's */
  const early = new Map<string, Outcome>()
  const done = new Set<string>()
  const tally: Tally = { urls: urls.length, targets: 0, outcomes: 0, byKind: {}, wrong: [] }
  const record = (outcome: Outcome): void => {
    const { id, kind, url } = outcome
    const known = expected.get(id)
    if (done.has(id) || early.has(id)) return void tally.wrong.push(`${url}: a second outcome (${kind})`)
    if (!known) return void early.set(id, outcome)
    done.add(id)
    tally.outcomes++
    const name = nameOf(outcome)
    tally.byKind[name] = (tally.byKind[name] ?? 0) + 1
    if (known.expect !== undefined && kind !== known.expect)
      tally.wrong.push(`${url}: ${name}, where ${known.expect} was to be expected`)
    if (outcome.kind !== 'redirected') return
    expected.set(outcome.candidate, { url: outcome.to, expect: TARGETS[new URL(outcome.to).pathname] })
    tally.targets++
    const target = early.get(outcome.candidate)
    early.delete(outcome.candidate)
    if (target) record(target)
  }
  return {
    record,
    tally,
    get complete() {
      return done.size === expected.size
    },
    waiting: () => [...expected].flatMap(([id, { url }]) => (done.has(id) ? [] : [url])),
  }
}

/** The id under which the n-th URL is enqueued. */
export const idOf = (n: number): string => `demo-${n + 1}`

function nameOf(outcome: Outcome): string {
  if (outcome.kind === 'fetched') return outcome.status === 200 ? 'fetched' : `fetched: ${outcome.status}`
  return 'reason' in outcome ? `${outcome.kind}: ${outcome.reason}` : outcome.kind
}
