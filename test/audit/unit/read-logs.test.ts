import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readLogs, readRecord, UnreadableLogError } from '@decorum/audit'
import { auditCommand } from '@decorum/cli/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'decorum-audit-'))
})
afterAll(() => rm(folder, { recursive: true }))

const file = async (name: string, ...lines: string[]): Promise<string> => {
  const path = join(folder, name)
  await writeFile(path, lines.map((line) => `${line}\n`).join(''))
  return path
}
const request = (more: object = {}): string =>
  JSON.stringify({
    kind: 'request',
    origin: 'http://a.test',
    agent: 'bot/1',
    path: '/',
    start: 1,
    end: 2,
    status: 200,
    ...more,
  })
const combined = (tail: string, asked = 'GET /x?y=1 HTTP/1.1', status = 200): string =>
  `10.0.0.9 - - [20/Nov/2026:13:00:00 +0000] "${asked}" ${status} 512 "-" "bot/1 (\\"x\\"; \\x2b)" ${tail}`

test('a record is read line by line, bodies by their hash', async () => {
  const path = await file(
    'record',
    JSON.stringify({ kind: 'robots', hash: 'h1', body: 'User-agent: *' }),
    JSON.stringify({ kind: 'robots', hash: 'h2', base64: Buffer.from([0xff, 0x00]).toString('base64') }),
    request({ path: '/robots.txt', robots: 'h1', retryAfter: '7', location: '' }),
    '',
    request({ cut: true, status: 0 }),
  )
  const { requests, bodies } = await readLogs([path])
  expect(requests).toEqual([
    {
      kind: 'request',
      origin: 'http://a.test',
      agent: 'bot/1',
      method: 'GET',
      path: '/robots.txt',
      start: 1,
      end: 2,
      status: 200,
      retryAfter: '7',
      robots: 'h1',
    },
    {
      kind: 'request',
      origin: 'http://a.test',
      agent: 'bot/1',
      method: 'GET',
      path: '/',
      start: 1,
      end: 2,
      status: 0,
      cut: true,
    },
  ])
  expect([bodies.get('h1'), bodies.get('h2')]).toEqual(['User-agent: *', Buffer.from([0xff, 0x00])])
})

test('nginx: combined with $msec $request_time, origin, Retry-After and Location', async () => {
  const path = await file(
    'nginx',
    combined('1790000000.250 0.040 http://a.test:8080 "120" "/y"'),
    combined('1790000001.000 0.000 https://b.test "-" "-"', 'GET / HTTP/2.0', 499),
  )
  expect((await readLogs([path])).requests).toEqual([
    {
      ...{ kind: 'request', origin: 'http://a.test:8080', agent: 'bot/1 ("x"; +)', method: 'GET', path: '/x?y=1' },
      ...{ start: 1_790_000_000_210, end: 1_790_000_000_250, status: 200, retryAfter: '120', location: '/y' },
    },
    expect.objectContaining({
      origin: 'https://b.test',
      start: 1_790_000_001_000,
      end: 1_790_000_001_000,
      status: 0,
      cut: true,
    }),
  ])
})

test('a target in absolute form keeps an empty query', async () => {
  const asked = ['http://a.test/b?', 'http://a.test/b?#c', 'http://a.test/b?d', 'http://a.test/b']
  const path = await file(
    'absolute',
    ...asked.map((url) => combined('1790000000.250 0.040 http://a.test "-" "-"', `GET ${url} HTTP/1.1`)),
  )
  expect((await readLogs([path])).requests.map((request) => request.path)).toEqual(['/b?', '/b?', '/b?d', '/b'])
})

test('Apache: combined with %{usec}t %D, for one origin that the command names', async () => {
  const path = await file('apache', combined('1790000000250400 1500'))
  expect((await readLogs([path], 'https://a.test')).requests).toMatchObject([
    { origin: 'https://a.test', start: 1_790_000_000_250.4, end: 1_790_000_000_251.9 },
  ])
  await expect(readLogs([path])).rejects.toThrow(/apache:1: it names no origin/)
})

test('nginx with escape=json writes the record itself', async () => {
  const path = await file(
    'nginx-json',
    '{"kind":"request","origin":"http://a.test","agent":"bot/1","method":"GET","path":"/","msec":1790000000.120,"request_time":0.020,"status":200,"retryAfter":"","location":""}',
  )
  expect((await readLogs([path])).requests).toEqual([
    {
      kind: 'request',
      origin: 'http://a.test',
      agent: 'bot/1',
      method: 'GET',
      path: '/',
      start: 1_790_000_000_100,
      end: 1_790_000_000_120,
      status: 200,
    },
  ])
})

