/** The proxy: what a plain request and one within an inspected tunnel cost it beside a bare proxy of Node's own, by turns, and what a client that waits weighs. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startFleet } from '@decorum/cli'
import { spawnWeb } from '@decorum/cli/synthetic-web'
import { CA_FILES, makeAuthority } from '@decorum/proxy/authority'
import { ProxyAgent, request as requestThrough } from 'undici'
import type { BenchSection } from './frame/one.ts'
import { cpuMs, rssKib } from './frame/process.ts'
import { benchRedis } from './frame/redis.ts'

const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })

function get(port: number, url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path: url, agent, headers: { host: new URL(url).host } }, (answer) => {
      answer.resume().once('end', () => resolve(answer.statusCode ?? 0))
    })
      .once('error', reject)
      .end()
  })
}

const AT_ONCE = 32
const middle = (list: number[]): number => list.toSorted((a, b) => a - b)[list.length >> 1] ?? 0

type Side = {
  port: number
  pid: number | undefined
  get: (url: string) => Promise<number>
  us: number[]
  rate: number[]
}
const sideOf = (port: number, pid: number | undefined, get: Side['get']): Side => ({ port, pid, get, us: [], rate: [] })
const usOf = ({ us }: Side): string => `${Math.round(middle(us))} (${us.map(Math.round).join(', ')})`

/** Requests through both sides by turns, after rules were fetched, connections opened and code compiled. */
async function measure(sides: readonly Side[], origins: string[], short: boolean): Promise<void> {
  const through = async (side: Side, count: number): Promise<void> => {
    let next = 0
    const one = async (): Promise<void> => {
      while (next < count) {
        const n = next++
        const status = await side.get(`${origins[n % origins.length]}/${n}`)
        if (status !== 200) throw new Error(`a request was answered with ${status}`)
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, one))
  }
  for (const side of sides) await through(side, origins.length * (short ? 2 : 10))
  const [rounds, requests] = short ? [1, 200] : [5, 4_000]
  for (let round = 0; round < rounds; round++)
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      const [cpu, at] = [cpuMs(side.pid), performance.now()]
      await through(side, requests)
      side.us.push(((cpuMs(side.pid) - cpu) * 1_000) / requests)
      side.rate.push((requests / (performance.now() - at)) * 1_000)
    }
}

const HEAD = ['| through | Decorum, µs | bare, µs | Decorum, requests/s | bare |', '|---|---:|---:|---:|---:|']
const rowOf = (name: string, [decorum, bare]: readonly [Side, Side]): string =>
  `| ${name} | **${usOf(decorum)}** | ${usOf(bare)} | ${Math.round(middle(decorum.rate))} | ${Math.round(middle(bare.rate))} |`

