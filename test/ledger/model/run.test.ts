/**
 * The model beside the real ledger. `DECORUM_STEPS` says how many steps, `DECORUM_SEED` which ones; a failure prints the
 * command that plays its run again (`DECORUM_PATH`: that run alone).
 */

import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { redisForTest } from '../../support/redis.ts'
import { runModel } from './run.ts'
import { defineAll } from './scripts.ts'
import { defineWorldCommands } from './world.ts'

const redis = await redisForTest()
const STEPS = Number(process.env.DECORUM_STEPS ?? 10_000)
const SEED = Number(process.env.DECORUM_SEED ?? Date.now() % 1_000_000_000)

/** DECORUM_CRAWLS=1 or 0: of both the one */
const PLAYED = [false, true].filter(
  (crawls) => (process.env.DECORUM_CRAWLS ?? String(Number(crawls))) === String(Number(crawls)),
)

test.each(PLAYED)(
  `${STEPS} steps: ledger and model agree, and no site sees a rude request; several crawls: %s`,
  async (crawls) => {
    const connection = new Redis(redis.url, { enableAutoPipelining: true })
    defineAll(connection)
    defineWorldCommands(connection)
    onTestFinished(() => connection.disconnect())
    const path = process.env.DECORUM_PATH
    const report = await runModel(connection, {
      steps: STEPS,
      seed: SEED,
      crawls,
      ...(path === undefined ? {} : { path }),
    })
    console.log(
      `seed ${SEED}: ${report.steps} steps in ${report.runs} runs, ${report.granted} requests, ${Math.round(report.ms)} ms`,
    )
    if (path === undefined) expect(report.steps).toBeGreaterThanOrEqual(STEPS)
  },
)
