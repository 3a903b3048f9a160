/** Opens the ledger of the running fleet for commands that read it or act on it: it uses the fleet's settings. */
import { connectForConfig, readCurrent } from '@decorum/config/fleet-config'
import { readTags } from '@decorum/ledger'
import { type LedgerWithViews, openLedgerWithViews } from '@decorum/ledger/views'
import { CommandError } from './exit.ts'
import { runningRedis } from './running-redis.ts'
import { readCliSettings } from './settings.ts'

export type FleetLedger = {
  ledger: LedgerWithViews
  /** version of the fleet's configuration, 0: there is none yet */
  version: number
  outcomesLimit: number
}

/** @throws CommandError when no fleet has ever run there · errors of Redis */
export async function withFleetLedger<T>(work: (fleet: FleetLedger) => Promise<T>): Promise<T> {
  const redis = await connectForConfig(await runningRedis(readCliSettings(process.env), process.env))
  try {
    const { tags } = await readTags(redis)
    if (tags.length === 0) throw new CommandError('no fleet has ever run on this Redis')
    const current = await readCurrent(redis)
    const number = (name: 'LEASE_MS' | 'QUARANTINE_MS' | 'OUTCOMES_LIMIT', usual: number): number =>
      Number(current?.values[name] ?? usual)
    const ledger = await openLedgerWithViews({
      redis,
      partitions: tags.length,
      leaseMs: number('LEASE_MS', 45_000),
      quarantineMs: number('QUARANTINE_MS', 10_000),
    })
    try {
      return await work({
        ledger,
        version: current?.version ?? 0,
        outcomesLimit: number('OUTCOMES_LIMIT', 1_000_000),
      })
    } finally {
      await ledger.close()
    }
  } finally {
    redis.disconnect()
  }
}
