/** How late lanes are granted, in bins of 10 ms. */
const BIN_MS = 10
const BINS = 100_000

export type Lateness = {
  readonly count: number
  /** ms; exact */
  readonly greatest: number
  add(ms: number): void
  /** @param share  0–1. ms, rounded up to the bin */
  quantile(share: number): number
  /** share of what took longer than this, 0–1 */
  beyond(ms: number): number
}

export function lateness(): Lateness {
  const bins = new Uint32Array(BINS)
  let count = 0
  let greatest = 0
  return {
    get count() {
      return count
    },
    get greatest() {
      return greatest
    },
    add(ms) {
      const bin = Math.min(BINS - 1, Math.floor(ms / BIN_MS))
      bins[bin] = (bins[bin] as number) + 1
      count += 1
      if (ms > greatest) greatest = ms
    },
    quantile(share) {
      let rest = share * count
      for (const [bin, n] of bins.entries()) {
        rest -= n
        if (rest <= 0) return Math.min(greatest, (bin + 1) * BIN_MS)
      }
      return greatest
    },
    beyond: (ms) => (count === 0 ? 0 : bins.subarray(Math.ceil(ms / BIN_MS)).reduce((sum, n) => sum + n, 0) / count),
  }
}
