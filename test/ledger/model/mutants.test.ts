/** Tests the model itself: every mutant is found by the model or by what the sites see. One that survives fails. */
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { redisForTest } from '../../support/redis.ts'
import { defineMutant, MUTANTS, markedRules } from './mutants.ts'
import { DifferenceError } from './play.ts'
import { runModel } from './run.ts'
import { RudeError } from './site.ts'
import { defineWorldCommands } from './world.ts'

const redis = await redisForTest()
/** The hardest to find so far needed about a quarter of this. */
const MOST_STEPS = 100_000
const SEED = Number(process.env.DECORUM_SEED ?? 20_261_120)

test('every rule that is marked in the scripts is broken by a mutant', () => {
  const broken = new Set(MUTANTS.map(({ rule }) => rule))
  expect([...markedRules()].filter((rule) => !broken.has(rule))).toEqual([])
})

test.each(MUTANTS)('caught: $name', async (mutant) => {
  const connection = new Redis(redis.url, { enableAutoPipelining: true })
  onTestFinished(() => connection.disconnect())
  defineMutant(connection, mutant)
  defineWorldCommands(connection)
  const survived = await runModel(connection, {
    steps: MOST_STEPS,
    seed: SEED,
    shrink: false,
    crawls: mutant.crawls,
  }).catch((error: Error) => {
    expect([DifferenceError, RudeError]).toContain((error.cause as Error | undefined)?.constructor)
    return undefined
  })
  expect(survived, `survived ${survived?.steps} steps`).toBeUndefined()
})
