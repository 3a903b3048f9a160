/** Outcomes over HTTP with the promise of Redis: what is not acknowledged comes again, to the same consumer or to another one. */
import { get, type IncomingMessage } from 'node:http'
import { openWith } from '@decorum/client/inside'
import { buildServer, fleetViewer, OutcomeEvent, Pace, readConfig } from '@decorum/console/inside'
import { openLedgerWithViews } from '@decorum/ledger/views'
import { Redis } from 'ioredis'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { redisForTest, startRedis } from '../support/redis.ts'
import { type FleetForTest, fleetForTest } from './fleet-for-test.ts'

const redis = await redisForTest()
const raw = new Redis(redis.url)
let fleet: FleetForTest

beforeAll(async () => {
  fleet = await fleetForTest(redis.url)
})
afterAll(async () => {
  raw.disconnect()
  await fleet.close()
})

type Read = { ids: string[]; names: string[] }

async function read(query: string, base = fleet.base): Promise<Read> {
  const answer = await fetch(`${base}/v1/outcomes?${query}`, { headers: { accept: 'application/json' } })
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8'])
  const { outcomes } = (await answer.json()) as { outcomes: { id: string; outcome: unknown }[] }
  return { ids: outcomes.map(({ id }) => id), names: outcomes.map(({ outcome }) => OutcomeEvent.parse(outcome).id) }
}

async function send(path: string, body: unknown, base = fleet.base): Promise<{ status: number; body: unknown }> {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(base + path, { method: 'POST', headers, body: JSON.stringify(body) })
  return { status: answer.status, body: await answer.json() }
}
const ack = (group: string, ids: string[], more: object = {}) => send('/v1/outcomes/ack', { group, ids, ...more })

const names = (prefix: string, n: number): string[] => Array.from({ length: n }, (_, i) => `${prefix}${i}`)
const held = async (group: string): Promise<number> => Number((await raw.xpending('{decorum:0}:outcomes', group))[0])

/** Some connection is blocked in it. One that is not any more names its last command as well. */
const isWaiting = async (): Promise<boolean> =>
  / flags=\w*b\w* .* cmd=xreadgroup /.test(String(await raw.client('LIST')))

test('what is not acknowledged comes again, before anything new; what is acknowledged does not', async () => {
  await fleet.outcomes(names('a', 5))
  const first = await read('group=again&max=3')
  expect(first.names).toEqual(['a0', 'a1', 'a2'])
  expect(await read('group=again&max=3')).toEqual(first)
  expect(await ack('again', first.ids.slice(1))).toEqual({ status: 200, body: { acknowledged: 2 } })
  expect(await ack('again', first.ids.slice(1))).toEqual({ status: 200, body: { acknowledged: 0 } })
  const second = await read('group=again')
  expect(second.names).toEqual(['a0', 'a3', 'a4'])
  await ack('again', second.ids)
  expect(await read('group=again')).toEqual({ ids: [], names: [] })
  expect(await held('again')).toBe(0)
})

test('a request waits for the first outcome, and is answered with none when its time is over', async () => {
  expect(await read('group=wait&from=now&waitMs=50')).toEqual({ ids: [], names: [] })
  const waiting = read('group=wait&waitMs=30000')
  await expect.poll(isWaiting).toBe(true)
  await fleet.outcomes(['late'])
  expect((await waiting).names).toEqual(['late'])
})

test('two consumers share what comes; a second request under one name ends the first without taking anything', async () => {
  await read('group=shared&from=now')
  const first = read('group=shared&consumer=a&waitMs=30000')
  await expect.poll(isWaiting).toBe(true)
  const second = read('group=shared&consumer=a&waitMs=30000')
  expect((await first).names).toEqual([])
  await fleet.outcomes(['one'])
  const got = await second
  expect(got.names).toEqual(['one'])
  expect((await read('group=shared&consumer=b')).names).toEqual([])
  await ack('shared', got.ids)
})

test('a crawl is read by its name, and its outcomes are acknowledged by it', async () => {
  await raw.xadd('{decorum:0}:outcomes:news', '*', 'o', JSON.stringify({ id: 'of-news' }))
  const answer = await fetch(`${fleet.base}/v1/outcomes?group=g&crawl=news&waitMs=0`)
  const { outcomes } = (await answer.json()) as { outcomes: { id: string; outcome: { id: string } }[] }
  expect(outcomes.map(({ outcome }) => outcome.id)).toEqual(['of-news'])
  const ids = outcomes.map(({ id }) => id)
  expect(await ack('g', ids)).toMatchObject({ body: { acknowledged: 0 } })
  expect(await ack('g', ids, { crawl: 'news' })).toMatchObject({ body: { acknowledged: 1 } })
})

test('what cannot be read is refused in a sentence, and nothing is done', async () => {
  const problem = async (path: string) => {
    const answer = await fetch(fleet.base + path, { headers: { accept: 'application/json' } })
    return [answer.status, ((await answer.json()) as { detail: string }).detail]
  }
  expect(await problem('/v1/outcomes?group=bad&max=0')).toEqual([400, expect.stringContaining('max: ')])
  expect(await problem('/v1/outcomes?group=bad&max=1001')).toEqual([400, expect.stringContaining('max: ')])
  expect(await problem('/v1/outcomes?group=bad&waitMs=30001')).toEqual([400, expect.stringContaining('waitMs: ')])
  expect(await problem('/v1/outcomes?group=bad&crawl=A')).toEqual([
    400,
    expect.stringContaining('crawl: a crawl is named'),
  ])
  expect(await problem('/v1/outcomes?group=bad&ack=sent')).toEqual([400, expect.stringContaining('ack: ')])
  expect(await problem('/v1/outcomes')).toEqual([400, expect.stringContaining('group')])
  const [good] = (await read('group=whole&max=1')).ids
  for (const ids of [[good, 'x'], [good, 7], ['1-1'], names('a', 1_001)]) {
    const { status, body } = await send('/v1/outcomes/ack', { group: 'whole', ids })
    expect([status, (body as { type: string }).type]).toEqual([400, 'bad-request'])
  }
  expect(await held('whole'), 'all of a body or nothing').toBe(1)
  expect(JSON.stringify(await raw.xinfo('GROUPS', '{decorum:0}:outcomes'))).not.toContain('"bad"')
})

