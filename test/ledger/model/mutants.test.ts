/** The judges are judged: every seeded bug is caught by the model or by what the sites see. A survivor fails. */
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { redisForTest } from '../../support/redis.ts'
import { defineMutant, MUTANTS } from './mutants.ts'
import { DifferenceError } from './play.ts'
import { runModel } from './run.ts'
import { RudeError } from './site.ts'
import { defineWorldCommands } from './world.ts'

const redis = await redisForTest()
/** The hardest to find so far needed about a quarter of this. */
const MOST_STEPS = 100_000
const SEED = Number(process.env.DECORUM_SEED ?? 20_261_120)

test.each(MUTANTS)('caught: $name', { timeout: 300_000 }, async (mutant) => {
  const connection = new Redis(redis.url, { enableAutoPipelining: true })
  onTestFinished(() => connection.disconnect())
  defineMutant(connection, mutant)
  defineWorldCommands(connection)
  const survived = await runModel(connection, { steps: MOST_STEPS, seed: SEED, shrink: false }).catch(
    (error: Error) => {
      expect([DifferenceError, RudeError]).toContain((error.cause as Error | undefined)?.constructor)
      return undefined
    },
  )
  expect(survived, `survived ${survived?.steps} steps`).toBeUndefined()
})
