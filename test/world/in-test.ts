/** Worlds in a test: on the Redis of its file, from its seed, with a line for each run. */
import { Redis } from 'ioredis'
import { onTestFinished } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { lineOf } from './shrink.ts'
import { runWorld, type WorldOptions, type WorldReport } from './world.ts'

export const SEED = Number(process.env.DECORUM_SEED ?? 98_239)
export const SMALL = { sites: 12, busySeconds: 20, fetchers: 3 }
/** Without crawlers of others and with one partition: a run takes a second. */
export const FEWER = { permits: 0, proxies: 0, partitions: 1, slots: 60, grouped: 'hosts' } as const

/** To be called at the top of a file. */
export async function worldsForTest() {
  const server = await redisForTest()
  const redis = (): Redis => {
    const real = new Redis(server.url)
    onTestFinished(() => real.disconnect())
    return real
  }
  return {
    redis,
    async run(options: WorldOptions): Promise<WorldReport> {
      const began = process.cpuUsage()
      const report = await runWorld(redis(), options)
      const { user, system } = process.cpuUsage(began)
      console.log(
        `${lineOf(options)}: ${report.requests} requests, ${report.faults.length} faults, ${report.events} events, ` +
          `${Math.round(report.virtualMs / 1_000)} s of virtual time in ${((user + system) / 1e6).toFixed(1)} s of CPU, ` +
          `${report.pace.busy} of ${report.pace.hosts} hosts busy`,
      )
      return report
    },
  }
}
