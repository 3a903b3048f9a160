/** A real Redis Cluster for tests: three masters on loopback, each with its append-only file and a folder of its own. */
import { slotOf } from '@decorum/protocol'
import { formCluster, moveSlot, nodeSettings, untilHealthy } from './form-cluster.ts'
import { startRedis, type TestRedis } from './redis.ts'
import { printNew } from './say-new.ts'

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
  /**
   * The master of a partition sends whoever asks for a key of it that does not exist to another one, which sends him back.
   * @returns what ends it
   */
  redirectForEver(tag: string): Promise<() => Promise<void>>
  /** every master that runs agrees that all is well */
  healthy(): Promise<void>
  stop(): Promise<void>
}

const MASTERS = 3

/** @param settings  of each node, beside our own */
export async function startCluster(settings: Record<string, string> = {}): Promise<TestCluster> {
  const masters = await Promise.all(
    Array.from({ length: MASTERS }, async () =>
      startRedis({
        appendonly: true,
        more: { ...(await nodeSettings()), ...settings },
      }),
    ),
  )
  const { links, ids } = await formCluster(masters.map(({ port }) => port))
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
  const url = masters.map((master) => master.url).join(',')
  await printNew(url)
  return {
    url,
    masters,
    homeOf,
    healthy: () => untilHealthy(links),
    async moveTag(tag, to, halfWay) {
      const from = await homeOf(tag)
      const nodes = links.map((link, n) => ({ link, id: ids[n] ?? '', port: masters[n]?.port ?? 0 }))
      const [source, target] = [nodes[from], nodes[to]]
      if (source === undefined || target === undefined || from === to)
        throw new Error(`nothing to move: ${from} → ${to}`)
      return moveSlot(slotOf(tag.replace(/[{}]/g, '')), source, target, links, halfWay)
    },
    async redirectForEver(tag) {
      const slot = slotOf(tag.replace(/[{}]/g, ''))
      const home = await homeOf(tag)
      const [source, target] = [links[home], ids[(home + 1) % MASTERS]]
      if (source === undefined || target === undefined) throw new Error(`nobody holds ${tag}`)
      await source.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', target)
      return async () => void (await source.call('CLUSTER', 'SETSLOT', slot, 'STABLE'))
    },
    async stop() {
      for (const link of links) link.disconnect()
      await Promise.all(masters.map((master) => master.stop()))
    },
  }
}
