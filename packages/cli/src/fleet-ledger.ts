/** Opens the ledger of the running fleet for commands that read it or act on it: it uses the fleet's settings. */
import { readCurrent } from '@decorum/config/fleet-config'
import { readTags } from '@decorum/ledger'
import { type LedgerWithViews, openLedgerWithViews } from '@decorum/ledger/views'
import { CommandError } from './exit.ts'
import { withRedis } from './with-redis.ts'

export type FleetLedger = {
  ledger: LedgerWithViews
  /** version of the fleet's configuration, 0: there is none yet */
  version: number
  outcomesLimit: number
}

/** @throws CommandError when no fleet has ever run there · errors of Redis */
export const withFleetLedger = <T>(work: (fleet: FleetLedger) => Promise<T>): Promise<T> =>
  withRedis(async (redis) => {
    const { tags } = await readTags(redis)
    if (tags.length === 0) throw new CommandError('no fleet has ever run on this Redis')
    const { version = 0, values = {} } = (await readCurrent(redis)) ?? {}
    const { LEASE_MS = 45_000, QUARANTINE_MS = 10_000, OUTCOMES_LIMIT = 1_000_000 } = values
    const times = { leaseMs: Number(LEASE_MS), quarantineMs: Number(QUARANTINE_MS) }
    const ledger = await openLedgerWithViews({ redis, partitions: tags.length, ...times })
    try {
      return await work({ ledger, version, outcomesLimit: Number(OUTCOMES_LIMIT) })
    } finally {
      await ledger.close()
    }
  })
