/** The two forms of the storm: 90 seconds with scaled times, and as long as wanted with times as the product comes. */
import { DEFAULTS, SCALED } from './manners.ts'
import type { StormOptions } from './storm.ts'

export const shortForm = (seed: number, ms = 90_000): StormOptions => ({
  seed,
  ms,
  calmMs: 60_000,
  times: SCALED,
  rhythm: {
    killMs: 1_350,
    freezeMs: 6_000,
    hurtMs: 5_000,
    configMs: 8_000,
    outages: [
      { at: 0.3, loseMs: 0 },
      { at: 0.65, loseMs: 1_000 },
    ],
  },
  gateways: 3,
  fetchers: 5,
  permits: 2,
  sites: 150,
  rate: 85,
  least: { outcomes: 6_000, kills: 60, freezes: 6 },
})

/** A Redis restart holds everything for 55 s, so it comes every few minutes; every second one loses its last second. */
export function longForm(seed: number, minutes: number): StormOptions {
  const outages = Math.max(2, Math.floor(minutes / 5))
  return {
    ...shortForm(seed, minutes * 60_000),
    calmMs: 240_000,
    times: DEFAULTS,
    rhythm: {
      killMs: 1_500,
      freezeMs: 20_000,
      hurtMs: 10_000,
      configMs: 20_000,
      outages: Array.from({ length: outages }, (_, n) => ({
        at: (n + 0.5) / outages,
        loseMs: n % 2 === 0 ? 1_000 : 0,
      })),
    },
    rate: 50,
  }
}
