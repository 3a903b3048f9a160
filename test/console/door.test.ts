/** The door, judged by every route that the running server has: who may ask for what, under which name and spelling. */
import { Agent, type OutgoingHttpHeaders, request } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text as textOf } from 'node:stream/consumers'
import type { KnownRoute } from '@decorum/console/inside'
import { buildServer, countGuesses, fleetViewer, type Guesses, Pace, readConfig } from '@decorum/console/inside'
import { openLedgerWithViews } from '@decorum/ledger/views'
import { CANDIDATES, queueOptions } from '@decorum/protocol'
import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'

const redis = await redisForTest()
const raw = new Redis(redis.url)
const agent = new Agent({ keepAlive: true, maxSockets: 16 })
const closing: (() => unknown)[] = [() => agent.destroy(), () => raw.disconnect()]
afterAll(async () => {
  for (const close of closing.reverse()) await close()
})

/** A console as main.ts builds it, not listening yet. */
async function buildDoor(env: Record<string, string> = {}, guesses?: Guesses) {
  const config = readConfig({ REDIS_URL: redis.url, LOG_LEVEL: 'silent', ...env })
  const ledger = await openLedgerWithViews({ redis: redis.url, partitions: 1 })
  const connection = { url: redis.url }
  const queues = ledger.tags.map((tag) => new Queue(CANDIDATES, { connection, ...queueOptions(tag) }))
  await Promise.all(queues.map((queue) => queue.getJobCounts())) // each has written what it writes when it is opened
  const built = await buildServer({
    config,
    ledger,
    redis: raw,
    view: fleetViewer(ledger),
    pace: new Pace(),
    queues,
    redisAnswers: async () => true,
    log: pino({ level: 'silent' }),
    version: '0',
    ...(guesses === undefined ? {} : { guesses }),
  })
  closing.push(async () => {
    await built.server.close().catch(() => undefined) // one that could not start
    await Promise.all(queues.map((queue) => queue.close()))
    await ledger.close()
  })
  return built
}

/** The same, listening, with its own list of routes. */
async function openHealthServer(env: Record<string, string> = {}, guesses?: Guesses) {
  const { server, routes } = await buildDoor(env, guesses)
  await server.listen({ port: 0, host: '127.0.0.1' })
  const { port } = server.server.address() as AddressInfo
  return { port, routes: routes() }
}
let door: Awaited<ReturnType<typeof openHealthServer>>
let guarded: typeof door
beforeAll(async () => {
  door = await openHealthServer()
  guarded = await openHealthServer({ CONSOLE_PASSWORD: 'correct horse' })
})

type Ask = { port?: number; method: string; path: string; headers?: OutgoingHttpHeaders }

async function ask({ port = door.port, method, path, headers = {} }: Ask): Promise<{ status: number; body: string }> {
  const sent = request({ host: '127.0.0.1', port, method, path, agent, headers }).end()
  const answer = await new Promise<import('node:http').IncomingMessage>((resolve, reject) => {
    sent.once('response', resolve).once('error', reject)
  })
  return { status: answer.statusCode ?? 0, body: await textOf(answer) }
}

/** A URL that matches the route; its reader is not kept waiting. */
function pathOf({ url }: Pick<KnownRoute, 'url'>): string {
  const filled = url.replaceAll(':origin', encodeURIComponent('http://a.example')).replace(/[:*]\w*/g, 'x')
  return filled === '/v1/outcomes' ? `${filled}?group=table&follow=false` : filled
}

/** The same route as the router sees it, and another URL as a comparison of strings sees it. */
function spelledOtherwise(path: string): string {
  const letter = /[a-z](?=[^/]*$)/.exec(path.split('?')[0] ?? '')
  if (letter === null) return `${path}?x`
  const code = `%${letter[0].charCodeAt(0).toString(16)}`
  return path.slice(0, letter.index) + code + path.slice(letter.index + 1)
}

const CHROME = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/149.0.0.0 Safari/537.36' }
const fetchSite = (site: string, mode: string, dest = 'empty') => ({
  ...CHROME,
  'sec-fetch-site': site,
  'sec-fetch-mode': mode,
  'sec-fetch-dest': dest,
})
const own = (): string => `http://127.0.0.1:${door.port}`
const STREAM = { accept: 'text/event-stream' }
const PAGE = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

