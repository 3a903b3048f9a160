/**
 * Finds the name that a misspelt one was probably meant to be. Written by hand because it is small, and because packages for this purpose
 * count swapped letters (`expriesAt`), the most frequent slip, as two mistakes.
 */

/** Largest number of slips in a name that is still recognized. */
const MOST_SLIPS = 2

/** @returns the nearest of `names`, if it is near enough: one slip, or two in a name of 12 or more letters */
export function nearestName<T extends string>(given: string, names: readonly T[]): T | undefined {
  const wanted = given.slice(0, 64).toLowerCase()
  const letters = lettersOf(wanted)
  let best: { name: T; slips: number } | undefined
  for (const name of names) {
    const other = name.toLowerCase()
    if (Math.abs(wanted.length - other.length) > MOST_SLIPS || differing(letters, lettersOf(other)) > 2 * MOST_SLIPS)
      continue
    const slips = slipsBetween(wanted, other)
    if (slips <= (name.length < 12 ? 1 : MOST_SLIPS) && slips < (best?.slips ?? Infinity)) best = { name, slips }
  }
  return best?.name
}

/**
 * The set of characters in a text, one bit each; some share a bit. A slip changes at most two bits, so this excludes most pairs of names
 * without counting their slips: each process compares its whole environment with all settings when it starts.
 */
function lettersOf(text: string): number {
  let letters = 0
  for (let i = 0; i < text.length; i++) letters |= 1 << (text.charCodeAt(i) & 31)
  return letters
}

function differing(a: number, b: number): number {
  let count = 0
  for (let bits = a ^ b; bits !== 0; bits &= bits - 1) count++
  return count
}

/**
 * Number of letters added, left out, changed, or swapped with their neighbour (optimal string alignment); Infinity as soon as it must
 * exceed MOST_SLIPS.
 */
function slipsBetween(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, j) => j)]
  const at = (i: number, j: number): number => rows[i]?.[j] ?? Infinity
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    rows.push(row)
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1]
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      row.push(
        Math.min(
          at(i - 1, j) + 1,
          at(i, j - 1) + 1,
          at(i - 1, j - 1) + (isSame ? 0 : 1),
          isSwapped ? at(i - 2, j - 2) + 1 : Infinity,
        ),
      )
    }
    // A row's minimum is at most one above the previous row's: both rows exceed the limit, and so will all later ones.
    if (Math.min(...row) > MOST_SLIPS + 1) return Infinity
  }
  return at(a.length, b.length)
}
