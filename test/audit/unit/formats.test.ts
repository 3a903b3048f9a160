/** Logs as servers write them that no test can start here, gzip, clocks and workers: what is read, and what is said of it. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { agentsOf, auditLogs, type Report, readLogs } from '@decorum/audit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { found } from './scene.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'decorum-formats-'))
})
afterAll(() => rm(folder, { recursive: true }))

const agents = agentsOf({ profile: 'decorum', minDelayMs: 1_000, maxDelayMs: 10_000 })
const file = async (name: string, ...lines: string[]): Promise<string> => {
  const path = join(folder, name)
  await writeFile(path, lines.map((line) => `${line}\n`).join(''))
  return path
}
const audit = (path: string, origin?: string): Promise<Report> =>
  auditLogs([path], { agents, ...(origin === undefined ? {} : { origin }) })
const nginx = (at: number, path: string, took = 0.001): string =>
  `192.0.2.9 - - [22/Sep/2026:00:00:00 +0000] "GET ${path} HTTP/1.1" 200 3 "-" "bot/1" ${(1_790_000_000 + at).toFixed(3)} ${took.toFixed(3)} http://a.test "-" "-"`

test('CloudFront: columns by name, whole seconds, an agent that is percent-encoded', async () => {
  const path = await file(
    'cloudfront',
    '#Version: 1.0',
    '#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header cs-protocol cs-bytes time-taken',
    '2026-11-20\t13:00:00\tFRA2\t512\t192.0.2.9\tGET\td1.cloudfront.net\t/robots.txt\t200\t-\tbot/1%20(+http://x)\t-\t-\tHit\tid1\tWWW.example.com\thttps\t100\t0.250',
    '2026-11-20\t13:00:02\tFRA2\t512\t192.0.2.9\tGET\td1.cloudfront.net\t/a\t000\t-\tbot/1%2520(+http://x)\tx=1\t-\tError\tid2\tWWW.example.com\thttps\t100\t0.001',
  )
  const { requests, logs } = await readLogs([path])
  expect(logs[0]?.format).toBe('W3C extended, whole seconds')
  const [end] = [Date.UTC(2026, 10, 20, 13)]
  expect(requests).toMatchObject([
    {
      origin: 'https://WWW.example.com',
      agent: 'bot/1 (+http://x)',
      path: '/robots.txt',
      start: end - 250,
      end,
      status: 200,
      resolution: 999.999,
    },
    { agent: 'bot/1 (+http://x)', path: '/a?x=1', status: 0, cut: true },
  ])
})

test('IIS: blanks between columns, + in the agent, ms', async () => {
  const path = await file(
    'iis',
    '#Software: Microsoft Internet Information Services 10.0',
    '#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer) sc-status sc-substatus sc-win32-status time-taken cs-host',
    '2026-11-20 13:00:00 192.0.2.1 GET /robots.txt - 443 - 192.0.2.9 bot/1+(+http://x) - 200 0 0 31 www.example.com',
  )
  const { requests } = await readLogs([path])
  expect(requests).toMatchObject([
    { origin: 'https://www.example.com:443', agent: 'bot/1 ( http://x)', path: '/robots.txt' },
  ])
  expect((requests[0]?.end ?? 0) - (requests[0]?.start ?? 0)).toBe(31)
})

test('Traefik, JSON: nanoseconds, headers where they are kept', async () => {
  const line = {
    StartUTC: '2026-11-20T13:00:00.250400123Z',
    Duration: 1_500_000,
    RequestMethod: 'GET',
    RequestPath: '/busy?x=1',
    RequestAddr: 'a.test:8443',
    RequestScheme: 'https',
    DownstreamStatus: 429,
    'request_User-Agent': 'bot/1',
    'downstream_Retry-After': '7',
  }
  const { requests, logs } = await readLogs([await file('traefik', JSON.stringify(line))])
  expect(logs[0]?.format).toBe('Traefik, JSON')
  expect(requests).toMatchObject([
    { origin: 'https://a.test:8443', agent: 'bot/1', path: '/busy?x=1', status: 429, retryAfter: '7' },
  ])
  expect(requests[0]?.start).toBeCloseTo(Date.UTC(2026, 10, 20, 13) + 250.4, 2)
})

test('Traefik, text: the start in whole seconds, the length in ms', async () => {
  const path = await file(
    'traefik-text',
    '192.0.2.9 - - [20/Nov/2026:14:00:00 +0100] "GET /a HTTP/1.1" 200 5 "-" "bot/1" 1 "web@docker" "http://172.17.0.2:80" 12ms',
  )
  const start = Date.UTC(2026, 10, 20, 13)
  expect((await readLogs([path], 'http://a.test')).requests).toMatchObject([
    { start, end: start + 12, resolution: 999.999 },
  ])
})

test('the combined format as it comes: two requests in one second are too close, two in neighbouring ones may not be', async () => {
  const line = (second: number, path: string): string =>
    `192.0.2.9 - - [20/Nov/2026:13:00:${String(second).padStart(2, '0')} +0000] "GET ${path} HTTP/1.1" 200 5 "-" "bot/1"`
  const log = async (name: string, second: number): Promise<Report> =>
    audit(await file(name, line(10, '/robots.txt'), line(20, '/a'), line(second, '/b')), 'http://a.test')
  expect(found(await log('same', 20))).toEqual({ 'short-delay': 1 })
  expect(found(await log('next', 21))).toEqual({})
  expect((await log('note', 21)).logs[0]?.notes).toEqual([
    expect.stringMatching(
      /^its times are whole seconds: .*requests at once may count as a short delay .*docs\/audit\.md/,
    ),
  ])
  expect((await log('same', 20)).worst.map(({ because }) => because)).toEqual([
    'less than 1 s after /a; 1 s is required',
  ])
  const shorter = agentsOf({ profile: 'decorum', minDelayMs: 500, maxDelayMs: 10_000 })
  expect(found(await auditLogs([join(folder, 'same')], { agents: shorter, origin: 'http://a.test' }))).toEqual({})
})

test('gzip is told by its first bytes, from a file and from standard input; one that was cut is read as far as it goes', async () => {
  const lines = Array.from({ length: 3_000 }, (_, n) =>
    nginx(n * 2, n === 0 ? '/robots.txt' : `/${n}-${Math.imul(n, 7_919)}`),
  )
  const packed = gzipSync(lines.map((line) => `${line}\n`).join(''))
  const [whole, cut] = [join(folder, 'log.gz'), join(folder, 'cut.gz')]
  await writeFile(whole, packed)
  await writeFile(cut, packed.subarray(0, packed.length >> 1))
  expect((await audit(whole)).requests).toBe(3_000)
  const half = await audit(cut)
  expect(half.requests).toBeGreaterThan(500)
  expect(half.setAside.byReason.cut).toBeGreaterThan(0)
  const cli = join(import.meta.dirname, '../../../packages/cli/src/main.ts')
  for (const input of [packed, readFileSync(await file('plain', ...lines))]) {
    const run = (): string =>
      execFileSync(process.execPath, [cli, 'audit', '-', '--json', '--continues'], { input, encoding: 'utf8' })
    expect(run).toThrow(expect.objectContaining({ status: 4, stdout: expect.stringContaining('"requests": 3000') }))
  }
})

test('a clock that was set back convicts nobody: the stretch is named, and what lies in it is not judged', async () => {
  const log = [
    nginx(0, '/robots.txt'),
    nginx(2, '/a'),
    nginx(4, '/b'),
    nginx(6, '/c'),
    nginx(3, '/d'),
    nginx(5, '/e'),
    nginx(7.5, '/f'),
    nginx(9, '/g'),
    nginx(9.5, '/h'),
  ]
  const report = await audit(await file('stepped', ...log))
  expect(report.logs[0]?.notes).toEqual([expect.stringContaining('line 5: the clock was set back by 3.000 s')])
  expect(found(report)).toEqual({ 'short-delay': 1 })
  expect(report.examples[0]).toMatchObject({ path: '/h' })
  expect(report.unjudgedBecause.clock).toBeGreaterThan(0)
  const polite = await audit(await file('stepped-polite', ...log.slice(0, -1)))
  expect(polite).toMatchObject({ total: 0, verdict: 'partly-judged' })
})

test('several workers: lines out of order are said, and judged by their times', async () => {
  const report = await audit(
    await file(
      'workers',
      nginx(0, '/robots.txt'),
      nginx(4, '/b'),
      nginx(2, '/a'),
      nginx(8, '/d'),
      nginx(6, '/c'),
      nginx(6.5, '/e'),
      nginx(20, '/z'),
      nginx(18, '/y'),
      nginx(24, '/x'),
      nginx(22, '/w'),
      nginx(28, '/v'),
      nginx(26, '/u'),
      nginx(32, '/t'),
      nginx(30, '/s'),
    ),
  )
  expect(report.logs[0]?.notes).toEqual([expect.stringMatching(/^\d+ lines are out of order.*several workers/)])
  expect(found(report)).toEqual({ 'short-delay': 1 })
})

test('octets that are no UTF-8 are kept, in JSON too', async () => {
  const line = Buffer.concat([
    Buffer.from('{"kind":"request","origin":"http://a.test","agent":"b","path":"/caf'),
    Buffer.from([0xe9]),
    Buffer.from(
      '","start":1,"end":2,"status":200}\n{"kind":"request","origin":"http://a.test","agent":"b","path":"/caf\\u00e9","start":1,"end":2,"status":200}\n',
    ),
  ])
  const path = join(folder, 'latin1')
  await writeFile(path, line)
  expect((await readLogs([path])).requests.map((one) => one.path)).toEqual(['/caf%E9', '/café'])
})
