/** Why a partition grants nothing for a while, as a sentence for the operator. */

/** A shorter hold is not worth a line: the second of a new ledger, an announced restart. */
const WORTH_SAYING_MS = 1_500

/**
 * @param why     what began the epoch (epoch.lua)
 * @param leftMs  of the hold
 * @param tag     of the partition, or '' where there is only one
 */
export function whyHeld(why: string, leftMs: number, tag: string): string | undefined {
  if (!(leftMs > WORTH_SAYING_MS)) return undefined
  const reason = reasonOf(why)
  if (reason === undefined) return undefined
  const where = tag === '' ? '' : ` (partition ${tag})`
  return `${reason}: nothing is fetched for ${Math.ceil(leftMs / 1_000)} s, until every request that may be out has ended${where}`
}

function reasonOf(why: string): string | undefined {
  const [kind, ms] = why.split(' ')
  switch (kind) {
    case 'empty':
      return "Redis is empty, and nobody has said that it is new ('decorum partitions --new' does)"
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
