/** A real Redis Cluster for tests: three masters on loopback, each with its append-only file and a folder of its own. */
import { setTimeout as sleep } from 'node:timers/promises'
import { slotOf } from '@decorum/protocol'
import { Redis } from 'ioredis'
import { freePort } from '../../packages/cli/src/redis-process.ts'
import { startRedis, type TestRedis } from './redis.ts'

export type TestCluster = {
  /** REDIS_URL: every node */
  url: string
  masters: TestRedis[]
  /** number of the master that holds a partition, or another key, now */
  homeOf(tag: string): Promise<number>
  /**
   * Moves the slot of a partition to another master, key by key, as `redis-cli --cluster reshard` does.
   * @param halfWay  awaited when about half of its keys have gone
   * @returns how many keys went
   */
  moveTag(tag: string, to: number, halfWay?: () => Promise<void>): Promise<number>
  /** every master that runs agrees that all is well */
  healthy(): Promise<void>
  stop(): Promise<void>
}

const MASTERS = 3
const SLOTS = 16_384
/** silence after which a node counts as failed, ms */
const NODE_TIMEOUT_MS = 1_000
const LOOK_MS = 25
const KEYS_AT_ONCE = 20

/** @param settings  of each node, beside our own */
export async function startCluster(settings: Record<string, string> = {}): Promise<TestCluster> {
  const masters = await Promise.all(
    Array.from({ length: MASTERS }, async () =>
      startRedis({
        appendonly: true,
        more: {
          'cluster-enabled': 'yes',
          'cluster-config-file': 'nodes.conf',
          'cluster-node-timeout': String(NODE_TIMEOUT_MS),
          'cluster-require-full-coverage': 'no',
          'cluster-port': String(await freePort()),
          ...settings,
        },
      }),
    ),
  )
  const links = masters.map(({ port }) => new Redis({ port, host: '127.0.0.1' }).on('error', () => undefined))
  const ids = await Promise.all(links.map(async (link) => String(await link.cluster('MYID'))))
  const busPorts = await Promise.all(links.map(async (link) => Number((await link.config('GET', 'cluster-port'))[1])))
  const first = (n: number): number => Math.ceil((n * SLOTS) / MASTERS - 0.5) // as redis-cli splits: 0, 5461, 10923
  for (const [n, link] of links.entries()) {
    await link.call('CLUSTER', 'SET-CONFIG-EPOCH', n + 1)
    await link.call('CLUSTER', 'ADDSLOTSRANGE', first(n), first(n + 1) - 1)
    if (n > 0) await links[0]?.call('CLUSTER', 'MEET', '127.0.0.1', masters[n]?.port ?? 0, busPorts[n] ?? 0)
  }
  const healthy = async (): Promise<void> => {
    for (const link of links) {
      const fine = (info: string): boolean =>
        info.includes('cluster_state:ok') &&
        info.includes('cluster_slots_ok:16384') &&
        info.includes(`cluster_known_nodes:${MASTERS}`)
      while (!fine(await link.cluster('INFO').then(String, () => ''))) await sleep(LOOK_MS)
    }
  }
  await healthy()
  const homeOf = async (tag: string): Promise<number> => {
    const slot = slotOf(tag.replace(/[{}]/g, ''))
    const answers = links.map(async (link, n) => {
      const mine = (await link.cluster('NODES')) as string
      const line = mine.split('\n').find((one) => one.includes('myself')) ?? ''
      const ranges = line
        .split(' ')
        .slice(8)
        .filter((range) => !range.startsWith('['))
      return ranges.some((range) => {
        const [from, to = from] = range.split('-').map(Number) as [number, number?]
        return slot >= from && slot <= to
      })
        ? n
        : -1
    })
    return (await Promise.all(answers)).find((n) => n >= 0) ?? -1
  }
  return {
    url: masters.map(({ url }) => url).join(','),
    masters,
    homeOf,
    healthy,
    async moveTag(tag, to, halfWay) {
      const slot = slotOf(tag.replace(/[{}]/g, ''))
      const from = await homeOf(tag)
      const [source, target] = [links[from], links[to]]
      if (source === undefined || target === undefined || from === to)
        throw new Error(`nothing to move: ${from} → ${to}`)
      await target.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', ids[from] ?? '')
      await source.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', ids[to] ?? '')
      const all = Number(await source.call('CLUSTER', 'COUNTKEYSINSLOT', slot))
      let gone = 0
      let waited = false
      for (;;) {
        const keys = (await source.call('CLUSTER', 'GETKEYSINSLOT', slot, KEYS_AT_ONCE)) as string[]
        if (keys.length === 0) break
        const { port = 0 } = masters[to] ?? {}
        await source.call('MIGRATE', '127.0.0.1', port, '', 0, 5_000, 'KEYS', ...keys)
        gone += keys.length
        if (!waited && gone >= all / 2) {
          waited = true
          await halfWay?.()
        }
      }
      for (const link of [target, source, ...links]) await link.call('CLUSTER', 'SETSLOT', slot, 'NODE', ids[to] ?? '')
      return gone
    },
    async stop() {
      for (const link of links) link.disconnect()
      await Promise.all(masters.map((master) => master.stop()))
    },
  }
}
