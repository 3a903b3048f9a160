/** How close to its delay a lane was kept busy, and how late its requests were, from what the site saw. */

/** ms, on any clock */
export type Exchange = { start: number; end: number }

/**
 * Achieved over permitted: a lane whose answers took s₁…sₙ could have made its last request after Σ(sᵢ + delay), i < n.
 * @returns both times, ms; undefined for less than two exchanges
 */
export function timesOf(
  lane: readonly Exchange[],
  delayMs: number,
): { permittedMs: number; takenMs: number } | undefined {
  const sorted = lane.toSorted((a, b) => a.start - b.start)
  const [first, last] = [sorted[0], sorted.at(-1)]
  if (!first || !last || sorted.length < 2) return undefined
  const permittedMs = sorted.slice(0, -1).reduce((sum, { start, end }) => sum + (end - start) + delayMs, 0)
  return { permittedMs, takenMs: last.start - first.start }
}

/** Silence kept − silence owed, ms: one figure per request but the first. */
export function latenessOf(lane: readonly Exchange[], delayMs: number): number[] {
  const sorted = lane.toSorted((a, b) => a.start - b.start)
  return sorted.slice(1).map(({ start }, n) => start - (sorted[n]?.end ?? start) - delayMs)
}
