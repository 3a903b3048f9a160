/** Servers on loopback become the masters of one Redis Cluster; for tests and benches. */

import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '@decorum/cli/local-redis/testing'
import { Redis } from 'ioredis'

const SLOTS = 16_384
/** silence after which a node counts as failed, ms */
const NODE_TIMEOUT_MS = 1_000
const LOOK_MS = 25

/** What a server is started with to become a node. */
export const nodeSettings = async (): Promise<Record<string, string>> => ({
  'cluster-enabled': 'yes',
  'cluster-config-file': 'nodes.conf',
  'cluster-node-timeout': String(NODE_TIMEOUT_MS),
  'cluster-require-full-coverage': 'no',
  'cluster-port': String(await freePort()),
})

/**
 * Slots are split as `redis-cli --cluster create` does. Resolves when every node agrees that all is well.
 * @returns a connection to each, and its id in the cluster
 */
export async function formCluster(ports: number[]): Promise<{ links: Redis[]; ids: string[] }> {
  const links = ports.map((port) => new Redis({ port, host: '127.0.0.1' }).on('error', () => undefined))
  const ids = await Promise.all(links.map(async (link) => String(await link.cluster('MYID'))))
  const first = (n: number): number => Math.ceil((n * SLOTS) / ports.length - 0.5)
  for (const [n, link] of links.entries()) {
    await link.call('CLUSTER', 'SET-CONFIG-EPOCH', n + 1)
    await link.call('CLUSTER', 'ADDSLOTSRANGE', first(n), first(n + 1) - 1)
    const bus = (await link.config('GET', 'cluster-port'))[1] ?? ''
    if (n > 0) await links[0]?.call('CLUSTER', 'MEET', '127.0.0.1', ports[n] ?? 0, bus)
  }
  await untilHealthy(links)
  return { links, ids }
}

const KEYS_AT_ONCE = 20
/** How long a server waits for the other one: only what hangs is given up. */
const MIGRATE_MS = 120_000

export type ClusterNode = { link: Redis; id: string; port: number }

/**
 * Moves a slot from one master to another, key by key, as `redis-cli --cluster reshard` does.
 * @param halfWay  awaited when about half of its keys have gone
 * @returns how many keys went
 */
export async function moveSlot(
  slot: number,
  source: ClusterNode,
  target: ClusterNode,
  masters: readonly Redis[],
  halfWay?: () => Promise<void>,
): Promise<number> {
  await target.link.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', source.id)
  await source.link.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', target.id)
  const all = Number(await source.link.call('CLUSTER', 'COUNTKEYSINSLOT', slot))
  let gone = 0
  let waited = false
  for (;;) {
    const keys = (await source.link.call('CLUSTER', 'GETKEYSINSLOT', slot, KEYS_AT_ONCE)) as string[]
    if (keys.length === 0) break
    await source.link.call('MIGRATE', '127.0.0.1', target.port, '', 0, MIGRATE_MS, 'KEYS', ...keys)
    gone += keys.length
    if (!waited && gone >= all / 2) {
      waited = true
      await halfWay?.()
    }
  }
  for (const link of [target.link, source.link, ...masters])
    await link.call('CLUSTER', 'SETSLOT', slot, 'NODE', target.id)
  return gone
}

export async function untilHealthy(links: Redis[]): Promise<void> {
  const fine = (info: string): boolean =>
    info.includes('cluster_state:ok') &&
    info.includes(`cluster_slots_ok:${SLOTS}`) &&
    info.includes(`cluster_known_nodes:${links.length}`)
  for (const link of links) while (!fine(await link.cluster('INFO').then(String, () => ''))) await sleep(LOOK_MS)
}
