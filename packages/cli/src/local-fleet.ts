/** Redis and the fleet on it, as `up` and `crawl` want them: started in order, drained and stopped in order. */
import { type Ledger, openLedger } from '@decorum/ledger'
import { messageOf, UsageError } from './exit.ts'
import { type Fleet, type RoleEvent, startFleet } from './fleet.ts'
import { makeFolder } from './make-folder.ts'
import { ensureRedis, type RunningRedis } from './redis-server.ts'
import type { CliSettings } from './settings.ts'

export type LocalFleetOptions = {
  settings: CliSettings
  /** what the roles are given; REDIS_URL is set here */
  env: NodeJS.ProcessEnv
  /** of an embedded Redis, kept */
  dataDir: string
  gateways: number
  fetchers: number
  console?: number | false
  onEvent: (event: RoleEvent) => void
  log: (line: string) => void
}

export type LocalFleet = {
  readonly redis: RunningRedis
  readonly ledger: Ledger
  readonly fleet: Fleet
  /** Nothing new is begun, what is in flight is settled, the role processes end. May be called twice. */
  drain(): Promise<void>
  /** drain(), then Redis: an embedded one is stopped, its data on disk. */
  close(): Promise<void>
  /** Ends the role processes at once; close() then only stops Redis. */
  kill(): void
}

/** @throws whatever keeps Redis, the ledger or a role from starting; what had been started is stopped before */
export async function openLocalFleet(options: LocalFleetOptions): Promise<LocalFleet> {
  const { settings, dataDir, log } = options
  if (settings.redisUrl === undefined) await makeDataFolder(dataDir)
  const redis = await ensureRedis({ url: settings.redisUrl ?? '', dataDir, log })
  let ledger: Ledger | undefined
  try {
    const { partitions, leaseMs, quarantineMs } = settings
    ledger = await openLedger({ redis: redis.url, partitions, leaseMs, quarantineMs, onNotice: log })
    for (const warning of ledger.warnings) log(`Redis: ${warning}`)
    const fleet = await startFleet({
      env: { ...options.env, REDIS_URL: redis.url },
      gateways: options.gateways,
      fetchers: options.fetchers,
      console: options.console ?? false,
      onEvent: options.onEvent,
    })
    return running(redis, ledger, fleet, settings.drainMs)
  } catch (error) {
    await ledger?.close()
    await redis.stop()
    throw error
  }
}

async function makeDataFolder(dataDir: string): Promise<void> {
  try {
    await makeFolder(dataDir, 0o700)
  } catch (error) {
    throw new UsageError(`no data can be kept in ${dataDir}: ${messageOf(error)}`)
  }
}

function running(redis: RunningRedis, ledger: Ledger, fleet: Fleet, drainMs: number): LocalFleet {
  let draining: Promise<boolean> | undefined
  const drain = (): Promise<boolean> => {
    draining ??= fleet.stop(drainMs)
    return draining
  }
  return {
    redis,
    ledger,
    fleet,
    drain: async () => void (await drain()),
    async close() {
      // Only when every request has been settled may the next start do without waiting for leases to run out.
      if ((await drain()) && redis.kind === 'embedded') await ledger.announceRestart().catch(() => undefined)
      await ledger.close()
      await redis.stop()
    },
    kill: () => fleet.kill(),
  }
}
