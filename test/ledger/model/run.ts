/** Runs of steps against model and ledger, many at once on one connection, so that Redis answers whole batches. */
import fc from 'fast-check'
import type { Redis } from 'ioredis'
import { check } from './compare.ts'
import { type Play, startPlay } from './play.ts'
import { allOf, start, step } from './steps.ts'
import { openWorld } from './world.ts'

/** Runs side by side: while one waits for its answer, the others draw their next step. */
const ABREAST = 48
const LONGEST_RUN = 240
/** Runs drawn from one seed. */
const RUNS = 8
const START = 1_800_000_000_000

export type RunReport = { steps: number; runs: number; granted: number; acts: Record<string, number>; ms: number }

class Step implements fc.AsyncCommand<Play, Play> {
  readonly act: number
  readonly number: number
  name = ''
  constructor(act: number, number: number) {
    this.act = act
    this.number = number
  }
  check(): boolean {
    return true
  }
  async run(play: Play): Promise<void> {
    this.name = await step(play, this.act, this.number)
  }
  toString(): string {
    return `${this.name || 'step'}(${this.act}, ${this.number})`
  }
}

let worlds = 0

/** Every other seed plays with what is due a little later granted ahead. */
const aheadOf = (seed: number): number => (seed % 2 === 0 ? 0 : 25)

/** Which run it was: the seed that its runs are drawn from, its place among them, and whether several crawls are played. */
export type Run = { seed: number; path: string; crawls?: true }

/** What went wrong, the shortest run that shows it, and how to have it again. */
export class ModelFailure extends Error {
  readonly run: Run
  constructor(
    details: Pick<fc.RunDetails<unknown>, 'seed' | 'counterexamplePath' | 'errorInstance'>,
    report: string | undefined,
    crawls: boolean,
  ) {
    const run = { seed: details.seed, path: (details.counterexamplePath ?? '').split(':')[0] as string }
    const replay = `DECORUM_CRAWLS=${Number(crawls)} DECORUM_SEED=${run.seed} DECORUM_PATH=${run.path} npx vitest run test/ledger/model/run.test.ts`
    super(`${report}\nreplay: ${replay}`, { cause: details.errorInstance })
    this.run = crawls ? { ...run, crawls } : run
  }
}

/**
 * @param redis  a connection that knows the verbs (perhaps with a bug in one) and the commands of worlds
 * @param options.path  that run of the seed alone
 * @throws  ModelFailure, whose cause is a DifferenceError or a RudeError
 */
export async function runModel(
  redis: Redis,
  options: { steps: number; seed: number; path?: string; shrink?: boolean; crawls?: boolean },
): Promise<RunReport> {
  const from = performance.now()
  const { crawls = false } = options
  const report: RunReport = { steps: 0, runs: 0, granted: 0, acts: {}, ms: 0 }
  const steps = fc
    .tuple(fc.noBias(fc.nat(allOf(crawls) - 1)), fc.noBias(fc.maxSafeNat()))
    .map(([act, number]) => new Step(act, number))
  const commands = fc.commands([steps], { maxCommands: LONGEST_RUN, size: 'max' })
  let failed = false
  const isEnough = (): boolean => options.path === undefined && report.steps >= options.steps
  const propertyOf = (seed: number) =>
    fc.asyncProperty(commands, async (drawn) => {
      if (isEnough()) return
      const manner = { crawls, aheadMs: aheadOf(seed) }
      const world = openWorld(redis, `w${++worlds}`, START, manner)
      const play = startPlay(world, manner)
      try {
        await start(play)
        await fc.asyncModelRun(() => ({ model: play, real: play }), drawn)
        await check(play)
      } finally {
        await world.dispose()
        report.steps += play.steps
        report.granted += play.site.granted
        report.runs++
      }
    })
  const one = async (stream: number): Promise<void> => {
    for (let turn = 0; !isEnough() && !failed; turn++) {
      const seed = options.seed + stream * 1_000_003 + turn * 7_919
      const details = await fc.check(propertyOf(seed), { seed, numRuns: RUNS, endOnFailure: options.shrink === false })
      if (details.failed) {
        failed = true
        throw new ModelFailure(details, fc.defaultReportMessage(details), crawls)
      }
    }
  }
  if (options.path === undefined) await Promise.all(Array.from({ length: ABREAST }, (_, stream) => one(stream)))
  else {
    const { seed, path } = options
    const details = await fc.check(propertyOf(seed), { seed, path, numRuns: 1, endOnFailure: options.shrink === false })
    if (details.failed) throw new ModelFailure(details, fc.defaultReportMessage(details), crawls)
  }
  report.ms = performance.now() - from
  return report
}
