/** Permits: how many one process grants and completes in a second, how long each takes, what twenty thousand askers in line cost. */
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { Agent, type IncomingMessage, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startFleet } from '@decorum/cli'
import { spawnWeb } from '@decorum/cli/synthetic-web'
import type { BenchSection } from './frame/one.ts'
import { cpuMs, rssKib } from './frame/process.ts'
import { benchRedis } from './frame/redis.ts'

type Told = { status: number; body: { permit?: string } }
const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })

function call(base: string, method: string, path: string, body?: object): Promise<Told> {
  return new Promise((resolve, reject) => {
    const text = body === undefined ? '' : JSON.stringify(body)
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
    const sent = request(new URL(path, base), { method, headers, agent }, (response: IncomingMessage) => {
      let answer = ''
      response.setEncoding('utf8').on('data', (part: string) => {
        answer += part
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(answer || '{}') }))
    })
    sent.on('error', reject)
    sent.end(text)
  })
}

/** Somebody who waits in line, as one socket: a client of Node for each would slow the bench down, and not the service. */
function wait(port: number, url: string): Socket {
  const body = JSON.stringify({ url, waitMs: 55_000 })
  const head = `POST /v1/permits HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-type: application/json\r\n`
  const socket = connect(port, '127.0.0.1').on('error', () => undefined)
  socket.resume().write(`${head}content-length: ${body.length}\r\n\r\n${body}`)
  return socket
}

/** Each asker in line is an open file of this process and one of the service's. */
function mostAskers(): number {
  const limit = /Max open files\s+(\d+)/.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
  return Math.min(20_000, Number(limit ?? 4_096) - 1_000)
}

export async function run({ short }: { short: boolean }): Promise<BenchSection> {
  const redis = await benchRedis()
  const folder = await mkdtemp(join(tmpdir(), 'decorum-bench-'))
  const sites = Array.from({ length: short ? 50 : 400 }, (_, n) => ({ name: `s${n}`, robots: { body: '' } }))
  const web = await spawnWeb({ sites, record: join(folder, 'visits.ndjson') })
  const env = {
    ...process.env,
    REDIS_URL: redis.url,
    DECORUM_ALLOW_ADDRESSES: '127.0.0.0/8',
    DEFAULT_DELAY_MS: '0',
    LOG_LEVEL: 'error',
  }
  const fleet = await startFleet({ env, gateways: 0, fetchers: 1, permits: 1 })
  try {
    const [member] = fleet.of('permits')
    const base = `http://127.0.0.1:${member?.port}`
    const origins = Object.values(web.origins)
    const first = await Promise.all(
      origins.map((origin) => call(base, 'POST', '/v1/permits', { url: `${origin}/`, waitMs: 60_000 })),
    )
    await Promise.all(
      first.map(({ body }) => call(base, 'POST', `/v1/permits/${body.permit}/completion`, { status: 200 })),
    )
    const granted: number[] = []
    const completed: number[] = []
    const cycle = async (origin: string): Promise<void> => {
      const start = performance.now()
      const { status, body } = await call(base, 'POST', '/v1/permits', { url: `${origin}/x`, waitMs: 5_000 })
      if (status !== 201) return
      const middle = performance.now()
      granted.push(middle - start)
      await call(base, 'POST', `/v1/permits/${body.permit}/completion`, { status: 200 })
      completed.push(performance.now() - middle)
    }
    const seconds = short ? 2 : 15
    const cpuBefore = cpuMs(member?.pid)
    const until = performance.now() + seconds * 1_000
    await Promise.all(
      origins.slice(0, short ? 16 : 64).map(async (origin) => {
        while (performance.now() < until) await cycle(origin)
      }),
    )
    const rate = granted.length / seconds
    const cpuUs = ((cpuMs(member?.pid) - cpuBefore) * 1_000) / granted.length
    granted.length = 0
    completed.length = 0
    for (let n = 0; n < (short ? 100 : 1_000); n++) await cycle(origins[n % origins.length] as string)
    const median = (list: number[]): string => (list.toSorted((a, b) => a - b)[list.length >> 1] ?? 0).toFixed(2)
    const [grantMs, completeMs] = [median(granted), median(completed)]

    // all of these wait for lanes that are held
    const held: Told[] = await Promise.all(
      origins.map((origin) => call(base, 'POST', '/v1/permits', { url: `${origin}/`, waitMs: 5_000 })),
    )
    const before = rssKib(member?.pid) / 1_024
    const askers = short ? 500 : mostAskers()
    const inLine = async (): Promise<number> => {
      const metrics = await fetch(`${base}/metrics`).then((answer) => answer.text())
      return Number(/decorum_permits_waiting (\d+)/.exec(metrics)?.[1])
    }
    const urls = Array.from({ length: askers }, (_, n) => `${origins[n % origins.length]}/${n}`)
    const sockets: Socket[] = []
    for (const [n, url] of urls.entries()) {
      sockets.push(wait(Number(member?.port), url))
      // No more at once than the service's backlog of connections.
      if (n % 400 === 399) await fetch(`${base}/livez`).then((answer) => answer.text())
    }
    // The first of each lane may have its turn. A look costs the service more than an asker: it counts all of its connections.
    let most = 0
    for (let looks = 0; looks < 20 && most < askers - origins.length; looks++) {
      await new Promise((resolve) => setTimeout(resolve, 500))
      most = Math.max(most, await inLine())
    }
    const during = rssKib(member?.pid) / 1_024
    for (const socket of sockets) socket.destroy()
    await Promise.all(held.map(({ body }) => call(base, 'DELETE', `/v1/permits/${body.permit}`)))
    const table = [
      '| one permits process | |',
      '|---|---:|',
      `| granted and completed per second, ${short ? 16 : 64} crawlers at once | ${Math.round(rate)} |`,
      `| processor time of a grant and its completion | ${Math.round(cpuUs)} µs |`,
      `| p50 of a grant, of a completion, one crawler | ${grantMs} ms, ${completeMs} ms |`,
      `| memory with ${most} askers in line; before | ${Math.round(during)} MB; ${Math.round(before)} MB |`,
    ]
    return { name: 'Permits over HTTP', lines: table }
  } finally {
    await fleet.stop(5_000)
    await web.stop()
    await redis.stop()
    await rm(folder, { recursive: true, force: true })
  }
}
