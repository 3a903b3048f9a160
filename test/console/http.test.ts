/** The console's HTTP side on a real Redis: health, metrics, board, views, intake, doors. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import { text as textOf } from 'node:stream/consumers'
import { main } from '@decorum/console'
import { openLedgerWithViews, type PartitionView } from '@decorum/ledger/views'
import { CANDIDATES, partitionTags } from '@decorum/protocol'
import type { RunningService } from '@decorum/runtime'
import { Queue } from 'bullmq'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { PATIENT } from '../support/patient.ts'
import { redisForTest, startRedis } from '../support/redis.ts'

const redis = await redisForTest()
const tags = partitionTags(2)
const settings = { REDIS_URL: redis.url, DECORUM_PARTITIONS: '2', LOG_LEVEL: 'silent' }
let service: RunningService
let base: string

beforeAll(async () => {
  service = await main(settings)
  base = `http://127.0.0.1:${service.port}`
})
afterAll(() => service.stop())

/** What lies in `candidates` of all partitions, in the order of the hosts' partitions. */
async function stored(): Promise<{ url: string; agent?: string }[][]> {
  return Promise.all(
    tags.map(async (tag) => {
      const queue = new Queue(CANDIDATES, { connection: { url: redis.url }, prefix: tag })
      const jobs = await queue.getWaiting()
      await queue.drain()
      await queue.close()
      return jobs.flatMap((job) => job.data.candidates)
    }),
  )
}

function post(
  body: string | Uint8Array<ArrayBuffer>,
  type: string,
  query = '',
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${base}/v1/candidates${query}`, { method: 'POST', body, headers: { 'content-type': type, ...headers } })
}

test('alive and ready while Redis answers', async () => {
  expect((await fetch(`${base}/livez`)).status).toBe(200)
  expect((await fetch(`${base}/readyz`)).status).toBe(200)
})

test('Redis away: alive, not ready, metrics say so, intake refuses, the page tells; and all returns by itself', async () => {
  const away = await startRedis()
  const console_ = await main({ REDIS_URL: away.url, LOG_LEVEL: 'silent' })
  onTestFinished(() => console_.stop())
  const at = `http://127.0.0.1:${console_.port}`
  await away.stop()
  expect((await fetch(`${at}/livez`)).status).toBe(200)
  expect((await fetch(`${at}/readyz`)).status).toBe(503)
  const metrics = await (await fetch(`${at}/metrics`)).text()
  expect(metrics).toContain('decorum_ledger_up{partition="0"} 0')
  expect(metrics).not.toContain('decorum_urls_waiting{')
  const refused = await fetch(`${at}/v1/candidates`, {
    method: 'POST',
    body: 'http://a.example/',
    headers: { 'content-type': 'text/plain' },
  })
  expect(refused.status).toBe(503)
  expect(await refused.json()).toMatchObject({ type: 'redis-away', stored: 0 })
  expect((await fetch(`${at}/v1/partitions`)).status).toBe(503)
  // Of every route that only reads: 503 and that reason, or the answer of one that needs no Redis. A crash would be 500.
  const { paths } = (await (await fetch(`${at}/openapi.json`)).json()) as { paths: Record<string, { get?: object }> }
  const reads = Object.keys(paths).filter((path) => paths[path]?.get !== undefined)
  expect(reads.length).toBeGreaterThan(10)
  const query = 'url=http%3A%2F%2Fa.example%2F&group=g&waitMs=0&follow=false&max=1'
  for (const path of reads) {
    const filled = path.replaceAll(/\{\w+\}/g, encodeURIComponent('http://a.example'))
    for (const asked of [filled, `${filled}?${query}`]) {
      const answer = await fetch(`${at}${asked}`)
      expect(answer.status === 503 || answer.status < 500, `${asked}: ${answer.status}`).toBe(true)
      if (answer.status === 503) expect(await answer.json(), asked).toMatchObject({ type: 'redis-away' })
      else await answer.body?.cancel()
    }
  }
  expect((await fetch(`${at}/queues/api/queues`)).status).toBeGreaterThanOrEqual(500)
  await expect.poll(async () => (await fetch(at)).text()).toContain('Redis does not answer')
  await away.restart()
  onTestFinished(() => away.stop())
  await expect.poll(async () => (await fetch(`${at}/readyz`)).status).toBe(200)
  await expect.poll(async () => (await fetch(`${at}/v1/partitions`)).status).toBe(200)
})

