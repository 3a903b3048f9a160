/** The proxy: what a plain request costs it beside a bare forward proxy of Node's own, by turns, and what a client that waits weighs. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startFleet } from '@decorum/cli'
import { spawnWeb } from '@decorum/cli/synthetic-web'
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

export async function run({ short }: { short: boolean }): Promise<BenchSection> {
  const redis = await benchRedis()
  const folder = await mkdtemp(join(tmpdir(), 'decorum-bench-'))
  const sites = Array.from({ length: short ? 50 : 1_000 }, (_, n) => ({ name: `s${n}`, robots: { body: '' } }))
  const web = await spawnWeb({ sites, record: join(folder, 'visits.ndjson') })
  const env = {
    ...process.env,
    REDIS_URL: redis.url,
    DECORUM_ALLOW_ADDRESSES: '127.0.0.0/8',
    DEFAULT_DELAY_MS: '0',
    LOG_LEVEL: 'error',
  }
  const fleet = await startFleet({ env, gateways: 0, fetchers: 1, proxies: 1 })
  const bare: ChildProcess = fork(join(import.meta.dirname, 'proxy', 'bare.ts'))
  try {
    const [barePort] = (await once(bare, 'message')) as [number]
    const [proxy] = fleet.of('proxy')
    const sides = [
      { name: 'Decorum', port: proxy?.port ?? 0, pid: proxy?.pid, us: [] as number[], rate: [] as number[] },
      { name: 'bare', port: barePort, pid: bare.pid, us: [] as number[], rate: [] as number[] },
    ]
    const origins = Object.values(web.origins)
    const through = async (port: number, count: number): Promise<void> => {
      let next = 0
      const one = async (): Promise<void> => {
        while (next < count) {
          const n = next++
          const status = await get(port, `${origins[n % origins.length]}/${n}`)
          if (status !== 200) throw new Error(`a request was answered with ${status}`)
        }
      }
      await Promise.all(Array.from({ length: AT_ONCE }, one))
    }
    for (const { port } of sides) await through(port, origins.length * (short ? 2 : 10)) // rules are fetched, connections open, code compiled for speed
    const [rounds, requests] = short ? [1, 200] : [5, 4_000]
    for (let round = 0; round < rounds; round++)
      for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
        const [cpu, at] = [cpuMs(side.pid), performance.now()]
        await through(side.port, requests)
        side.us.push(((cpuMs(side.pid) - cpu) * 1_000) / requests)
        side.rate.push((requests / (performance.now() - at)) * 1_000)
      }
    const [decorum, plain] = sides as [(typeof sides)[0], (typeof sides)[0]]

    // A slow exchange holds each of a few lanes, and the others wait for them
    const before = rssKib(proxy?.pid)
    const waiting = short ? 200 : 5_000
    const sockets: Socket[] = []
    for (let n = 0; n < waiting; n++) {
      const socket = connect(decorum.port, '127.0.0.1').on('error', () => undefined)
      socket.resume().write(`PUT ${origins[n % 20]}/${n} HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n`) // its body never comes
      sockets.push(socket)
      if (n % 200 === 199) await get(decorum.port, `${origins[40]}/`)
    }
    await new Promise((resolve) => setTimeout(resolve, 2_000))
    const during = rssKib(proxy?.pid)
    for (const socket of sockets) socket.destroy()
    const us = (side: typeof decorum): string =>
      `${Math.round(middle(side.us))} (${side.us.map(Math.round).join(', ')})`
    const lines = [
      `| kept connections, 1 KB, ${origins.length.toLocaleString('en')} sites, ${AT_ONCE} at once, ${rounds} rounds by turns | Decorum | bare |`,
      '|---|---:|---:|',
      `| processor time of the proxy a request, µs: median (rounds) | **${us(decorum)}** | ${us(plain)} |`,
      `| requests a second | ${Math.round(middle(decorum.rate))} | ${Math.round(middle(plain.rate))} |`,
      `| memory a client that waits, KB (${waiting.toLocaleString('en')} of them) | ${((during - before) / waiting).toFixed(1)} | |`,
    ]
    return { name: 'proxy: what a request through it costs', lines }
  } finally {
    bare.kill()
    await fleet.stop(5_000)
    await web.stop()
    await redis.stop()
    await rm(folder, { recursive: true, force: true })
  }
}