/** What each may do: R reads, G writes by GET, W writes otherwise. `undefined`: no browser sends this. */
type May = { R: boolean; G: boolean; W: boolean | undefined }
const ALL: May = { R: true, G: true, W: true }
const NOTHING: May = { R: false, G: false, W: false }
// oxfmt-ignore
const askers: [who: string, headers: () => OutgoingHttpHeaders, may: May][] = [
  ['a program', () => ({}), ALL],
  ['a program that names the stream', () => ({ 'user-agent': 'curl/8.14', ...STREAM }), ALL],
  ['undici, which sends sec-fetch-mode alone', () => ({ 'user-agent': 'node', 'sec-fetch-mode': 'cors' }), ALL],
  ['a program that calls itself Mozilla and says so', () => ({ ...CHROME, 'x-requested-with': 'poller' }), ALL],
  ['a page of our own', () => ({ ...fetchSite('same-origin', 'cors'), origin: own() }), ALL],
  ['a page of our own, over plain HTTP', () => ({ ...CHROME, origin: own() }), ALL],
  ['our form, whose proxy renames the host', () => ({ ...fetchSite('same-origin', 'navigate'), origin: 'https://decorum.example' }), ALL],
  ['a typed address', () => ({ ...fetchSite('none', 'navigate', 'document'), ...PAGE }), { R: true, G: false, W: true }],
  ['a link in a letter', () => ({ ...fetchSite('none', 'navigate', 'document'), ...PAGE, 'x-requested-with': 'x' }), { R: true, G: false, W: true }],
  ['a link elsewhere', () => ({ ...fetchSite('cross-site', 'navigate', 'document'), ...PAGE }), { R: true, G: false, W: false }],
  ['a form elsewhere', () => ({ ...fetchSite('cross-site', 'navigate', 'document'), origin: 'https://evil.example' }), { R: true, G: false, W: false }],
  ['a frame elsewhere', () => ({ ...fetchSite('cross-site', 'navigate', 'iframe'), ...PAGE }), NOTHING],
  ['an image elsewhere', () => fetchSite('cross-site', 'no-cors', 'image'), NOTHING],
  ['a silent fetch elsewhere that names the stream', () => ({ ...fetchSite('cross-site', 'no-cors'), ...STREAM }), NOTHING],
  ['an event source elsewhere', () => ({ ...fetchSite('cross-site', 'cors'), ...STREAM, origin: 'https://evil.example' }), NOTHING],
  ['an event source on a neighbouring port', () => ({ ...fetchSite('same-site', 'cors'), ...STREAM, origin: 'http://127.0.0.1:1' }), NOTHING],
  ['a fetch site that nobody knows', () => fetchSite('same-origin, cross-site', 'cors'), NOTHING],
  ['an empty fetch site', () => fetchSite('', 'cors'), NOTHING],
  ['a fetch elsewhere with our header', () => ({ ...fetchSite('cross-site', 'cors'), 'x-requested-with': 'x' }), NOTHING],
  ['plain HTTP: a fetch elsewhere', () => ({ ...CHROME, origin: 'http://evil.example' }), NOTHING],
  ['plain HTTP: a sandboxed page', () => ({ ...CHROME, origin: 'null' }), NOTHING],
  ['plain HTTP: a neighbouring port', () => ({ ...CHROME, origin: 'http://127.0.0.1:1' }), NOTHING],
  ['plain HTTP: no port at all', () => ({ ...CHROME, origin: 'http://127.0.0.1' }), NOTHING],
  ['plain HTTP: an image elsewhere', () => ({ ...CHROME, accept: 'image/avif,*/*' }), { R: true, G: false, W: undefined }],
  ['plain HTTP: a silent fetch elsewhere that names the stream', () => ({ ...CHROME, ...STREAM }), { R: true, G: false, W: undefined }],
  ['plain HTTP: a link elsewhere', () => ({ ...CHROME, ...PAGE }), { R: true, G: false, W: undefined }],
  ['a text browser', () => ({ 'user-agent': 'Lynx/2.9.0', accept: 'text/html, text/plain;q=0.8' }), { R: true, G: false, W: true }],
  ['a WebSocket elsewhere', () => ({ ...CHROME, origin: 'https://evil.example', connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==' }), NOTHING],
]

const hosts: [name: string, isOurs: boolean][] = [
  ['127.0.0.1:PORT', true],
  ['localhost:PORT', true],
  ['[::1]:PORT', true],
  ['evil.example:PORT', false],
  ['127.0.0.1.evil.example:PORT', false],
  ['localhost.evil.example', false],
  ['10.0.0.1', false],
]

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

type Case = Ask & { title: string; passes: boolean | undefined }

/** Every path of the server × every method × who asks × how it is spelled; then × names of the host. */
function cases(): Case[] {
  const list: Case[] = []
  const accessOf = new Map(door.routes.map(({ method, url, access }) => [`${method} ${url}`, access]))
  for (const url of new Set(door.routes.map((route) => route.url))) {
    for (const method of METHODS) {
      const access = accessOf.get(`${method} ${url}`)
      const isSafe = method === 'GET' || method === 'HEAD'
      const right = !isSafe ? 'W' : access === 'write' ? 'G' : 'R'
      for (const path of [pathOf({ url }), spelledOtherwise(pathOf({ url }))]) {
        for (const [who, headers, may] of askers) {
          const passes = access === 'open' ? true : may[right]
          list.push({ title: `${method} ${path}: ${who}`, method, path, headers: headers(), passes })
        }
        for (const [name, isOurs] of hosts) {
          const host = name.replace('PORT', String(door.port))
          const passes = access === 'open' || isOurs
          list.push({ title: `${method} ${path} at ${host}`, method, path, headers: { host }, passes })
        }
      }
    }
  }
  return list.filter(({ passes }) => passes !== undefined)
}

/** Everything that Redis holds but what readers and boards leave behind in passing. */
async function stored(): Promise<Record<string, string>> {
  const keys = (await raw.keys('*')).sort()
  return Object.fromEntries(await Promise.all(keys.map(async (key) => [key, String(await raw.dumpBuffer(key))])))
}

async function wrongly(list: Case[]): Promise<string[]> {
  const wrong: string[] = []
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      for (let one = list.pop(); one !== undefined; one = list.pop()) {
        const { status } = await ask(one)
        if ((status !== 403) !== one.passes) wrong.push(`${one.title}: ${status}`)
      }
    }),
  )
  return wrong
}

