import { once } from 'node:events'
import { type ClientRequest, request as httpRequest } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { agentsOf, judgeRecord } from '@decorum/audit'
import { now } from '@decorum/cli/synthetic-web'
import { expect, test } from 'vitest'
import { type RecordedWeb, recordedWeb, type Site } from '../support/origins/index.ts'

async function withWeb(sites: Site[], use: (web: RecordedWeb) => Promise<void>): Promise<void> {
  const web = await recordedWeb(sites)
  try {
    await use(web)
  } finally {
    await web.close()
  }
}
const get = async (url: string, headers: Record<string, string> = {}) => {
  const response = await fetch(url, { headers, redirect: 'manual' })
  return { status: response.status, headers: response.headers, body: await response.text(), ended: now() }
}

/** Resolves when the kernel has the request: its 'finish' comes before there is a connection. */
async function written(request: ClientRequest): Promise<void> {
  const [socket] = (await once(request, 'socket')) as [Socket]
  if (socket.connecting) await once(socket, 'connect')
  await new Promise<unknown>((resolve) => socket.write('', resolve))
}

test('each exchange is recorded with its times, inside those that the client sees', async () => {
  await withWeb([{ name: 'slow', pages: { delayMs: 80, bytes: 2_000 } }], async (web) => {
    const began = now()
    const { ended } = await get(`${web.origins.slow}/a?b=1`, { 'user-agent': 'bot/1' })
    const { requests } = await web.evidence()
    expect(requests).toMatchObject([
      { origin: web.origins.slow, agent: 'bot/1', method: 'GET', path: '/a?b=1', status: 200 },
    ])
    const [line] = requests
    // Two processes, two readings of one monotonic clock: they agree to a millisecond.
    expect(line!.start + (line!.resolution ?? 0)).toBeGreaterThanOrEqual(began - 1)
    expect(line!.end).toBeLessThanOrEqual(ended + 1)
    expect(line!.end - line!.start).toBeGreaterThanOrEqual(79)
    expect(line!.cut).toBeUndefined()
  })
})

test('rules as served are part of the record, once per content, also where a robots.txt redirects to', async () => {
  const sites: Site[] = [
    { name: 'a', robots: [{ body: 'User-agent: *\nDisallow: /x' }, { body: 'User-agent: *' }] },
    { name: 'b', robots: { status: 302, location: '{origin:a}/rules.txt' } },
  ]
  sites[0]!.paths = { '/rules.txt': { body: 'User-agent: *', type: 'text/plain' } }
  await withWeb(sites, async (web) => {
    for (const url of ['a', 'a', 'a', 'b']) await get(`${web.origins[url]}/robots.txt`)
    await get(`${web.origins.a}/rules.txt`)
    const { requests, bodies } = await web.evidence()
    expect(requests.map(({ robots }) => robots && bodies.get(robots))).toEqual([
      'User-agent: *\nDisallow: /x',
      'User-agent: *',
      'User-agent: *',
      undefined,
      'User-agent: *',
    ])
    expect(bodies.size).toBe(2)
    expect(requests[3]).toMatchObject({ status: 302, location: `${web.origins.a}/rules.txt` })
  })
})

test('scripts: one after the other, round and round, exact paths; absent robots.txt is 404', async () => {
  const site: Site = {
    name: 's',
    pages: { cycle: [{}, { status: 429, retryAfter: '2' }] },
    paths: { '/once': [{ status: 500 }, { status: 200 }] },
  }
  await withWeb([site], async (web) => {
    const statuses: number[] = []
    for (const path of ['/robots.txt', '/1', '/2', '/3', '/4', '/once', '/once', '/once']) {
      const { status, headers } = await get(web.origins.s + path)
      statuses.push(status)
      expect(headers.get('retry-after')).toBe(status === 429 ? '2' : null)
    }
    expect(statuses).toEqual([404, 200, 429, 200, 429, 500, 200, 200])
    expect((await web.evidence()).requests.map(({ status }) => status)).toEqual(statuses)
  })
})

