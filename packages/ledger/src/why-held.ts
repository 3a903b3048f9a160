/** Explains to the operator, in a sentence, why a partition grants nothing for a while. */
import type { Instant } from '@decorum/protocol'

const ANNOUNCED_RESTART =
  "a restart that is announced costs nothing: stop the fleet, 'decorum ledger partitions --restart', restart Redis (docs/operating.md)"

/** A shorter hold is not logged: that of a new ledger (1 s), or of an announced restart. */
const WORTH_LOGGING_MS = 1_500

/**
 * @param why     what began the epoch (epoch.lua)
 * @param leftMs  remaining time of the hold
 * @param tag     of the partition, or '' if there is only one
 * @param now     by the clock of the log, ms since 1970
 */
export function whyHeld(why: string, leftMs: number, tag: string, now: Instant): string | undefined {
  if (!(leftMs > WORTH_LOGGING_MS)) return undefined
  const reason = reasonOf(why)
  if (reason === undefined) return undefined
  const where = tag === '' ? '' : ` (partition ${tag})`
  const end = new Date(now + leftMs + 999).toISOString().slice(11, 19)
  const avoided = why.startsWith('restart') ? `; ${ANNOUNCED_RESTART}` : ''
  return `${reason}: nothing is fetched for ${Math.ceil(leftMs / 1_000)} s, until ${end} UTC, when every request that may be out has ended${where}${avoided}`
}

function reasonOf(why: string): string | undefined {
  const [kind, ms] = why.split(' ')
  switch (kind) {
    case 'empty':
      return "Redis is empty, and nobody has said that it is new ('decorum ledger partitions --new' does)"
    case 'new':
      return 'Redis is empty, and was started only just now'
    case 'announced':
    case 'restart':
      return 'Redis was started again, or another server has taken over'
    case 'clock':
      return `Redis's clock leapt ${Number(ms) < 0 ? 'back' : 'ahead'} by ${Math.abs(Number(ms)) / 1_000} s`
    default:
      return undefined
  }
}