test('a stream has ids; a Last-Event-ID acknowledges nothing, and its reader is sent no more than it may hold', async () => {
  await fleet.outcomes(names('s', 5))
  await read('group=stream&from=now')
  await fleet.outcomes(names('t', 5))
  const stream = await open('group=stream&max=2', {})
  await expect.poll(() => stream.ids().length).toBe(2)
  expect(stream.names()).toEqual(['t0', 't1'])
  await ack('stream', stream.ids().slice(0, 1))
  await expect.poll(() => stream.names()).toEqual(['t0', 't1', 't2'])
  const last = stream.ids().at(-1) ?? ''
  stream.leave()
  const again = await open('group=stream&follow=false', { 'last-event-id': last })
  await again.ended
  expect(again.names()).toEqual(['t1', 't2', 't3', 't4'])
  expect(await held('stream')).toBe(4)
})

test('acknowledgements that come by another console make room in a stream as well', async () => {
  await read('group=elsewhere&from=now')
  await fleet.outcomes(names('e', 3))
  const stream = await open('group=elsewhere&max=1', {})
  await expect.poll(() => stream.ids().length).toBe(1)
  const other = await fleetForTest(redis.url)
  onTestFinished(() => other.close())
  await send('/v1/outcomes/ack', { group: 'elsewhere', ids: stream.ids() }, other.base)
  await expect.poll(() => stream.names()).toEqual(['e0', 'e1'])
})

test('what a silent consumer holds goes to another one; an acknowledgement of nothing is a sign of life', async () => {
  const patience = { deadAfterMs: 1e8, beatMs: 1e8, claimEveryMs: 0 }
  const patient = await consoleWith(() => openWith({ redis: redis.url }, patience))
  const base = await consoleWith(() => openWith({ redis: redis.url }, { ...patience, deadAfterMs: 1_500 }))
  await read('group=dead&from=now', base)
  await fleet.outcomes(names('d', 3))
  expect((await read('group=dead&consumer=silent&max=2', base)).names).toEqual(['d0', 'd1'])
  expect((await read('group=dead&consumer=lives&max=1', base)).names).toEqual(['d2'])
  const other = async (at: string) => (await read('group=dead&consumer=other', at)).names
  expect(await other(patient)).toEqual([])
  const otherAfterASign = async () => {
    await send('/v1/outcomes/ack', { group: 'dead', consumer: 'lives', ids: [] }, base)
    return other(base)
  }
  await expect.poll(otherAfterASign).toEqual(['d0', 'd1'])
})

test('a Redis that is away is 503 to whoever reads or acknowledges', async () => {
  const away = await startRedis({ appendonly: true })
  onTestFinished(() => away.stop())
  const own = await fleetForTest(away.url)
  onTestFinished(() => own.close())
  await own.outcomes(['a'])
  const { ids } = await read('group=g', own.base)
  await away.stop()
  expect((await fetch(`${own.base}/v1/outcomes?group=g&waitMs=1000`)).status).toBe(503)
  expect(await send('/v1/outcomes/ack', { group: 'g', ids }, own.base)).toMatchObject({
    status: 503,
    body: { type: 'redis-away' },
  })
})

/** A console whose readers count as dead sooner. */
async function consoleWith(frontier: () => ReturnType<typeof openWith>): Promise<string> {
  const config = readConfig({ REDIS_URL: redis.url, LOG_LEVEL: 'silent' })
  const ledger = await openLedgerWithViews({ redis: redis.url, partitions: 1 })
  const link = new Redis(redis.url)
  const more = { view: fleetViewer(ledger), pace: new Pace(), queues: [], redisAnswers: async () => true }
  const parts = { config, ledger, redis: link, ...more }
  const { server } = await buildServer({ ...parts, log: pino({ level: 'silent' }), version: '0', frontier })
  onTestFinished(async () => {
    await server.close()
    link.disconnect()
    await ledger.close()
  })
  return server.listen({ port: 0, host: '127.0.0.1' })
}

async function open(query: string, headers: Record<string, string>) {
  const url = `${fleet.base}/v1/outcomes?${query}`
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    get(url, { headers: { accept: 'text/event-stream', ...headers }, agent: false }, resolve).once('error', reject)
  })
  onTestFinished(() => void answer.destroy())
  let text = ''
  answer.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  const events = () => [...text.matchAll(/^event: outcome\nid: (.*)\ndata: (.*)\n\n/gm)]
  return {
    ids: () => events().map(([, id]) => id ?? ''),
    names: () => events().map(([, , json]) => OutcomeEvent.parse(JSON.parse(json ?? '')).id),
    ended: new Promise<void>((resolve) => answer.once('end', resolve)),
    leave: () => void answer.destroy(),
  }
}
