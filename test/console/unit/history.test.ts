/** The last hours from the rings of partitions: columns of one number a minute, with gaps where no sample was taken. */
import { historyOf } from '@decorum/console/inside'
import type { Sample } from '@decorum/ledger/views'
import { expect, test } from 'vitest'

const MINUTE = 60_000
const start = 30_000_000 * MINUTE
const sample = (minute: number, fetched: number, over: Partial<Sample> = {}): Sample => ({
  ...{ at: start + minute * MINUTE + 1_000, due: 1, lanes: 2, inFlight: 3, unread: 4, lagMs: 5, jobs: 6 },
  counts: { parked: 10, left: 4, fetched },
  ...over,
})
/** newest first, as Redis keeps them */
const ring = (...samples: Sample[]): Sample[] => samples.toReversed()

test('one number a minute; outcomes are those between two samples; partitions are summed', () => {
  const one = ring(sample(0, 0), sample(1, 60), sample(2, 90))
  const two = ring(sample(0, 5), sample(1, 5), sample(2, 15))
  const { at, waiting, inFlight, outcomes } = historyOf([one, two], start + 2 * MINUTE + 30_000, 3)
  expect(at.map((s) => s * 1_000 - start)).toEqual([0, MINUTE, 2 * MINUTE])
  expect(waiting).toEqual([12, 12, 12])
  expect(inFlight).toEqual([6, 6, 6])
  expect(outcomes.fetched).toEqual([null, 60, 40])
})

test('where nobody took a sample for two minutes there is a gap; one that is missing is none', () => {
  const { waiting } = historyOf([ring(sample(0, 0), sample(2, 0), sample(9, 0))], start + 10 * MINUTE + 30_000, 11)
  expect(waiting).toEqual([6, 6, 6, 6, null, null, null, null, null, 6, 6])
})

test('a ledger that was emptied counts from the beginning again, and no column falls below nothing', () => {
  const { outcomes } = historyOf([ring(sample(0, 500), sample(1, 20))], start + 2 * MINUTE + 1, 3)
  expect(outcomes.fetched.filter((n) => n !== null && n < 0)).toEqual([])
})

test('answers are counted by code, and exchanges by how long they took', () => {
  const counts = (n: number) => ({ 'status/200': n * 90, 'status/404': n * 10, 'ms/100': n * 50, 'ms/800': n * 50 })
  const { statuses, tookMs } = historyOf(
    [ring(sample(0, 0, { counts: counts(1) }), sample(1, 0, { counts: counts(2) }))],
    start + MINUTE + 30_000,
    2,
  )
  expect(statuses).toEqual({ 200: [null, 90], 404: [null, 10] })
  expect(tookMs.half[1]).toBe(100)
  expect(tookMs.most[1]).toBeGreaterThan(400)
  expect(tookMs.most[1]).toBeLessThanOrEqual(800)
})

test('without any sample every number is missing', () => {
  expect(historyOf([[]], start, 2)).toMatchObject({ waiting: [null, null], lagMs: [null, null] })
})