describe('intake', () => {
  test('text, NDJSON and JSON end as the same jobs, each URL in the partition of its host', async () => {
    const urls = Array.from({ length: 30 }, (_, i) => `http://host-${i}.example/`)
    const bodies: [string, string][] = [
      [urls.join('\n'), 'text/plain; charset=utf-8'],
      [urls.map((url) => JSON.stringify({ url })).join('\n'), 'application/x-ndjson'],
      [JSON.stringify(urls.map((url) => ({ url }))), 'application/json'],
    ]
    const seen = []
    for (const [body, type] of bodies) {
      const answer = await post(body, type)
      expect(answer.status).toBe(202)
      expect(await answer.json()).toEqual({ count: 30 })
      seen.push(await stored())
    }
    expect(seen[1]).toEqual(seen[0])
    expect(seen[2]).toEqual(seen[0])
    const [first = [], second = []] = seen[0] ?? []
    expect(first.length + second.length).toBe(30)
    expect(Math.min(first.length, second.length)).toBeGreaterThan(0)
  })

  test('one wrong line: 400 with its number, and nothing of the body is stored', async () => {
    const answer = await post('http://a.example/\nhttp://b.example:99999/\n', 'text/plain')
    expect(answer.status).toBe(400)
    expect(answer.headers.get('content-type')).toContain('application/problem+json')
    expect(await answer.json()).toEqual({
      type: 'not-a-url',
      title: 'not a url',
      status: 400,
      line: 2,
      detail: 'line 2: not-a-url: http://b.example:99999/',
    })
    expect(await stored()).toEqual([[], []])
  })

  test('more than a job’s worth is cut into several jobs', async () => {
    const body = Array.from({ length: 250 }, (_, i) => `http://one.example/${i}`).join('\n')
    expect(await (await post(body, 'text/plain')).json()).toEqual({ count: 250 })
    const lists = await stored()
    expect(lists.flat().map(({ url }) => url)).toEqual(body.split('\n'))
  })

  test('an unknown agent, content type or empty body is named', async () => {
    expect((await post('http://a.example/', 'text/plain', '?agent=nobody')).status).toBe(400)
    const odd = await post('http://a.example/', 'application/xml')
    expect([odd.status, await odd.json()]).toMatchObject([
      415,
      { type: 'content-type', detail: expect.stringContaining('application/x-ndjson, ') },
    ])
    expect(await (await post('', 'text/plain')).json()).toMatchObject({ type: 'nothing-to-do' })
    expect(await stored()).toEqual([[], []])
  })

  test('a byte order mark is no part of the text; text in another encoding is refused, for it would be other URLs', async () => {
    for (const [body, type] of [
      ['\uFEFF{"url":"http://a.example/"}', 'application/json'],
      ['\uFEFF{"url":"http://a.example/"}\n', 'application/x-ndjson'],
      ['\uFEFFhttp://a.example/', 'text/plain'],
    ] as const)
      expect((await post(body, type)).status).toBe(202)
    expect((await stored()).flat().map(({ url }) => url)).toEqual(Array(3).fill('http://a.example/'))
    for (const [type, headers] of [
      ['text/plain; charset=utf-16', {}],
      ['text/plain; format=flowed; charset="ISO-8859-1"', {}],
      ['text/plain', { 'content-encoding': 'gzip' }],
    ] as [string, Record<string, string>][])
      expect(await (await post('http://a.example/', type, '', headers)).json()).toMatchObject({ type: 'not-utf-8' })
    for (const type of ['text/plain; charset=UTF-8', 'text/plain; charset=us-ascii', 'text/plain;'])
      expect((await post('http://a.example/', type, '', { 'content-encoding': 'identity' })).status).toBe(202)
    expect((await stored()).flat()).toHaveLength(3)
    const latin1 = Uint8Array.from(Buffer.from('http://a.example/café', 'latin1'))
    const answer = await post(latin1, 'text/plain; charset=iso-8859-1')
    expect([answer.status, await answer.json()]).toMatchObject([400, { type: 'not-utf-8' }])
    expect(await stored()).toEqual([[], []])
  })

  test('a page of another site may not write, one of this console may', async () => {
    const foreign = await post('http://a.example/', 'text/plain', '', { origin: 'https://evil.example' })
    expect(foreign.status).toBe(403)
    const own = await post('http://a.example/', 'text/plain', '', { origin: base })
    expect(own.status).toBe(202)
    expect((await stored()).flat()).toHaveLength(1)
  })
})