test('a client that goes away is recorded as cut, when it goes; a reset has no status', async () => {
  const sites: Site[] = [
    { name: 'never', pages: { instead: 'never' }, announce: true },
    { name: 'reset', pages: { instead: 'reset' } },
  ]
  await withWeb(sites, async (web) => {
    const leaving = httpRequest(`${web.origins.never}/page`)
    leaving.on('error', () => undefined)
    leaving.end()
    await web.heard(({ kind, path }) => kind === 'began' && path === '/page')
    const left = now()
    leaving.destroy()
    await web.heard(({ kind, cut }) => kind === 'ended' && cut === true)
    await expect(get(`${web.origins.reset}/page`)).rejects.toThrow()
    const { requests } = await web.evidence()
    expect(requests).toMatchObject([
      { path: '/page', status: 0, cut: true },
      { path: '/page', status: 0, cut: true },
    ])
    expect(requests[0]!.end).toBeGreaterThanOrEqual(left - 1)
    // It went at `left`, two processes' reading apart: no later than `end`, no earlier than `late` before it.
    expect(requests[0]!.end - requests[0]!.late!).toBeLessThanOrEqual(left + 1)
  })
})

test.each([0, 50])(
  'a web that is kept from running accuses nobody: who gave up meanwhile and came again kept the delay (answers after %i ms)',
  async (delayMs) => {
    const DELAY_MS = 150
    await withWeb([{ name: 'still', robots: { body: '' }, pages: { delayMs }, announce: true }], async (web) => {
      await get(`${web.origins.still}/robots.txt`, { 'user-agent': 'bot/1' })
      await sleep(DELAY_MS)
      const impatient = async (path: string): Promise<void> => {
        const leaving = httpRequest(web.origins.still + path, { headers: { 'user-agent': 'bot/1' } })
        leaving.on('error', () => undefined)
        leaving.end()
        await written(leaving)
        await sleep(DELAY_MS)
        leaving.destroy()
        await sleep(DELAY_MS + 50)
      }
      process.kill(web.pid, 'SIGSTOP')
      await impatient('/first')
      await impatient('/second')
      const third = get(`${web.origins.still}/third`, { 'user-agent': 'bot/1' })
      await sleep(DELAY_MS)
      process.kill(web.pid, 'SIGCONT')
      await third
      await sleep(DELAY_MS)
      await get(`${web.origins.still}/last`, { 'user-agent': 'bot/1' })
      const evidence = await web.evidence()
      const agents = agentsOf({ agent: 'bot', profile: 'decorum', minDelayMs: DELAY_MS, maxDelayMs: 1_000 })
      expect(judgeRecord(evidence, { agents }).examples).toEqual([])
      const cut = evidence.requests.filter((line) => line.cut === true).map(({ path }) => path)
      expect(cut.sort()).toEqual(['/first', '/second'])
    })
  },
)

test('the end of a large body is when its tail is handed over, not when its head is', async () => {
  await withWeb([{ name: 'big', pages: { bytes: 30_000_000 } }], async (web) => {
    const response = await fetch(`${web.origins.big}/page`)
    const readFrom = now() // more than sockets can hold is still to come
    expect((await response.arrayBuffer()).byteLength).toBe(30_000_000)
    const { requests } = await web.evidence()
    expect(requests[0]!.end).toBeGreaterThanOrEqual(readFrom)
    expect(requests[0]!.cut).toBeUndefined()
  })
})

test('stopping keeps what was open: the exchange is in the record', async () => {
  const web = await recordedWeb([{ name: 'never', pages: { instead: 'never' }, announce: true }])
  const open = httpRequest(`${web.origins.never}/page`)
  open.on('error', () => undefined)
  open.end()
  await web.heard(({ kind }) => kind === 'began')
  expect(await web.stop()).toBe(1)
  await web.close()
})

test('a site that nobody knows, and one name twice, are refused by name', async () => {
  await expect(recordedWeb([{ name: 'a', pages: { location: '{origin:b}/' } }])).rejects.toThrow('no site is called b')
  await expect(recordedWeb([{ name: 'a' }, { name: 'a' }])).rejects.toThrow('two sites are called a')
})
