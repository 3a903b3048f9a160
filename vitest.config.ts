/**
 * The kinds of test, by what they need. Time limits only end what hangs: a busy neighbour makes any test slow.
 * `vitest run --project unit` runs one kind, `vitest run test/ledger` one folder. A test file that no other kind claims belongs to
 * `redis`, so that none is left out by its name.
 */
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const pure = ['test/robots/**/*.test.ts', 'test/{config,politeness,protocol}/**/*.test.ts', 'test/*/unit/**/*.test.ts']
const fetcher = ['test/fetcher/**/*.test.ts']
/** They start no fleet, and close what they open. */
const inProcess = ['test/{ledger,gateway,console,client,runtime}/**/*.test.ts']
const faults = ['test/{faults,setup,readme,journey}/**/*.test.ts', 'test/cluster/fleet-*.test.ts']

/** They decide when the whole ends, so they begin first, in this order. */
const LONGEST = [
  'faults/alerts',
  'faults/storm',
  'faults/crash-points',
  'faults/emergency-stop',
  'faults/store',
  'permits/conform',
  'cli/package',
  'permits/pools',
  'cli/two-crawls',
  'cli/crawl',
  'bench/short-forms',
]

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const at = LONGEST.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`))
      return at < 0 ? LONGEST.length : at
    }
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b))
  }
}

/**
 * Half of what most tests do is waiting: more files at once than cores. All that need a Redis or a network share one queue, so that no kind
 * waits for the last file of another.
 */
const SIDE_BY_SIDE = { maxWorkers: 5, sequence: { groupOrder: 1 } }

/** A wait is for an event, and only what hangs is ended: these limits are many times what a busy machine needs. */
const limits = { expect: { poll: { timeout: 300_000 } }, testTimeout: 900_000, hookTimeout: 300_000 }

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        // Judgement alone: no Redis, no network. Nothing is left behind by a file, so modules are loaded once for all of them.
        test: {
          name: 'unit',
          include: pure,
          ...limits,
          isolate: false,
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        // One real Redis per file (test/support/redis.ts).
        test: {
          name: 'redis',
          ...limits,
          include: ['test/**/*.test.ts'],
          exclude: [...pure, ...fetcher, ...faults, ...inProcess],
          globalSetup: 'test/support/global-setup.ts',
          ...SIDE_BY_SIDE,
        },
      },
      {
        // The same for files that leave nothing behind in their process: modules are loaded once for all of them.
        test: {
          name: 'services',
          ...limits,
          include: inProcess,
          exclude: pure,
          globalSetup: 'test/support/global-setup.ts',
          isolate: false,
          ...SIDE_BY_SIDE,
        },
      },
      {
        // Real HTTP servers on loopback.
        test: {
          name: 'fetcher',
          ...limits,
          include: fetcher,
          exclude: pure,
          globalSetup: 'test/support/global-setup.ts',
          isolate: false,
          ...SIDE_BY_SIDE,
        },
      },
      {
        // Whole processes and fleets that die, freeze and wait for leases to end: most of it is waiting.
        test: {
          name: 'faults',
          ...limits,
          include: faults,
          exclude: [...pure],
          globalSetup: 'test/support/global-setup.ts',
          ...SIDE_BY_SIDE,
        },
      },
    ],
  },
})
