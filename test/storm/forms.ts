/** The forms of the storm: a minute and a half with scaled times, a smaller and denser one in `npm test`, and as long as wanted with times as the product comes. */
import { DEFAULTS, SCALED } from './manners.ts'
import type { StormOptions } from './storm.ts'

const SHORT_MS = 90_000

export const shortForm = (seed: number, ms = SHORT_MS): StormOptions => ({
  seed,
  ms,
  calmMs: 60_000,
  times: SCALED,
  rhythm: {
    killMs: 1_350,
    freezeMs: 3_000,
    hurtMs: 4_000,
    configMs: 8_000,
    outages: [
      { at: 0.3, loseMs: 0 },
      { at: 0.65, loseMs: 1_000 },
    ],
  },
  gateways: 3,
  fetchers: 5,
  permits: 2,
  proxies: 2,
  sites: 150,
  rate: 85,
  least: {
    outcomes: Math.round((6_000 * ms) / SHORT_MS),
    kills: Math.round((60 * ms) / SHORT_MS),
    freezes: Math.round((6 * ms) / SHORT_MS),
  },
})

/**
 * Over as soon as each kind of fault and of exchange has been there, with enough requests to be judged. Fewer processes, of which each is
 * hurt more often: the time of two cores goes into starts, and a start proves nothing.
 */
export function testedForm(seed: number): StormOptions {
  const { rhythm, ...short } = shortForm(seed, SHORT_MS / 5)
  return {
    ...short,
    rhythm: { ...rhythm, freezeMs: 1_000, hurtMs: 2_000, configMs: 5_000 },
    gateways: 2,
    fetchers: 4,
    sites: 60,
    rate: 35,
    least: { outcomes: 500, kills: 10, freezes: 4 },
  }
}

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
