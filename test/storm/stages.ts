/** What stands behind REDIS_URL in the storm of failovers, and what befalls it: servers of their own, on loopback. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findRedis, freePort, type RedisProcess, redisEnvironment, spawnRedis } from '@decorum/cli/local-redis/testing'
import { partitionTags, slotOf } from '@decorum/protocol'
import { Redis } from 'ioredis'
import { type ClusterNode, formCluster, moveSlot, nodeSettings, untilHealthy } from '../support/form-cluster.ts'
import { printNew } from '../support/say-new.ts'

export type Stage = {
  /** REDIS_URL of fleet and frontier */
  url: string
  partitions: number
  /** what may befall it, by name. Each resolves when another server is in charge, or all slots are whole again */
  failovers: Record<string, () => Promise<void>>
  /** resolves when the next failover may come: every replica has what its master has */
  whole(): Promise<void>
  stop(): Promise<void>
}

const LOOK_MS = 50

export const STAGES: Record<string, (folder: string) => Promise<Stage>> = {
  address: behindAnAddress,
  sentinel: behindSentinel,
  cluster: asCluster,
}

/** One server of a stage, which may be killed and started again on its port and folder. */
class Server {
  readonly #dir: string
  readonly #more: Record<string, string>
  #running: RedisProcess | undefined
  #link: Redis | undefined
  port = 0

  constructor(dir: string, more: Record<string, string> = {}) {
    this.#dir = dir
    this.#more = more
  }

  async start(): Promise<this> {
    await mkdir(this.#dir, { recursive: true })
    const binary = await findRedis(() => undefined)
    const place = this.port === 0 ? {} : { port: this.port }
    const more = { 'repl-diskless-sync-delay': '0', ...this.#more }
    this.#running = await spawnRedis(binary, { dir: this.#dir, appendonly: true, more, ...place })
    this.port = this.#running.port
    return this
  }

  /** A connection by which it is operated. */
  get link(): Redis {
    // What is asked of a server that is down fails soon.
    const options = { port: this.port, host: '127.0.0.1', maxRetriesPerRequest: 0, retryStrategy: () => LOOK_MS }
    this.#link ??= new Redis(options).on('error', () => undefined)
    return this.#link
  }

  async follow(master: Server): Promise<void> {
    await this.link.replicaof('127.0.0.1', master.port)
  }

  async isInStep(): Promise<boolean> {
    const info = await this.link.info('replication').catch(() => '')
    return info.includes('role:master') || info.includes('master_link_status:up')
  }

  async kill(): Promise<void> {
    this.#running?.child.kill('SIGKILL')
    await this.#running?.exited
  }

  async stop(): Promise<void> {
    this.#link?.disconnect()
    await this.kill()
  }
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo().catch(() => false))) await sleep(LOOK_MS)
}

const inStep = (servers: readonly Server[]) => (): Promise<void> =>
  until(async () => (await Promise.all(servers.map((server) => server.isInStep()))).every(Boolean))

/** A master with its replica. */
async function pair(folder: string): Promise<[Server, Server]> {
  const [master, replica] = [
    await new Server(join(folder, 'a')).start(),
    await new Server(join(folder, 'b')).start(),
  ] as const
  await replica.follow(master)
  await inStep([replica])()
  return [master, replica]
}

/** A name or an endpoint that leads to whichever server is the master; new connections reach the new one. */
async function behindAnAddress(folder: string): Promise<Stage> {
  let [master, replica] = await pair(folder)
  const open = new Set<Socket>()
  const relay = createServer((from) => {
    const to = connect(master.port, '127.0.0.1')
    from.pipe(to).pipe(from)
    for (const socket of [from, to]) {
      open.add(socket)
      socket.on('close', () => open.delete(socket))
      socket.on('error', () => {
        from.destroy()
        to.destroy()
      })
    }
  }).listen(0, '127.0.0.1')
  await once(relay, 'listening')
  const { port } = relay.address() as { port: number }
  const url = `redis://127.0.0.1:${port}`
  await printNew(url)
  const promote = async (): Promise<Server> => {
    await replica.link.replicaof('NO', 'ONE')
    ;[master, replica] = [replica, master]
    return replica
  }
  return {
    url,
    partitions: 1,
    failovers: {
      'READONLY without a close': async () => (await promote()).follow(master),
      'a replica promoted': async () => {
        await master.kill()
        const old = await promote()
        await old.start()
        await old.follow(master)
      },
    },
    whole: () => inStep([replica])(),
    async stop() {
      relay.close()
      for (const socket of open) socket.destroy()
      await Promise.all([master.stop(), replica.stop()])
    },
  }
}

const MASTER = 'decorum'

