/**
 * Tests the model itself: every mutant is found by the model or by what the sites see. One that survives fails.
 *
 * `caught-by.json` names a run that caught each mutant before; it is played first. Where it finds nothing (the model or its steps have
 * changed since), other runs are drawn until one does, which takes seconds to a minute. `DECORUM_WRITE=1` writes the runs anew.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { redisForTest } from '../../support/redis.ts'
import { defineMutant, MUTANTS, markedRules } from './mutants.ts'
import { DifferenceError } from './play.ts'
import { ModelFailure, type Run, runModel } from './run.ts'
import { defineAll } from './scripts.ts'
import { RudeError } from './site.ts'
import { defineWorldCommands } from './world.ts'

const redis = await redisForTest()
/** The hardest to find survive as many steps with one seed and fall within seconds with most others. */
const MOST_STEPS = 100_000
const SEED = Number(process.env.DECORUM_SEED ?? 20_261_120)
const SEEDS = [SEED, SEED + 1, SEED + 2, SEED + 3]
const FILE = new URL('caught-by.json', import.meta.url)
const WRITE = process.env.DECORUM_WRITE === '1'
const known: Record<string, Run> = JSON.parse(readFileSync(FILE, 'utf8'))
const caughtBy = new Map<string, Run>()

afterAll(() => {
  if (!WRITE) return
  const lines = MUTANTS.flatMap(({ name }) => {
    const run = caughtBy.get(name) ?? known[name]
    return run === undefined ? [] : [`  ${JSON.stringify(name)}: ${JSON.stringify(run)}`]
  })
  writeFileSync(FILE, `{\n${lines.join(',\n')}\n}\n`)
})

function connect(): Redis {
  const connection = new Redis(redis.url, { enableAutoPipelining: true })
  onTestFinished(() => connection.disconnect())
  defineWorldCommands(connection)
  return connection
}

/** @returns  the run that caught it; undefined when it survived */
async function runThatCatches(connection: Redis, options: Parameters<typeof runModel>[1]): Promise<Run | undefined> {
  try {
    await runModel(connection, { ...options, shrink: false })
    return undefined
  } catch (error) {
    if (!(error instanceof ModelFailure)) throw error
    expect([DifferenceError, RudeError]).toContain((error.cause as Error | undefined)?.constructor)
    return error.run
  }
}

test('every rule that is marked in the scripts is broken by a mutant', () => {
  const broken = new Set(MUTANTS.map(({ rule }) => rule))
  expect([...markedRules()].filter((rule) => !broken.has(rule))).toEqual([])
})

test('the runs that catch mutants find nothing in the scripts as they are', async () => {
  const connection = connect()
  defineAll(connection)
  // Many mutants are caught by the same run. All at once on one connection: Redis answers whole batches.
  const runs = new Map(Object.values(known).map((run) => [JSON.stringify(run), run]))
  await Promise.all([...runs.values()].map((run) => runModel(connection, { steps: 0, shrink: false, ...run })))
})

test.each(MUTANTS)('caught: $name', async (mutant) => {
  const connection = connect()
  defineMutant(connection, mutant)
  const run = known[mutant.name]
  const replayed = WRITE || !run ? undefined : await runThatCatches(connection, { steps: 0, ...run })
  const { crawls } = mutant
  let caught = replayed
  for (const seed of SEEDS) caught ??= await runThatCatches(connection, { steps: MOST_STEPS, seed, crawls })
  expect(caught, `survived ${MOST_STEPS} steps of the seeds ${SEEDS.join(', ')}`).toBeDefined()
  if (caught) caughtBy.set(mutant.name, caught)
})
