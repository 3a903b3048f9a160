import fc from 'fast-check'
import { expect, test } from 'vitest'
import { found, Scene } from './scene.ts'

const DELAY = 1_000
const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
/** DECORUM_RUNS=2000 is the long form. */
const settings = { seed, numRuns: Number(process.env.DECORUM_RUNS ?? 1_000) }
console.log(`judge-property: seed ${seed} (SEED=${seed} replays it)`)

/** Exchanges of one lane: how long each took, and how much more than the delay owed came before it. */
const polite = fc.array(
  fc.record({ took: fc.integer({ min: 0, max: 5_000 }), spare: fc.integer({ min: 0, max: 3_000 }) }),
  {
    minLength: 2,
    maxLength: 40,
  },
)

test('whoever keeps the delay is never blamed; whoever comes a millisecond early always is', () => {
  fc.assert(
    fc.property(polite, fc.nat(), fc.integer({ min: 1, max: 2_000 }), (exchanges, pick, early) => {
      const schedule: { start: number; took: number; slack: number }[] = []
      let end = 5 // of robots.txt
      for (const { took, spare } of exchanges) {
        const start = end + DELAY + spare
        schedule.push({ start, took, slack: spare })
        end = start + took
      }
      const scene = (rows: typeof schedule) =>
        rows.reduce((all, { start, took }, n) => all.visit(start, `/${n}`, { ms: took }), new Scene().robots(0, ''))
      const clean = scene(schedule).judge()
      expect(found(clean)).toEqual({})
      expect(clean.smallestSlackMs).toBe(Math.min(...schedule.map(({ slack }) => slack)))
      // One request alone moves; all after it stay.
      const victim = schedule[pick % schedule.length]!
      const start = Math.max(victim.start - victim.slack - early, 6)
      const mutilated = schedule.map((row) => (row === victim ? { ...row, start } : row))
      expect(scene(mutilated).judge().total).toBeGreaterThan(0)
    }),
    settings,
  )
})

test('overlaps and short delays, against a reading of every pair', () => {
  const interval = fc.record({
    start: fc.integer({ min: 2_000, max: 40_000 }),
    took: fc.integer({ min: 0, max: 6_000 }),
  })
  fc.assert(
    fc.property(fc.uniqueArray(interval, { maxLength: 40, selector: ({ start }) => start }), (rows) => {
      const scene = rows.reduce(
        (all, { start, took }, n) => all.visit(start, `/${n}`, { ms: took }),
        new Scene().robots(0, ''),
      )
      const all = [{ start: 0, end: 5 }, ...rows.map(({ start, took }) => ({ start, end: start + took }))]
      const before = (start: number) => all.filter((other) => other.start < start)
      const overlaps = all.filter(({ start }) => before(start).some(({ end }) => end > start)).length
      const short = all.filter(({ start }) => {
        const earlier = before(start)
        return earlier.every(({ end }) => end <= start) && earlier.some(({ end }) => start - end < DELAY)
      }).length
      const { violations } = scene.judge()
      expect({ overlaps: violations.overlap, short: violations['short-delay'] }).toEqual({ overlaps, short })
    }),
    settings,
  )
})

test('no Retry-After window lets a request through, whatever order the answers came in', () => {
  const answer = fc.record({
    start: fc.integer({ min: 2_000, max: 60_000 }),
    seconds: fc.option(fc.integer({ min: 1, max: 30 }), { nil: undefined }),
  })
  fc.assert(
    fc.property(fc.uniqueArray(answer, { maxLength: 30, selector: ({ start }) => start }), (rows) => {
      const scene = new Scene().robots(0, '')
      for (const { start, seconds } of rows) {
        scene.visit(start, `/${start}`, seconds === undefined ? {} : { status: 429, retryAfter: String(seconds) })
      }
      const inside = rows.filter(({ start }) =>
        rows.some(
          (other) =>
            other.seconds !== undefined && other.start + 5 <= start && start < other.start + 5 + other.seconds * 1_000,
        ),
      ).length
      expect(scene.judge({ delayMs: 0 }).violations['in-back-off']).toBe(inside)
    }),
    settings,
  )
})
