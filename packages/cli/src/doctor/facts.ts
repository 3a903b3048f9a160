/** Collects the facts that `doctor` judges: of Redis, the list of processes, the machine. What cannot be found out is left out, or marked so. */
import { lookup, Resolver } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { readCurrent } from '@decorum/fleet-config'
import { connectLink, LAYOUT_VERSION, linkTo, type Member, mastersOf, type RedisLink, readTags } from '@decorum/ledger'
import { layoutsOf } from '@decorum/ledger-move'
import { openLedgerWithViews } from '@decorum/ledger-views'
import { CommandError } from '../exit.ts'
import type { Facts, ServerFacts } from './findings.ts'

const CONNECT_MS = 5_000
const SETTINGS = ['appendfsync', 'hash-max-listpack-value', 'set-max-intset-entries']

export type Asked = { url: string; hosts: string[]; dnsServers: string[]; slots: number; hasContact: boolean }

/** @throws CommandError when Redis does not answer */
export async function factsOf({ url, hosts, dnsServers, slots, hasContact }: Asked): Promise<Facts> {
  const redis = linkTo(url, { away: 'fail', lazyConnect: true })
  redis.on('error', () => undefined) // calls carry their own errors
  try {
    await connectLink(redis, CONNECT_MS).catch((error: Error) => {
      throw new CommandError(`Redis does not answer: ${error.message}`)
    })
    const servers = await Promise.all(mastersOf(redis).map((server) => serverFacts(server, redis.isCluster)))
    const layouts = await layoutsOf(redis)
    const configVersion = (await readCurrent(redis))?.version ?? 0
    const members = layouts.length === 1 && layouts[0] === LAYOUT_VERSION ? await membersOf(redis) : []
    const names = await Promise.all(hosts.map((host) => lookUp(host, dnsServers)))
    return {
      servers,
      layouts,
      layout: LAYOUT_VERSION,
      configVersion,
      members,
      openFiles: await openFiles(),
      slots,
      names,
      hasContact,
    }
  } finally {
    redis.disconnect()
  }
}

type Server = ReturnType<typeof mastersOf>[number]

async function serverFacts(server: Server, isCluster: boolean): Promise<ServerFacts> {
  const info = await server.info()
  const before = Date.now()
  const [seconds, micros] = await server.time()
  const after = Date.now()
  const time = Number(seconds) * 1_000 + Number(micros) / 1_000
  const config: Record<string, string> = {}
  for (const name of SETTINGS) {
    const answer = (await server.config('GET', name).catch(() => [])) as string[]
    if (answer[1] !== undefined) config[name] = answer[1]
  }
  const name = isCluster ? `${server.options.host}:${server.options.port}` : ''
  return { name, info, config, aheadMs: time - (before + after) / 2, uncertainMs: (after - before) / 2 }
}

async function membersOf(redis: RedisLink): Promise<Member[]> {
  const { tags } = await readTags(redis)
  const ledger = await openLedgerWithViews({ redis, partitions: tags.length })
  try {
    return await ledger.members()
  } finally {
    await ledger.close()
  }
}

async function lookUp(host: string, servers: string[]): Promise<Facts['names'][number]> {
  const startedAt = performance.now()
  const resolver = new Resolver({ timeout: 3_000, tries: 1 })
  if (servers.length > 0) resolver.setServers(servers)
  try {
    await (servers.length > 0 ? resolver.resolve4(host) : lookup(host))
    return { host, ms: performance.now() - startedAt }
  } catch (error) {
    return { host, ms: performance.now() - startedAt, error: (error as NodeJS.ErrnoException).code ?? String(error) }
  }
}

/** The soft limit of this process, which its children inherit; undefined where /proc does not say. */
async function openFiles(): Promise<number | undefined> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '')
  const soft = /^Max open files\s+(\d+|unlimited)/m.exec(limits)?.[1]
  return soft === undefined ? undefined : soft === 'unlimited' ? Number.MAX_SAFE_INTEGER : Number(soft)
}