describe('every route × method × who asks × spelling × name of the host', () => {
  test('the list is the running server’s: the routes of each part are in it', () => {
    const all = door.routes.map(({ method, url, access }) => `${access} ${method} ${url}`)
    expect(all).toEqual(expect.arrayContaining(['write GET /v1/outcomes', 'write PATCH /v1/origins/:origin']))
    expect(all).toEqual(expect.arrayContaining(['write POST /v1/candidates', 'write POST /origins/:origin']))
    expect(all).toEqual(expect.arrayContaining(['read GET /', 'open GET /livez', 'read GET /queues/api/queues']))
    expect(all.filter((one) => one.startsWith('open'))).toHaveLength(10) // health, the page for owners of sites, and what the page to sign in needs, by GET and HEAD
    expect(all.filter((one) => one.startsWith('write GET'))).toEqual(['write GET /v1/outcomes'])
  })

  test('what may not pass is refused, and changes nothing', async () => {
    const list = cases().filter(({ passes }) => passes === false)
    expect(list.length).toBeGreaterThan(5_000)
    const before = await stored()
    expect(await wrongly(list)).toEqual([])
    expect(await stored()).toEqual(before)
  })

  test('what may pass is not refused', async () => {
    const list = cases().filter(({ passes }) => passes === true)
    expect(list.length).toBeGreaterThan(3_000)
    expect(await wrongly(list)).toEqual([])
  })

  test('with a password: nothing but health, the page for owners of sites and the page to sign in is answered without it, by whatever method and spelling', async () => {
    const answered: string[] = []
    for (const { url, access } of guarded.routes) {
      for (const path of [pathOf({ url }), spelledOtherwise(pathOf({ url }))]) {
        for (const method of METHODS) {
          const { status } = await ask({ port: guarded.port, method, path })
          if (status !== 401) answered.push(`${access} ${method} ${path}`)
        }
      }
    }
    const both = (paths: string[]) => paths.flatMap((path) => [path, spelledOtherwise(path)])
    const open = both(['/livez', '/readyz', '/site-owners', '/static/console.css', '/static/icon.svg'])
    const may = [
      ...open.flatMap((path) => [`open GET ${path}`, `open HEAD ${path}`]),
      ...both(['/login']).flatMap((path) => [`login GET ${path}`, `login HEAD ${path}`]),
      ...both(['/logout']).map((path) => `login POST ${path}`),
    ]
    expect(new Set(answered)).toEqual(new Set(may))
  })
})

