/**
 * The four kinds of test, by what they need. Time limits only end what hangs: a busy neighbour makes any test slow. `vitest run --project unit` runs one kind, `vitest run test/ledger` one
 * folder. A test file that no other kind claims belongs to `redis`, so that none is left out by its name.
 */
import { defineConfig } from 'vitest/config'

const pure = ['test/robots/**/*.test.ts', 'test/{config,politeness,protocol}/**/*.test.ts', 'test/*/unit/**/*.test.ts']
const fetcher = ['test/fetcher/**/*.test.ts']
const faults = ['test/{faults,setup,readme,journey}/**/*.test.ts', 'test/cluster/fleet-*.test.ts']

/** Waiting is for an event; only what hangs is ended. */
const expect = { poll: { timeout: 90_000 } }

export default defineConfig({
  test: {
    projects: [
      {
        // Judgement alone: no Redis, no network.
        test: { name: 'unit', include: pure, testTimeout: 120_000, expect, sequence: { groupOrder: 0 } },
      },
      {
        // One real Redis per file (test/support/redis.ts). Much of it is waiting: more files at once than cores.
        test: {
          name: 'redis',
          expect,
          include: ['test/**/*.test.ts'],
          exclude: [...pure, ...fetcher, ...faults],
          globalSetup: 'test/support/global-setup.ts',
          testTimeout: 120_000,
          hookTimeout: 120_000,
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
      {
        // Real HTTP servers on loopback.
        test: {
          name: 'fetcher',
          expect,
          include: fetcher,
          exclude: pure,
          globalSetup: 'test/support/global-setup.ts',
          testTimeout: 120_000,
          hookTimeout: 120_000,
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
        },
      },
      {
        // Whole processes and fleets that die, freeze and wait for leases to end: most of it is waiting, three files at a time.
        test: {
          name: 'faults',
          expect,
          include: faults,
          exclude: [...pure],
          globalSetup: 'test/support/global-setup.ts',
          testTimeout: 120_000,
          hookTimeout: 60_000,
          maxWorkers: 3,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
})
