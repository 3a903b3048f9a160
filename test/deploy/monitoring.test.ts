/** Dashboards and alerts ask for metrics that running processes really export, and the metrics keep to the conventions of Prometheus. */
import { execFile, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { openFrontier } from '@decorum/client'
import { main as consoleMain } from '@decorum/console'
import { main as fetcherMain } from '@decorum/fetcher'
import { main as gatewayMain } from '@decorum/gateway'
import { main as permitsMain } from '@decorum/permits'
import { main as proxyMain } from '@decorum/proxy'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { parse } from 'yaml'
import { dashboardText, ROWS } from '../../deploy/grafana/fleet.ts'
import { alertsText } from '../../deploy/prometheus/alerts.ts'
import { redisForTest } from '../support/redis.ts'

const redis = await redisForTest()
const root = join(import.meta.dirname, '..', '..')
const run = promisify(execFile)
const hasPromtool = spawnSync('promtool', ['--version']).status === 0
type Target = { refId: string; datasource: object }
type Dashboard = {
  uid: string
  schemaVersion: number
  templating: { list: { name: string; type: string }[] }
  panels: {
    id: number
    title: string
    type: string
    gridPos: { x: number; y: number; w: number; h: number }
    targets?: Target[]
    datasource?: object
  }[]
}
type Rule = { alert: string; expr: string; annotations: { runbook: string } }
const { groups } = parse(readFileSync(join(root, 'deploy/prometheus/alerts.yml'), 'utf8')) as {
  groups: { rules: Rule[] }[]
}
const alerts = groups.flatMap(({ rules }) => rules)
const queries = [
  ...ROWS.flatMap(({ panels }) => panels.flatMap((panel) => panel.queries.map(({ expr }) => expr))),
  ...alerts.map(({ expr }) => expr),
]

let texts: string[] = []
const services: { port: number; stop(): Promise<void> }[] = []
beforeAll(async () => {
  const env = {
    REDIS_URL: redis.url,
    PORT: '0',
    LOG_LEVEL: 'silent',
    PAGE_SINK: 'none',
    DECORUM_ALLOW_ADDRESSES: '127.0.0.0/8',
    FETCH_PROCESSES: '2',
    DEFAULT_DELAY_MS: '20',
  }
  for (const main of [gatewayMain, fetcherMain, consoleMain, permitsMain, proxyMain]) services.push(await main(env))
  const pages = createServer((request, response) => {
    if (request.url === '/robots.txt') response.writeHead(404)
    response.end('a page')
  }).listen(0, '127.0.0.1')
  await once(pages, 'listening')
  const { port } = pages.address() as AddressInfo
  const frontier = await openFrontier({ redis: redis.url })
  const reading = frontier.outcomes({ group: 'test' })[Symbol.asyncIterator]()
  await frontier.enqueue([{ url: `http://127.0.0.1:${port}/a`, id: 'a' }])
  const { value } = await reading.next()
  if (value?.outcome.kind !== 'fetched') throw new Error(`the page was not fetched: ${JSON.stringify(value?.outcome)}`)
  // A fetch is counted once the ledger has answered, and the reader may have its outcome before.
  while (!/^decorum_fetcher_fetch_seconds_count\{kind="page"\} 1$/m.test(texts[1] ?? '')) {
    texts = await Promise.all(
      services.map(async (service) => (await fetch(`http://127.0.0.1:${service.port}/metrics`)).text()),
    )
    await sleep(50)
  }
  await frontier.close()
  pages.closeAllConnections()
  pages.close()
})
afterAll(() => Promise.all(services.map((service) => service.stop())))

const exported = (): Set<string> =>
  new Set(
    texts.flatMap((text) =>
      [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name = '', type]) =>
        type === 'histogram' ? [name, `${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
      ),
    ),
  )
const asked = (query: string): string[] => query.match(/\b(?:decorum|nodejs|process)_\w+/g) ?? []

test('each query of the dashboard and of the alerts names metrics that the processes export', () => {
  const known = exported()
  expect(queries.length).toBeGreaterThan(40)
  for (const query of queries) {
    if (!query.includes('up{')) expect(asked(query), query).not.toEqual([])
    for (const name of asked(query)) expect(known, query).toContain(name)
  }
})

test('what every console reports of the fleet is counted once, however many consoles there are', () => {
  const namesOf = (text = ''): string[] => [...text.matchAll(/^# TYPE (decorum_\S+) /gm)].map(([, name = '']) => name)
  const [gateway, fetcher, board, permits, proxy] = texts
  const others = new Set([gateway, fetcher, permits, proxy].flatMap(namesOf))
  const shared = namesOf(board).filter((name) => !others.has(name))
  expect(shared).toContain('decorum_outcomes_total')
  const keda = readFileSync(join(root, 'deploy/kubernetes/scaling.yaml'), 'utf8')
  const asking = [...queries, ...(keda.match(/(?<=query: ).*/g) ?? [])]
  for (const query of asking)
    for (const name of asked(query).filter((one) => shared.includes(one)))
      for (const { index } of query.matchAll(new RegExp(`\\b${name}\\b`, 'g')))
        expect(query.slice(0, index), query).toMatch(/max( by \([\w, ]+\) )?\((rate\()?$/)
})

test('lateness, fetches and calls of the ledger were measured, and each process says its configuration', () => {
  const [gateway = '', fetcher = '', board = '', permits = '', proxy = ''] = texts
  expect(fetcher).toMatch(/^decorum_fetcher_lateness_seconds_count [1-9]/m)
  expect(fetcher).toMatch(/^decorum_fetcher_fetch_seconds_count\{kind="page"\} 1$/m)
  expect(gateway).toMatch(/^decorum_ledger_call_seconds_count\{verb="reserve"\} [1-9]/m)
  for (const text of [gateway, fetcher, board, permits, proxy]) {
    expect(text).toMatch(/^decorum_config_version [1-9]\d*$/m)
    expect(text).toMatch(/^decorum_build_info\{version="[\d.]+",commit="([0-9a-f]{12}|unknown)"\} 1$/m)
    expect(text).toMatch(/^nodejs_eventloop_lag_p99_seconds \d/m)
  }
})

test('no label says an origin, a host or a URL', () => {
  const labels = new Set(texts.flatMap((text) => [...text.matchAll(/[{,](\w+)="/g)].map(([, name = '']) => name)))
  for (const label of ['origin', 'host', 'url', 'lane', 'domain', 'path']) expect(labels).not.toContain(label)
  expect(texts.join('\n')).not.toContain('127.0.0.1')
})

test('the dashboard is the one of fleet.ts: `node deploy/grafana/fleet.ts --write`', () => {
  expect(readFileSync(join(root, 'deploy/grafana/fleet.json'), 'utf8')).toBe(dashboardText())
})

test('the dashboard is one that Grafana can import: whole places without overlaps, its own ids, queries that name their source', () => {
  const { panels, uid, schemaVersion, templating } = JSON.parse(dashboardText()) as Dashboard
  expect([uid, schemaVersion]).toEqual([expect.stringMatching(/^[\w-]{1,40}$/), expect.any(Number)])
  expect(templating.list.map(({ name, type }) => [name, type])).toEqual([['datasource', 'datasource']])
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  const cells = new Set<string>()
  for (const { title, type, gridPos, targets = [], datasource } of panels) {
    const { x, y, w, h } = gridPos
    for (const n of [x, y, w, h]) expect(Number.isInteger(n) && n >= 0, title).toBe(true)
    expect(x + w, title).toBeLessThanOrEqual(24)
    for (let cell = 0; cell < w * h; cell++) {
      const at = `${x + (cell % w)} ${y + Math.floor(cell / w)}`
      expect(cells.has(at), `${title} lies on another panel`).toBe(false)
      cells.add(at)
    }
    if (type === 'row') continue
    expect(['timeseries', 'stat']).toContain(type)
    for (const source of [datasource, ...targets.map((one) => one.datasource)])
      expect(source, title).toEqual({ type: 'prometheus', uid: '$datasource' })
    expect(targets.length, title).toBeGreaterThan(0)
    expect(new Set(targets.map(({ refId }) => refId)).size, title).toBe(targets.length)
  }
})

test('the alerts are those of alerts.ts: `node deploy/prometheus/alerts.ts --write`', () => {
  expect(readFileSync(join(root, 'deploy/prometheus/alerts.yml'), 'utf8')).toBe(alertsText())
})

test('each alert says what to do in docs/operating.md, and has tests of its own', () => {
  const headings = readFileSync(join(root, 'docs/operating.md'), 'utf8').match(/(?<=^### )Decorum\w+$/gm)
  expect(headings).toEqual(alerts.map(({ alert }) => alert))
  for (const { alert, annotations } of alerts)
    expect(annotations.runbook).toBe(`docs/operating.md#${alert.toLowerCase()}`)
  const tests = readFileSync(join(root, 'deploy/prometheus/alerts.test.yml'), 'utf8')
  for (const { alert } of alerts)
    for (const what of ['fires', 'is silent']) expect(tests).toContain(`- name: ${alert} ${what}\n`)
})

describe.skipIf(!hasPromtool)('promtool', () => {
  const promtool = (...args: string[]) =>
    run('promtool', args, { cwd: root }).catch((error: { stdout: string; stderr: string }) => {
      throw new Error(error.stdout + error.stderr)
    })

  test('has nothing to say about metrics of ours', async () => {
    for (const text of texts) {
      const { stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' })
      expect(`${stdout}${stderr}`.split('\n').filter((line) => line.includes('decorum_'))).toEqual([])
    }
  })

  test('accepts the scrape configuration, and every alert fires and is silent as its tests say', async () => {
    await promtool('check', 'config', '--syntax-only', 'deploy/prometheus/prometheus.yml')
    await promtool('test', 'rules', 'deploy/prometheus/alerts.test.yml')
  })

  test('parses each query of the dashboard, and would refuse a wrong one', async () => {
    const folder = await mkdtemp(join(inject('redisFolder'), 'promtool-'))
    expect(await check(folder, queries)).toContain(`SUCCESS: ${queries.length} rules found`)
    expect(await check(folder, ['sum(decorum_lanes'])).toContain('parse error')
  })
})

/** As rules that record them: promtool has no command that parses a query without a server. */
async function check(folder: string, all: string[]): Promise<string> {
  const rules = all.map((query, at) => ({ record: `query_${at}`, expr: query.replaceAll('$__rate_interval', '1m') }))
  const file = join(folder, 'rules.yml')
  await writeFile(file, JSON.stringify({ groups: [{ name: 'queries', rules }] }))
  const { stdout, stderr } = spawnSync('promtool', ['check', 'rules', file], { encoding: 'utf8' })
  return stdout + stderr
}
