/** Outcomes that have a reason, by reason: their number, and the latest examples. */
import { type Note, thatAnswer } from '@decorum/ledger'
import type { LedgerWithViews, Sample } from '@decorum/ledger/views'
import { FAILURE_REASONS, GATES, INVALID_REASONS, REFUSED_REASONS } from '@decorum/protocol'

export type ReasonCount = {
  kind: 'failed' | 'expired' | 'invalid' | 'refused'
  reason: string
  /** since the beginning */
  total: number
  /** undefined: the ring has no sample from an hour ago */
  lastHour: number | undefined
  /** newest first */
  examples: Note[]
}

const HOUR = 3_600_000
const NEARLY_AN_HOUR = 3_300_000
const EXAMPLES = 10
const REASONS: readonly (readonly [ReasonCount['kind'], string])[] = [
  ...FAILURE_REASONS.map((reason) => ['failed', reason] as const),
  ...GATES.map((reason) => ['expired', reason] as const),
  ...INVALID_REASONS.map((reason) => ['invalid', reason] as const),
  ...REFUSED_REASONS.map((reason) => ['refused', reason] as const),
]

/** Reasons that occurred, the most frequent of the last hour first. One pipeline and two reads per partition. */
export async function reasonsOf(ledger: LedgerWithViews): Promise<ReasonCount[]> {
  const names = REASONS.map(([kind, reason]) => `${kind}/${reason}`)
  const parts = await thatAnswer(
    ledger.tags.map(async (_, partition) => {
      const [view, samples, examples] = await Promise.all([
        ledger.viewPartition(partition),
        ledger.samples(partition, HOUR / 30_000 + 1),
        ledger.examples(partition, names),
      ])
      return { counts: view.counts, before: anHourAgo(samples, view.now), examples }
    }),
  )
  const all = REASONS.map(([kind, reason], n): ReasonCount => {
    const name = names[n] as string
    const total = parts.reduce((sum, { counts }) => sum + (counts[name] ?? 0), 0)
    const before = parts.map((part) => part.before)
    const lastHour = before.includes(undefined)
      ? undefined
      : total - before.reduce((sum, counts) => sum + (counts?.[name] ?? 0), 0)
    const examples = parts.flatMap((part) => part.examples[n] ?? [])
    return { kind, reason, total, lastHour, examples: examples.sort((a, b) => b.at - a.at).slice(0, EXAMPLES) }
  })
  return all
    .filter(({ total, examples }) => total > 0 || examples.length > 0)
    .sort((a, b) => (b.lastHour ?? 0) - (a.lastHour ?? 0) || b.total - a.total)
}

/** The counts of the oldest sample within the last hour; undefined: none is nearly an hour old. */
function anHourAgo(samples: Sample[], now: number): Record<string, number> | undefined {
  const oldest = samples.findLast(({ at }) => now - at <= HOUR)
  return oldest !== undefined && now - oldest.at >= NEARLY_AN_HOUR ? oldest.counts : undefined
}
