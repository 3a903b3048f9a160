/**
 * The two kinds of test, by what they need. A file of either leaves nothing behind in its process, so modules are loaded once for all of
 * them. `vitest run --project unit` runs one kind, `vitest run test/ledger` one folder.
 */
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const pure = ['test/robots/**/*.test.ts', 'test/{config,politeness,protocol}/**/*.test.ts', 'test/*/unit/**/*.test.ts']

/** They decide when the whole ends, so they begin first, in this order. */
const LONGEST = [
  'world/world',
  'world/planted',
  'faults/crash-points',
  'faults/alerts',
  'cli/package',
  'faults/store',
  'cli/crawl',
  'permits/conform',
  'faults/storm',
  'permits/pools',
  'faults/failover',
  'faults/site-policies',
  'faults/emergency-stop',
  'cli/two-crawls',
  'bench/short-forms',
  'proxy/clients',
  'faults/crawl-killed',
  'permits/faults',
  'console/pages',
  'ledger/model/mutants',
  'gateway/any-candidate',
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

/** A wait is for an event, and only what hangs is ended: these limits are many times what a busy machine needs. */
const limits = { expect: { poll: { timeout: 300_000 } }, testTimeout: 900_000, hookTimeout: 300_000 }

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        // Judgement alone: no Redis, no network.
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
        // Everything else: one real Redis per file (test/support/redis.ts), real HTTP servers on loopback, whole processes and fleets that
        // die, freeze and wait for leases to end. Half of it is waiting: more files at once than cores.
        test: {
          name: 'processes',
          include: ['test/**/*.test.ts'],
          exclude: pure,
          globalSetup: 'test/support/global-setup.ts',
          ...limits,
          isolate: false,
          maxWorkers: 4,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