test('a route that does not declare its access stops the start', async () => {
  const forgetful = await buildDoor()
  forgetful.server.get('/forgotten', () => 'x')
  await expect(forgetful.server.ready()).rejects.toThrow('GET /forgotten: the route does not declare its access')
  const wrong = await buildDoor()
  wrong.server.post('/wrong', { config: { access: 'read' } }, () => 'x')
  await expect(wrong.server.ready()).rejects.toThrow("POST /wrong: only GET and HEAD can be 'read'")
})

test('a request line with a whole URL in it is judged by its Host, and reaches no route under another name', async () => {
  const socket = connect(door.port, '127.0.0.1')
  const line = `GET http://localhost:${door.port}/v1/partitions HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n`
  socket.end(line)
  expect(await textOf(socket)).toMatch(/^HTTP\/1\.1 (403|404) /)
})

describe('the password', () => {
  const login = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` })

  test('wrong ones are answered 401 until there are too many, then 429 with the time to wait; the right one is let in all the while', async () => {
    let now = 0
    const guesses = countGuesses(() => now)
    const { port } = await openHealthServer({ CONSOLE_PASSWORD: 'correct horse' }, guesses)
    const get = (headers: OutgoingHttpHeaders, localAddress: string) =>
      new Promise<{ status: number | undefined; wait: string | undefined }>((resolve, reject) => {
        const sent = request({ host: '127.0.0.1', port, path: '/metrics', headers, localAddress }).end()
        sent.once('error', reject).once('response', (answer) => {
          answer.resume()
          resolve({ status: answer.statusCode, wait: answer.headers['retry-after'] })
        })
      })
    const statuses: (number | undefined)[] = []
    for (let n = 0; n < 12; n++) statuses.push((await get(login(`decorum:wrong ${n}`), '127.0.0.1')).status)
    expect(statuses).toEqual([...Array(10).fill(401), 429, 429])
    expect((await get(login('decorum:wrong'), '127.0.0.1')).wait).toBe('10')
    expect((await get(login('decorum:correct horse'), '127.0.0.1')).status).toBe(200)
    expect((await get({}, '127.0.0.1')).status, 'a question without a guess is no guess').toBe(401)
    expect((await get(login('decorum:wrong'), '127.88.3.2')).status, 'another address').toBe(401)
    now += 10_000
    expect((await get(login('decorum:wrong'), '127.0.0.1')).status).toBe(401)
  })

  test('behind a proxy that is trusted, the addresses that it names are counted; from anybody else the header counts for nothing', async () => {
    const wrong = async (port: number, forwarded: string) => {
      const headers = { ...login('decorum:wrong'), 'x-forwarded-for': forwarded }
      return (await fetch(`http://127.0.0.1:${port}/metrics`, { headers })).status
    }
    const many = async (port: number): Promise<number[]> => {
      const statuses = []
      for (let n = 0; n < 11; n++) statuses.push(await wrong(port, '192.0.2.1'))
      return [statuses.at(-1) as number, await wrong(port, '192.0.2.2')]
    }
    const behind = await openHealthServer(
      { CONSOLE_PASSWORD: 'correct horse', CONSOLE_TRUSTED_PROXIES: '127.0.0.0/8' },
      countGuesses(() => 0),
    )
    expect(await many(behind.port)).toEqual([429, 401])
    const alone = await openHealthServer(
      { CONSOLE_PASSWORD: 'correct horse' },
      countGuesses(() => 0),
    )
    expect(await many(alone.port)).toEqual([429, 429])
  })

  test('neither its length, its beginning nor odd base64 gets anybody in', async () => {
    const { port } = guarded
    for (const text of [
      'decorum:',
      'decorum:correct horse ',
      'decorum:correct hors',
      'Decorum:correct horse',
      ':correct horse',
    ])
      expect([text, (await ask({ port, method: 'GET', path: '/metrics', headers: login(text) })).status]).toEqual([
        text,
        401,
      ])
    const right = login('decorum:correct horse')
    expect((await ask({ port, method: 'GET', path: '/metrics', headers: right })).status).toBe(200)
  })
})
