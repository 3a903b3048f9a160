/** The Redis of one configuration: one server, or a cluster of three masters; each with its append-only file. */

import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findRedis, spawnRedis } from '@decorum/cli/local-redis/testing'
import { announceNew, linkTo, type RedisLink } from '@decorum/ledger'
import { formCluster, nodeSettings } from '../../test/support/form-cluster.ts'

export type Store = {
  /** REDIS_URL */
  url: string
  /** a connection for the bench itself */
  link: RedisLink
  /** CPU of all servers so far, µs */
  cpuMicros(): Promise<number>
  stop(): Promise<void>
}

export async function startStore(masters: 1 | 3): Promise<Store> {
  const binary = await findRedis(() => undefined)
  const folder = await mkdtemp(join(tmpdir(), 'decorum-bench-'))
  const servers = await Promise.all(
    Array.from({ length: masters }, async (_, n) => {
      const dir = join(folder, String(n))
      await mkdir(dir)
      return spawnRedis(binary, { dir, appendonly: true, more: masters === 1 ? {} : await nodeSettings() })
    }),
  )
  const [first] = servers
  const cluster = masters === 1 ? undefined : await formCluster(servers.map(({ port }) => port))
  const url = servers.map((server) => server.url).join(',')
  const link = linkTo(url, { away: 'wait' })
  await announceNew(link)
  const counters = cluster?.links ?? [linkTo(first?.url ?? '', { away: 'wait' })]
  return {
    url,
    link,
    async cpuMicros() {
      const texts = await Promise.all(counters.map((counter) => counter.info('cpu')))
      const read = (text: string, name: string): number => Number(new RegExp(`^${name}:(\\S+)`, 'm').exec(text)?.[1])
      return texts.reduce((sum, text) => sum + (read(text, 'used_cpu_user') + read(text, 'used_cpu_sys')) * 1e6, 0)
    },
    async stop() {
      for (const one of [link, ...counters]) one.disconnect()
      for (const { child } of servers) child.kill('SIGTERM')
      await Promise.all(servers.map(({ exited }) => exited))
      await rm(folder, { recursive: true, force: true })
    },
  }
}
