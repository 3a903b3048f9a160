/** The fleet of docker-compose.yml, started as processes from that file: its commands, its environment, its password, its volumes. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { freePort, redisEnvironment } from '@decorum/cli/local-redis/testing'
import { announceNew } from '@decorum/ledger'
import { Redis } from 'ioredis'
import { afterAll, expect, inject, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { composeFile, execForm, root } from './compose-file.ts'

const PASSWORD = 'a-password-of-the-console'
const REDIS_PASSWORD = 'apasswordofredis'
const { services } = composeFile({
  CONSOLE_PASSWORD: PASSWORD,
  REDIS_PASSWORD,
  DECORUM_PERMIT_TOKENS: '[{"name":"them","token":"at least 16 characters"}]',
})
const running: ChildProcess[] = []
afterAll(async () => {
  for (const child of running.toReversed()) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
})

async function startRedis(): Promise<{ port: number; dir: string }> {
  const [program, ...args] = services.redis?.command ?? []
  expect(program).toBe('redis-server')
  const dir = await mkdtemp(join(inject('redisFolder'), 'topology-'))
  const port = await freePort()
  const binary = inject('redisBinary')
  const place = ['--port', String(port), '--dir', dir, '--bind', '127.0.0.1']
  running.push(spawn(binary.path, [...args, ...place], { env: redisEnvironment(binary), stdio: 'ignore' }))
  const redis = new Redis(port, '127.0.0.1', {
    password: REDIS_PASSWORD,
    retryStrategy: () => 20,
    maxRetriesPerRequest: null,
  })
  redis.on('error', () => {})
  await announceNew(redis)
  redis.disconnect()
  return { port, dir }
}

/** @returns  the port that it says it listens on */
async function startRole(name: string, change: (value: string) => string): Promise<number> {
  const { command = [], environment = {} } = services[name] ?? {}
  const [, ...args] = [...execForm('ENTRYPOINT'), ...command]
  const given = Object.fromEntries(Object.entries(environment).map(([key, value]) => [key, change(String(value))]))
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: {
      PATH: process.env.PATH,
      HOME: inject('redisFolder'),
      DECORUM_ALLOW_ADDRESSES: '127.0.0.0/8',
      DEFAULT_DELAY_MS: '20',
      ...given,
      PORT: '0',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.push(child)
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  for await (const line of createInterface({ input: child.stdout })) {
    const { msg, port } = JSON.parse(line) as { msg: string; port?: number }
    if (msg === 'ready' && port !== undefined) {
      child.stdout.resume()
      return port
    }
  }
  throw new Error(`${name} ended before it was ready: ${said}`)
}

/** Prometheus by its command, scraping the ports of these processes in place of the names of the network. */
async function startPrometheus(ports: Record<string, number>): Promise<string> {
  const dir = await mkdtemp(join(inject('redisFolder'), 'prometheus-'))
  const config = parse(await readFile(join(root, 'deploy/prometheus/prometheus.yml'), 'utf8')) as {
    global: object
    rule_files: string[]
    scrape_configs: {
      job_name: string
      basic_auth?: { password_file: string }
      static_configs?: object
      dns_sd_configs?: object
    }[]
  }
  config.global = { scrape_interval: '1s', evaluation_interval: '1s' }
  config.rule_files = [join(root, 'deploy/prometheus/alerts.yml')]
  await writeFile(join(dir, 'password'), PASSWORD)
  for (const job of config.scrape_configs) {
    expect(job.dns_sd_configs ?? job.static_configs, job.job_name).toBeDefined()
    delete job.dns_sd_configs
    job.static_configs = [{ targets: [`127.0.0.1:${ports[job.job_name]}`] }]
    if (job.basic_auth !== undefined) job.basic_auth.password_file = join(dir, 'password')
  }
  await writeFile(join(dir, 'prometheus.yml'), stringify(config))
  const port = await freePort()
  const places = new Map([
    ['--config.file', join(dir, 'prometheus.yml')],
    ['--storage.tsdb.path', join(dir, 'data')],
  ])
  const args = (services.prometheus?.command ?? []).map((arg) => {
    const [name = ''] = arg.split('=')
    return places.has(name) ? `${name}=${places.get(name)}` : arg
  })
  running.push(spawn('prometheus', [...args, `--web.listen-address=127.0.0.1:${port}`], { stdio: 'ignore' }))
  return `http://127.0.0.1:${port}`
}

async function valuesOf(prometheus: string, query: string): Promise<[string, string][]> {
  const answer = await fetch(`${prometheus}/api/v1/query?query=${encodeURIComponent(query)}`).catch(() => undefined)
  if (answer?.ok !== true) return []
  const { data } = (await answer.json()) as {
    data: { result: { metric: { job?: string }; value: [number, string] }[] }
  }
  return data.result
    .map(({ metric, value }): [string, string] => [metric.job ?? '', value[1]])
    .toSorted(([a], [b]) => a.localeCompare(b))
}

const hasPrometheus = spawnSync('prometheus', ['--version']).status === 0

test('a URL that is posted to the console is fetched and kept, and Prometheus scrapes every role', async () => {
  const redis = await startRedis()
  const archive = await mkdtemp(join(inject('redisFolder'), 'archive-'))
  const change = (value: string): string =>
    value.replace('@redis:6379', `@127.0.0.1:${redis.port}`).replace(/^\/archive$/, archive)
  expect(services.fetcher?.volumes).toContain('archive:/archive')
  const ports: Record<string, number> = {}
  for (const role of ['gateway', 'fetcher', 'console', 'permits']) ports[role] = await startRole(role, change)

  const pages = createServer((request, response) => {
    if (request.url === '/robots.txt') response.writeHead(404)
    response.end('a page')
  }).listen(0, '127.0.0.1')
  await once(pages, 'listening')
  const url = `http://127.0.0.1:${(pages.address() as AddressInfo).port}/a`
  const board = `http://127.0.0.1:${ports.console}`
  const authorization = `Basic ${btoa(`decorum:${PASSWORD}`)}`
  expect((await fetch(`${board}/v1/outcomes`)).status).toBe(401)
  const stream = await fetch(`${board}/v1/outcomes?group=test&ack=sent`, { headers: { authorization } })
  const posted = await fetch(`${board}/v1/candidates`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ candidates: [{ url, id: 'a' }] }),
  })
  expect(posted.ok, await posted.text()).toBe(true)
  let heard = ''
  for await (const chunk of (stream.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
    heard += chunk
    if (heard.includes('"kind"')) break
  }
  expect(heard).toContain('"kind":"fetched"')
  expect((await readdir(archive, { recursive: true })).some((name) => name.includes('.warc'))).toBe(true)
  expect(await readdir(join(redis.dir, 'appendonlydir'))).not.toEqual([])
  pages.closeAllConnections()
  pages.close()

  if (!hasPrometheus) return
  const prometheus = await startPrometheus(ports)
  await expect
    .poll(() => valuesOf(prometheus, 'up'))
    .toEqual(['console', 'fetcher', 'gateway', 'permits'].map((job) => [job, '1']))
  await expect.poll(() => valuesOf(prometheus, 'sum(decorum_outcomes_total{kind="fetched"})')).toEqual([['', '1']])
  expect(await valuesOf(prometheus, 'count(ALERTS{alertstate="firing"})')).toEqual([])
})
