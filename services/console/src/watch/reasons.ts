/** Outcomes that have a reason, by reason: their number, and the latest examples. */
import { type Note, thatAnswer } from '@decorum/ledger'
import type { LedgerWithViews, Sample } from '@decorum/ledger/views'
import { type Explained, FAILURES, HOLDING_GATES, INVALIDS, REFUSALS } from '@decorum/protocol'

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
/** Every reason, by the kind of its outcomes, with what it means. */
export const EXPLAINED: Record<ReasonCount['kind'], Record<string, Explained>> = {
  failed: FAILURES,
  expired: HOLDING_GATES,
  invalid: INVALIDS,
  refused: REFUSALS,
}
const REASONS = (Object.keys(EXPLAINED) as ReasonCount['kind'][]).flatMap((kind) =>
  Object.keys(EXPLAINED[kind]).map((reason) => ({ kind, reason, name: `${kind}/${reason}` })),
)
const NAMES = REASONS.map(({ name }) => name)

/** Reasons that occurred, the most frequent of the last hour first. One pipeline and two reads per partition. */
export async function reasonsOf(ledger: LedgerWithViews): Promise<ReasonCount[]> {
  const parts = await thatAnswer(
    ledger.tags.map(async (_, partition) => {
      const [view, samples, examples] = await Promise.all([
        ledger.viewPartition(partition),
        ledger.samples(partition, HOUR / 30_000 + 1),
        ledger.examples(partition, NAMES),
      ])
      return { counts: view.counts, before: anHourAgo(samples, view.now), examples }
    }),
  )
  const all = REASONS.map(({ kind, reason, name }, n): ReasonCount => {
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