test('seconds with three digits become whole milliseconds: 1000 ms are not 999.9999', async () => {
  const lines = Array.from({ length: 500 }, (_, n) =>
    combined(`${(1_790_000_000 + n * 1.001).toFixed(3)} 0.001 http://a.test`),
  )
  const { requests } = await readLogs([await file('grid', ...lines)])
  const silences = requests.slice(1).map(({ start }, n) => start - (requests[n]?.end ?? 0))
  expect(new Set(silences)).toEqual(new Set([1_000]))
})

test('noise that is no request is counted, not an error', async () => {
  const path = await file(
    'noise',
    combined('1790000000.000 0.000 http://a.test', '\\x16\\x03\\x01', 400),
    combined('1790000000.000 0.000 http://a.test'),
  )
  expect(await readLogs([path])).toMatchObject({ noRequest: 1, requests: { length: 1 } })
})

test('a last line that its writer had not finished is dropped, whole or not by the look of it', async () => {
  const cut = async (name: string, ...lines: string[]) => {
    const path = join(folder, name)
    await writeFile(path, lines.join('\n'))
    const { requests, setAside } = await readLogs([path])
    return { requests: requests.length, cut: setAside.byReason.cut ?? 0 }
  }
  expect(await cut('cut-json', request(), request().slice(0, 30))).toEqual({ requests: 1, cut: 1 })
  expect(await cut('whole-json', request(), request())).toEqual({ requests: 2, cut: 0 })
  const nginx = (tail: string) => combined(`1790000000.000 0.040 http://a.test:8080${tail}`)
  expect(await cut('cut-nginx', nginx(' "-" "-"'), nginx(' "-"'))).toEqual({ requests: 1, cut: 1 })
  expect(await cut('whole-nginx', nginx(' "-" "-"'), nginx(' "-" "-"'))).toEqual({ requests: 2, cut: 0 })
  expect(await cut('cut-origin', nginx(''), nginx(''))).toEqual({ requests: 1, cut: 1 })
})

test('a line that cannot be read is set aside, counted and shown; the rest is judged', async () => {
  const path = await file('broken', request(), '{"kind":', request())
  const { requests, setAside } = await readLogs([path])
  expect(requests).toHaveLength(2)
  expect(setAside).toEqual({
    lines: 1,
    byReason: { unreadable: 1 },
    examples: [{ file: path, line: 2, why: expect.stringContaining('not JSON'), text: '{"kind":' }],
  })
})

test.each([
  ['kind', request({ kind: 'visit' }), 'kind "visit" is none of request, robots'],
  ['origin', request({ origin: 'a.test' }), 'origin is not scheme://host[:port]'],
  ['path', request({ path: 'x' }), "path does not begin with '/'"],
  ['status', request({ status: '200' }), 'status is not a whole number'],
  ['times', request({ end: null }), 'neither start and end (ms) nor msec and request_time (s)'],
  ['order', request({ start: 3 }), 'it ends before it starts'],
  ['hash', '{"kind":"robots","body":""}', 'hash is missing'],
  ['untimed', combined('').trim(), 'it names no origin'],
  ['half-timed', combined('1790000000 0'), "no times as '$msec $request_time' (nginx) or '%{usec}t %D' (Apache)"],
  ['list', '[1]', 'none of the known formats'],
  ['format', '{"a":1}', 'JSON of no known format'],
])('an unusable line says why: %s', async (name, line, why) => {
  const path = await file(`unusable-${name}`, line)
  await expect(readLogs([path])).rejects.toThrow(`unusable-${name}:1: `)
  await expect(readLogs([path])).rejects.toThrow(why)
})

test('no file, a folder, an empty file: nothing is judged, and it says so', async () => {
  await expect(readLogs([join(folder, 'absent')])).rejects.toThrow(/absent cannot be read: there is no such file$/)
  await expect(readLogs([folder])).rejects.toThrow(UnreadableLogError)
  await expect(readLogs([await file('empty', '')])).rejects.toThrow('no request in it, so there is nothing to judge')
})