async function behindSentinel(folder: string): Promise<Stage> {
  const servers = await pair(folder)
  const port = await freePort()
  const file = join(folder, 'sentinel.conf')
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${folder}`,
    `sentinel monitor ${MASTER} 127.0.0.1 ${servers[0].port} 1`,
    `sentinel down-after-milliseconds ${MASTER} 1000`,
    `sentinel failover-timeout ${MASTER} 1000`,
  ]
  await writeFile(file, `${lines.join('\n')}\n`)
  const binary = await findRedis(() => undefined)
  const sentinel = spawn(binary.path, [file, '--sentinel'], { env: redisEnvironment(binary), stdio: 'ignore' })
  const ask = new Redis({ port, host: '127.0.0.1' }).on('error', () => undefined)
  const masterNow = async (): Promise<Server> => {
    const [, at] = (await ask.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', MASTER)) as [string, string]
    return servers.find((server) => server.port === Number(at)) ?? servers[0]
  }
  const replicas = async (): Promise<string[][]> => (await ask.call('SENTINEL', 'REPLICAS', MASTER)) as string[][]
  const isKnown = async (): Promise<boolean> => {
    const [one = []] = await replicas()
    return one[one.indexOf('flags') + 1] === 'slave' && one[one.indexOf('master-link-status') + 1] === 'ok'
  }
  const takenOver = async (old: Server): Promise<void> => until(async () => (await masterNow()) !== old)
  await until(isKnown)
  const url = `sentinel://127.0.0.1:${port}/${MASTER}`
  await printNew(url)
  return {
    url,
    partitions: 1,
    failovers: {
      'SENTINEL FAILOVER': async () => {
        const old = await masterNow()
        await until(async () => (await ask.call('SENTINEL', 'FAILOVER', MASTER)) === 'OK')
        await takenOver(old)
      },
      'a master killed behind Sentinel': async () => {
        const old = await masterNow()
        await old.kill()
        await takenOver(old)
        await old.start() // Sentinel makes it a replica
      },
    },
    async whole() {
      await until(isKnown)
      await inStep(servers)()
    },
    async stop() {
      ask.disconnect()
      sentinel.kill('SIGKILL')
      await Promise.all(servers.map((server) => server.stop()))
    },
  }
}

const MASTERS = 3
const OF_CLUSTER = 6

/** Three masters with a replica each. */
async function asCluster(folder: string): Promise<Stage> {
  const started = Array.from({ length: 2 * MASTERS }, async (_, n) =>
    new Server(join(folder, `node-${n}`), await nodeSettings()).start(),
  )
  const servers = await Promise.all(started)
  const ids = await Promise.all(servers.map((server) => server.link.cluster('MYID').then(String)))
  const { links } = await formCluster(servers.slice(0, MASTERS).map(({ port }) => port))
  for (const link of links) link.disconnect()
  const [first] = servers
  if (first === undefined) throw new Error('no server')
  for (const [n, server] of servers.entries()) {
    if (n < MASTERS) continue
    const [, bus = ''] = await first.link.config('GET', 'cluster-port')
    await server.link.call('CLUSTER', 'MEET', '127.0.0.1', first.port, bus)
    await until(async () => (await server.link.call('CLUSTER', 'REPLICATE', ids[n - MASTERS] ?? '')) === 'OK')
  }
  const isMaster = async ({ link }: Server): Promise<boolean> =>
    (await link.info('replication')).includes('role:master')
  const node = (server: Server): ClusterNode => ({
    link: server.link,
    id: ids[servers.indexOf(server)] ?? '',
    port: server.port,
  })
  const masters = async (): Promise<Server[]> => {
    const roles = await Promise.all(servers.map((server) => isMaster(server).catch(() => false)))
    return servers.filter((_, n) => roles[n])
  }
  const holds = async (server: Server, slot: number): Promise<boolean> => {
    const ranges = await server.link.cluster('SLOTS')
    return ranges.some(([from, to, master]) => slot >= from && slot <= to && master?.[1] === server.port)
  }
  const homeOf = async (slot: number): Promise<Server> => {
    for (;;) {
      for (const server of await masters()) if (await holds(server, slot).catch(() => false)) return server
      await sleep(LOOK_MS)
    }
  }
  const whole = async (): Promise<void> => {
    await untilHealthy(servers.map(({ link }) => link))
    await until(async () => (await masters()).length === MASTERS)
    await inStep(servers)()
  }
  await whole()
  const slots = partitionTags(OF_CLUSTER).map((tag) => slotOf(tag.replace(/[{}]/g, '')))
  let turn = 0
  const next = (): number => slots[turn++ % slots.length] ?? 0
  const url = servers.map(({ port }) => `redis://127.0.0.1:${port}`).join(',')
  await printNew(url)
  return {
    url,
    partitions: OF_CLUSTER,
    failovers: {
      'a master of a cluster killed': async () => {
        const slot = next()
        const old = await homeOf(slot)
        await old.kill()
        await until(async () => (await homeOf(slot)) !== old)
        await old.start() // the cluster makes it a replica
      },
      'a slot moved under load': async () => {
        const slot = next()
        const from = await homeOf(slot)
        const all = await masters()
        const to = all.find((server) => server !== from) ?? from
        await moveSlot(
          slot,
          node(from),
          node(to),
          all.map(({ link }) => link),
        )
      },
    },
    whole,
    async stop() {
      await Promise.all(servers.map((server) => server.stop()))
    },
  }
}