export async function run({ short }: { short: boolean }): Promise<BenchSection> {
  const folder = await mkdtemp(join(tmpdir(), 'decorum-bench-'))
  try {
    const count = short ? 50 : 1_000
    const plain = await plainHttp(folder, count, short)
    const authority = makeAuthority({ hosts: [], days: 1 })
    for (const [n, name] of CA_FILES.entries())
      await writeFile(join(folder, name), n === 0 ? authority.certificate : authority.key)
    const rows = [plain.row]
    for (const version of ['http1', 'h2'] as const) rows.push(await inspected(folder, count, version, short))
    const lines = [
      `Kept connections, 1 KB, ${count.toLocaleString('en')} sites, ${AT_ONCE} at once, rounds by turns; processor time of the proxy a request: median (rounds).`,
      '',
      ...HEAD,
      ...rows,
      '',
      plain.memory,
    ]
    return { name: 'proxy: what a request through it costs', lines }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

type Fleet = Awaited<ReturnType<typeof startFleet>>
/** A fleet with one proxy, and a bare one. */
async function withProxies<T>(
  env: NodeJS.ProcessEnv,
  bareArguments: string[],
  work: (
    proxy: ReturnType<Fleet['of']>[number] | undefined,
    bare: { port: number; pid: number | undefined },
  ) => Promise<T>,
): Promise<T> {
  const redis = await benchRedis()
  const all = {
    ...process.env,
    REDIS_URL: redis.url,
    DECORUM_ALLOW_ADDRESSES: '127.0.0.0/8',
    DEFAULT_DELAY_MS: '0',
    LOG_LEVEL: 'error',
    ...env,
  }
  const fleet = await startFleet({ env: all, gateways: 0, fetchers: 1, proxies: 1 })
  const bare: ChildProcess = fork(join(import.meta.dirname, 'proxy', 'bare.ts'), bareArguments, { env: all })
  try {
    const [port] = (await once(bare, 'message')) as [number]
    return await work(fleet.of('proxy')[0], { port, pid: bare.pid })
  } finally {
    bare.kill()
    await fleet.stop(5_000)
    await redis.stop()
  }
}

async function plainHttp(folder: string, count: number, short: boolean): Promise<{ row: string; memory: string }> {
  const sites = Array.from({ length: count }, (_, n) => ({ name: `s${n}`, robots: { body: '' } }))
  const web = await spawnWeb({ sites, record: join(folder, 'visits.ndjson') })
  const origins = Object.values(web.origins)
  try {
    return await withProxies({}, [], async (proxy, bare) => {
      const of = (port: number, pid: number | undefined): Side => sideOf(port, pid, (url) => get(port, url))
      const sides = [of(proxy?.port ?? 0, proxy?.pid), of(bare.port, bare.pid)] as const
      await measure(sides, origins, short)
      const row = rowOf('plain HTTP', sides)
      // A slow exchange holds each of a few lanes, and the others wait for them
      const before = rssKib(proxy?.pid)
      const waiting = short ? 200 : 5_000
      const sockets: Socket[] = []
      for (let n = 0; n < waiting; n++) {
        const socket = connect(sides[0].port, '127.0.0.1').on('error', () => undefined)
        socket.resume().write(`PUT ${origins[n % 20]}/${n} HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n`) // its body never comes
        sockets.push(socket)
        if (n % 200 === 199) await get(sides[0].port, `${origins[40]}/`)
      }
      await new Promise((resolve) => setTimeout(resolve, 2_000))
      const during = rssKib(proxy?.pid)
      for (const socket of sockets) socket.destroy()
      const each = ((during - before) / waiting).toFixed(1)
      return {
        row,
        memory: `Memory a client that waits (${waiting.toLocaleString('en')} of them, plain HTTP): ${each} KB.`,
      }
    })
  } finally {
    await web.stop()
  }
}

/** HTTPS, looked into on both sides by authorities that the client trusts; HTTP/1.1 from the client. */
async function inspected(folder: string, count: number, version: 'http1' | 'h2', short: boolean): Promise<string> {
  const site = fork(join(import.meta.dirname, 'proxy', 'tls-sites.ts'), [folder, String(count), version])
  try {
    const gone = once(site, 'exit').then(() => Promise.reject(new Error('the sites ended before they listened')))
    const [origins] = (await Promise.race([once(site, 'message'), gone])) as [string[]]
    gone.catch(() => undefined)
    const trust = { NODE_EXTRA_CA_CERTS: join(folder, CA_FILES[0]), PROXY_CA: folder }
    return await withProxies(trust, [folder], async (proxy, bare) => {
      const ca = readFileSync(join(folder, CA_FILES[0]))
      const of = (port: number, pid: number | undefined): Side => {
        const dispatcher = new ProxyAgent({
          uri: `http://127.0.0.1:${port}`,
          requestTls: { ca },
          keepAliveTimeout: 600_000,
          allowH2: false,
        })
        return sideOf(port, pid, async (url) => {
          const { statusCode, body } = await requestThrough(url, { dispatcher })
          await body.dump()
          return statusCode
        })
      }
      const sides = [of(proxy?.port ?? 0, proxy?.pid), of(bare.port, bare.pid)] as const
      await measure(sides, origins, short)
      return rowOf(
        `inspected, ${version === 'h2' ? 'HTTP/2 to the site (bare: HTTP/1.1)' : 'HTTP/1.1 to the site'}`,
        sides,
      )
    })
  } finally {
    site.disconnect()
  }
}