test('the record of sites that nobody visited is read as it is; one that is not there is an error', async () => {
  const { requests, bodies } = await readRecord(await file('unvisited', ''))
  expect([requests, bodies.size]).toEqual([[], 0])
  await expect(readRecord(join(folder, 'absent'))).rejects.toThrow(UnreadableLogError)
})

test('a line of ten million characters is set aside, not swallowed', async () => {
  await expect(readLogs([await file('long', 'x'.repeat(10_000_000))])).rejects.toThrow('a line of more than')
  const { requests, setAside } = await readLogs([
    await file('long-between', request(), 'x'.repeat(10_000_000), request()),
  ])
  expect({ requests: requests.length, setAside: setAside.byReason }).toEqual({
    requests: 2,
    setAside: { 'too-long': 1 },
  })
})

test('the command: 0 for a clean log, 1 for a violation, an error that names the line for an unreadable one', async () => {
  const said: string[] = []
  const print = (text: string): number => said.push(text)
  const robots = request({ path: '/robots.txt', status: 404 })
  const clean = await file('clean', robots, request({ start: 2_000, end: 2_001 }))
  expect(await auditCommand([clean], {}, print)).toBe(0)
  expect(said.join('')).toContain('no violation')
  expect(await auditCommand([clean], { delayMs: 3_000, json: true }, print)).toBe(1)
  expect(JSON.parse(said.at(-1) ?? '')).toMatchObject({ total: 1, violations: { 'short-delay': 1 } })
  expect(await auditCommand([clean], { delayMs: 3_000 }, print)).toBe(1)
  expect(said.at(-1)).toContain('1.998 s after /robots.txt; 3 s is required')
  await expect(auditCommand([await file('bad', 'hello')], {}, print)).rejects.toThrow(/bad:1/)
  await expect(auditCommand([clean], { agents: join(folder, 'absent.json') }, print)).rejects.toThrow(/--agents/)
  await expect(auditCommand([], {}, print)).rejects.toThrow(/no log/)
})

test('the command judges one crawler of an ordinary log by a name in its User-Agents', async () => {
  const browser = { agent: 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0' }
  const bot = (version: string) => ({
    agent: `Mozilla/5.0 (compatible; MJ12bot/${version}; +https://mj12bot.example/)`,
  })
  const log = await file(
    'ordinary',
    ...[10, 11, 12].map((start) => request({ ...browser, start, end: start + 1 })),
    request({ ...bot('v1.4'), path: '/robots.txt', status: 404 }),
    request({ ...bot('v1.5'), start: 2_000, end: 2_001 }),
    request({ agent: 'NotMJ12bot/1.0', start: 3_000, end: 3_001 }),
  )
  const judge = async (options: object) => {
    const said: string[] = []
    const code = await auditCommand([log], { ...options, json: true }, (text) => said.push(text))
    const { requests, leftOut, agents } = JSON.parse(said.join('')) as Record<string, unknown>
    return { code, requests, leftOut, agents: (agents as { agent: string }[]).map(({ agent }) => agent) }
  }
  expect(await judge({})).toMatchObject({ code: 1, requests: 6 })
  expect(await judge({ only: 'mj12bot' })).toEqual({ code: 0, requests: 2, leftOut: 4, agents: ['mj12bot'] })
  await expect(judge({ only: 'C++ (bot' })).rejects.toThrow('no request is by an agent to be judged (6 are by others)')
  await expect(judge({ only: 'a', agent: 'b' })).rejects.toThrow(/--agents, --agent or --only/)
})

test('bodies from a folder: the most specific name first', async () => {
  const robots = await mkdtemp(join(folder, 'robots-'))
  await writeFile(join(robots, 'a.test_8080.txt'), 'User-agent: *\nDisallow: /')
  await writeFile(join(robots, 'robots.txt'), '')
  const visits = (origin: string) => [
    request({ origin, path: '/robots.txt' }),
    request({ origin, start: 2_000, end: 2_001 }),
  ]
  const log = await file('served', ...visits('http://a.test:8080'), ...visits('http://b.test'))
  const said: string[] = []
  expect(await auditCommand([log], { robots, json: true }, (text) => said.push(text))).toBe(1)
  expect(JSON.parse(said[0] ?? '')).toMatchObject({ total: 1, violations: { disallowed: 1 }, unjudged: 0 })
  await auditCommand([log], { json: true }, (text) => said.push(text))
  expect(JSON.parse(said[1] ?? '')).toMatchObject({ total: 0, unjudged: 2 })
})