describe('requests that never end', () => {
  const head = (length: string) =>
    `POST /v1/candidates HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/plain\r\n${length}\r\n\r\n`
  /** A connection that has said so much and waits. */
  const start = (port: number, text: string) => {
    const socket = connect(port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    socket.on('error', () => undefined).write(text)
    return socket
  }

  test('are given up, wherever they stopped; a stream of outcomes that is open meanwhile goes on', async () => {
    const own = await main(settings, { requestDeadlineMs: 400, heartbeatMs: 30 })
    onTestFinished(() => own.stop())
    const stream = await fetch(`http://127.0.0.1:${own.port}/v1/outcomes?group=patient&from=now`)
    const beats = (stream.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream()).getReader()
    const ends = [
      '',
      'GET / HTTP/1.1\r\nHost:',
      head('Content-Length: 100'),
      `${head('Content-Length: 100')}http://a.ex`,
    ]
    ends.push(`${head('Transfer-Encoding: chunked')}3\r\nhtt\r\n`)
    const answers = await Promise.all(ends.map(async (text) => textOf(start(own.port, text))))
    expect(answers.map((answer) => answer.split('\r\n')[0])).toEqual(ends.map(() => 'HTTP/1.1 408 Request Timeout'))
    for (let n = 0; n < 10; n++) expect((await beats.read()).value).toContain(':')
    await beats.cancel()
    expect(await stored()).toEqual([[], []])
  })

  test('large bodies wait for room: four at once, the next is told to come again; small ones are taken meanwhile', async () => {
    const large = Array.from({ length: 4 }, () =>
      start(service.port, `${head(`Content-Length: ${16 * 1024 * 1024}`)}http://a.example/1\n`),
    )
    const unknown = () => {
      const socket = start(service.port, `${head('Transfer-Encoding: chunked\r\nConnection: close')}`)
      socket.write('12\r\nhttp://a.example/2\r\n0\r\n\r\n')
      return textOf(socket)
    }
    let refused = ''
    await expect.poll(async () => (refused = await unknown())).toMatch(/^HTTP\/1\.1 503 /)
    expect(refused).toMatch(/\r\nretry-after: 1\r\n/i)
    expect(refused).toContain('"busy"')
    expect((await post('http://a.example/3', 'text/plain')).status).toBe(202)
    large[0]?.destroy()
    await expect.poll(unknown).toMatch(/^HTTP\/1\.1 202 /)
    await stored()
  })

  test('an operator’s action is no place for megabytes', async () => {
    const body = JSON.stringify({ action: 'pause', reason: 'x'.repeat(100_000) })
    const headers = { 'content-type': 'application/json' }
    const at = `${base}/v1/origins/${encodeURIComponent('http://a.example')}`
    expect((await fetch(at, { method: 'PATCH', body, headers })).status).toBe(413)
  })
})

describe('views', () => {
  test('partitions and an origin, as the ledger sees them', async () => {
    const ledger = await openLedgerWithViews({ redis: redis.url, partitions: 2, ...PATIENT })
    onTestFinished(() => ledger.close())
    const { origin } = new URL('http://báo.example')
    const partition = ledger.partitionOf(origin)
    await ledger.store(partition, [
      {
        lane: { agent: 'decorum', origin },
        pending: { id: '1', path: '/x', expiresAt: Date.now() + 60_000, hops: 0, priority: 'normal' },
      },
    ])
    const views = (await (await fetch(`${base}/v1/partitions`)).json()) as PartitionView[]
    expect(views.map((view) => view.tag)).toEqual(tags)
    expect(views[partition]).toMatchObject({ waiting: 1, lanes: 1, due: 1 })
    const view = await (await fetch(`${base}/v1/origins/${encodeURIComponent('HTTP://báo.example:80/')}`)).json()
    expect(view).toMatchObject({ origin, lanes: [{ agent: 'decorum', waiting: 1, state: 'waiting' }] })
    const metrics = await (await fetch(`${base}/metrics`)).text()
    expect(metrics).toContain(`decorum_urls_waiting{partition="${partition}"} 1`)
    expect(metrics).toContain(`decorum_ledger_events_total{partition="${partition}",event="parked"} 1`)
    expect(metrics).not.toContain('example') // never an origin in a label
  })

  test('what is no origin is refused with its reason', async () => {
    for (const [name, error] of [
      ['ftp://a.example', 'ftp-not-supported'],
      ['http://a.example/page', 'not-an-origin'],
      ['nonsense', 'not-a-url'],
    ] as const) {
      const answer = await fetch(`${base}/v1/origins/${encodeURIComponent(name)}`)
      expect([answer.status, await answer.json()]).toMatchObject([400, { type: error }])
    }
  })
})

test('the board lists both queues of each partition and writes nothing', async () => {
  const listed = await (await fetch(`${base}/queues/api/queues`)).json()
  const { queues } = listed as { queues: { name: string; readOnlyMode: boolean }[] }
  expect(queues).toHaveLength(4)
  expect(queues.every((queue) => queue.readOnlyMode)).toBe(true)
  const pause = `${base}/queues/api/queues/${encodeURIComponent(queues[0]?.name ?? '')}/pause`
  expect((await fetch(pause, { method: 'PUT' })).status).toBe(405)
  const page = await (await fetch(`${base}/queues`)).text()
  expect(page).not.toMatch(/https?:\/\//) // nothing is fetched from a third party
})

test('pages forbid inline script and style, and are not kept', async () => {
  const { headers } = await fetch(base)
  expect(headers.get('content-security-policy')).toMatch(/^default-src 'self'/)
  expect(headers.get('content-security-policy')).not.toContain('unsafe')
  expect(headers.get('cache-control')).toBe('no-store')
})

describe('doors', () => {
  test('with a password: 401 without, 200 with, health open', async () => {
    const guarded = await main({ ...settings, CONSOLE_PASSWORD: 'correct horse' })
    onTestFinished(() => guarded.stop())
    const at = `http://127.0.0.1:${guarded.port}`
    const login = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` })
    for (const path of ['/', '/metrics', '/queues', '/queues/api/queues', '/v1/partitions', '/static/console.js']) {
      expect([path, (await fetch(at + path)).status]).toEqual([path, 401])
      expect([path, (await fetch(at + path, { headers: login('decorum:wrong horse') })).status]).toEqual([path, 401])
      expect([path, (await fetch(at + path, { headers: login('decorum:correct horse') })).status]).toEqual([path, 200])
    }
    expect((await fetch(`${at}/readyz`)).status).toBe(200)
  })

  test('without one, a name that merely resolves to loopback is not answered', async () => {
    const asked = request(`${base}/`, { headers: { host: 'rebound.example' } }).end() // fetch() would not say so
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    answer.resume()
    expect(answer.statusCode).toBe(403)
  })

  test('a HOST beyond loopback without a password stops the start, naming the setting', async () => {
    await expect(main({ ...settings, HOST: '0.0.0.0' })).rejects.toThrow(/CONSOLE_PASSWORD/)
    await expect(main({ ...settings, HOST: '0.0.0.0' })).rejects.toMatchObject({ code: 'SETTINGS' })
  })

  test('a port in use stops the start with a sentence', async () => {
    const other = createServer()
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void other.close())
    const { port } = other.address() as { port: number }
    await expect(main({ ...settings, PORT: String(port) })).rejects.toThrow(
      `port ${port} of 127.0.0.1 is in use: set PORT to another one, or to 0 for any free one`,
    )
  })

  test('Redis away at the start is a readable error', async () => {
    await expect(main({ ...settings, REDIS_URL: 'redis://127.0.0.1:1' })).rejects.toMatchObject({
      code: 'LEDGER_UNAVAILABLE',
    })
  })
})
