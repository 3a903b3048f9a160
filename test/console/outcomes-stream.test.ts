/** Outcomes as server-sent events that count as acknowledged once sent: each once per group, at the reader's pace, ended in order. */
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { text as textOf } from 'node:stream/consumers'
import { OutcomeEvent } from '@decorum/console/inside'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { redisForTest, startRedis } from '../support/redis.ts'
import { type FleetForTest, fleetForTest } from './fleet-for-test.ts'

const redis = await redisForTest()
const raw = new Redis(redis.url)
let fleet: FleetForTest

beforeAll(async () => {
  fleet = await fleetForTest(redis.url, {}, 1, { heartbeatMs: 40 })
})
afterAll(async () => {
  raw.disconnect()
  await fleet.close()
})

type Stream = {
  answer: IncomingMessage
  /** everything received so far */
  text: () => string
  /** resolves when this has been received; nothing is read before the first call */
  hears(what: string): Promise<void>
  leave(): void
}

async function open(
  query: string,
  headers: Record<string, string> = {},
  base = fleet.base,
  path = '/v1/outcomes',
  localAddress = '127.0.0.1',
): Promise<Stream> {
  const asked = get(`${base}${path}?${query}`, { headers, localAddress, agent: false })
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  onTestFinished(() => void answer.destroy())
  answer.setEncoding('utf8')
  const chunks: string[] = []
  let last = ''
  const text = (): string => chunks.join('')
  return {
    answer,
    text,
    hears(what) {
      return new Promise((resolve, reject) => {
        const isWhole = (heard: string): boolean => {
          const at = heard.indexOf(what)
          return at >= 0 && heard.indexOf('\n\n', at) >= 0 // the event that it stands in has come to its end
        }
        if (isWhole(text())) return resolve()
        if (answer.listenerCount('data') === 0) answer.on('data', (chunk: string) => chunks.push(chunk))
        const listen = (chunk: string): void => {
          const seen = last + chunk // what is looked for may lie across two chunks
          last = seen.includes(what) ? seen : seen.slice(-200)
          if (!isWhole(seen)) return
          answer.off('data', listen)
          resolve()
        }
        answer.on('data', listen)
        answer.once('end', () => reject(new Error(`ended before '${what}': ${text().slice(-300)}`)))
      })
    },
    leave: () => void answer.destroy(),
  }
}

/** Together more than the buffers of both ends hold: about 16 MB. */
const MANY = 4_000
const bulk = { text: 'x'.repeat(4_000) }

const idsOf = (text: string): string[] =>
  [...text.matchAll(/^event: outcome\nid: .*\ndata: (.*)$/gm)].map(
    ([, json]) => OutcomeEvent.parse(JSON.parse(json ?? '')).id,
  )
const names = (prefix: string, n: number): string[] => Array.from({ length: n }, (_, i) => `${prefix}${i}`)

/** Acknowledged by a group: everything it was given but what it still holds. */
async function pendingOf(group: string): Promise<number> {
  const [count] = (await raw.xpending('{decorum:0}:outcomes', group)) as [number]
  return count
}

test('a group is told each outcome once, in order, over several connections', async () => {
  await fleet.outcomes(names('a', 300))
  const first = await open('group=crawl&follow=false&ack=sent')
  expect(first.answer.headers).toMatchObject({
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  })
  await first.hears('event: end\ndata: done')
  expect(idsOf(first.text())).toEqual(names('a', 300))
  expect(await pendingOf('crawl')).toBe(0)
  await fleet.outcomes(names('b', 3))
  const second = await open('group=crawl&follow=false&ack=sent')
  await second.hears('event: end')
  expect(idsOf(second.text())).toEqual(names('b', 3))
  const other = await open('group=other&from=now&follow=false&ack=sent')
  await other.hears('event: end')
  expect(idsOf(other.text()), 'a new group may begin with what is yet to come').toEqual([])
})

test('a stream follows, and beats while there is nothing to tell', async () => {
  const stream = await open('group=follow&from=now&ack=sent')
  await stream.hears(': beat\n\n: beat\n\n')
  await fleet.outcomes(['later'])
  await stream.hears('"id":"later"')
  await expect.poll(() => pendingOf('follow')).toBe(0)
})

test('a reader that does not read is not read ahead for; nothing is lost or told twice', async () => {
  await fleet.outcomes(names('slow-', MANY), bulk)
  const stream = await open('group=lazy&ack=sent')
  const delivered = async (): Promise<number> => {
    const groups = (await raw.xinfo('GROUPS', '{decorum:0}:outcomes')) as (string | number)[][]
    const mine = groups.find((group) => group.includes('lazy')) ?? []
    return Number(mine[mine.indexOf('entries-read') + 1])
  }
  let before = -1
  const stands = async (): Promise<boolean> => {
    const now = await delivered()
    const still = now === before && now > 0
    before = now
    return still
  }
  await expect.poll(stands, { interval: 300 }).toBe(true)
  expect(before).toBeLessThan(MANY)
  await stream.hears(`"id":"slow-${MANY - 1}"`)
  expect(idsOf(stream.text()).filter((id) => id.startsWith('slow-'))).toEqual(names('slow-', MANY))
})

test('a reader that goes away leaves what was not written to the next', async () => {
  await fleet.outcomes(names('gone-', MANY), bulk)
  const first = await open('group=gone&from=start&ack=sent')
  await first.hears('"gone-0"')
  first.leave()
  const second = await open('group=gone&follow=false&ack=sent')
  await second.hears('event: end')
  const told = idsOf(second.text()).filter((id) => id.startsWith('gone-'))
  expect(told.length).toBeGreaterThan(0)
  expect(told, 'in order, to the last, without a hole').toEqual(names('gone-', MANY).slice(-told.length))
  expect(await pendingOf('gone')).toBe(0)
})

test('a stream that is open has begun: a group of its own reads whatever is stored from then on', async () => {
  await raw.call('CLIENT', 'PAUSE', '1000', 'WRITE') // the group is made that late
  const stream = await open('group=begun&from=now')
  await stream.hears(': open')
  const groups = (await raw.xinfo('GROUPS', '{decorum:0}:outcomes')) as string[][]
  expect(groups.map(([, name]) => name)).toContain('begun')
  await fleet.outcomes(['at-once'])
  await stream.hears('"id":"at-once"')
})

test('a second connection under the same name takes over; under another name both read', async () => {
  const first = await open('group=shared&from=now')
  await first.hears(': open')
  const second = await open('group=shared&from=now')
  await first.hears('event: end\ndata: taken-over')
  const third = await open('group=shared&from=now&consumer=another')
  await third.hears(': open')
  await fleet.outcomes(names('shared', 4))
  const both = () => [...idsOf(second.text()), ...idsOf(third.text())].sort()
  await second.hears(': beat')
  await expect.poll(both).toEqual(names('shared', 4))
})

test.for([{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }])(
  'a page of another site may not take outcomes away: %o',
  async (headers) => {
    await fleet.outcomes(['secret'])
    const { answer } = await open('group=stolen', headers)
    expect(answer.statusCode).toBe(403)
    const groups = JSON.stringify(await raw.xinfo('GROUPS', '{decorum:0}:outcomes'))
    expect(groups).not.toContain('stolen')
  },
)

test.for([
  ['a page of another site on plain HTTP, which says neither site nor origin', {}],
  ['one that names the stream', { accept: 'text/event-stream' }],
  ['an address that somebody opens', { accept: 'text/html', 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' }],
] as const)('a browser may not take outcomes away by a URL alone: %s', async ([, headers]) => {
  await fleet.outcomes(['secret'])
  const mozilla = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Firefox/150.0', ...headers }
  for (const path of ['/v1/outcomes', '/v1/%6futcomes', '/v1/outcome%73', '/%76%31/outcomes']) {
    const { answer } = await open('group=stolen', mozilla, fleet.base, path)
    expect([path, answer.statusCode]).toEqual([path, 403])
    expect(JSON.parse(await textOf(answer))).toMatchObject({ type: 'not-for-navigation' })
  }
  expect(JSON.stringify(await raw.xinfo('GROUPS', '{decorum:0}:outcomes'))).not.toContain('stolen')
})

test('a program that calls itself Mozilla reads with one more header; so does any other spelling of the path', async () => {
  await fleet.outcomes(['for-all'])
  const stream = await open(
    'group=mozilla&follow=false&ack=sent',
    { 'user-agent': 'Mozilla/5.0 (compatible; our reader)', 'x-requested-with': 'our reader' },
    fleet.base,
    '/v1/%6futcomes',
  )
  await stream.hears('event: end')
  expect(idsOf(stream.text())).toContain('for-all')
})

test('64 readers: 16 of one address and of one group, so that nobody takes all places; a place that is left is free again', async () => {
  const own = await fleetForTest(redis.url)
  onTestFinished(() => own.close())
  const read = (query: string, address: string) => open(`from=now&${query}`, {}, own.base, '/v1/outcomes', address)
  const many = (n: number, query: (n: number) => string, address: string) =>
    Promise.all(
      Array.from({ length: n }, async (_, at) => {
        const stream = await read(query(at), address)
        await stream.hears(': open')
        return stream
      }),
    )
  const told = async ({ answer }: Stream) => {
    const { type, detail } = JSON.parse(await textOf(answer))
    return [answer.statusCode, type, detail, answer.headers['retry-after']]
  }
  const first = await many(16, (n) => `group=many-${n}`, '127.31.0.1')
  expect(await told(await read('group=many-16', '127.31.0.1'))).toEqual([
    429,
    'too-many-readers',
    '16 streams of this address are being read',
    '10',
  ])
  await many(16, (n) => `group=one&consumer=${n}`, '127.31.0.2')
  expect(await told(await read('group=one&consumer=16', '127.31.0.3'))).toEqual([
    429,
    'too-many-readers',
    '16 streams of this group are being read',
    '10',
  ])
  await many(16, (n) => `group=many-${n}&consumer=b`, '127.31.0.3')
  await many(16, (n) => `group=many-${n}&consumer=c`, '127.31.0.4')
  expect(await told(await read('group=late', '127.31.0.5'))).toEqual([
    503,
    'too-many-readers',
    '64 streams are being read',
    '10',
  ])
  const [leaving] = first
  leaving?.leave()
  const enters = async () => {
    const { answer } = await read('group=late', '127.31.0.5')
    return answer.statusCode
  }
  await expect.poll(enters).toBe(200)
})

test('HEAD reads nothing', async () => {
  const { status } = await fetch(`${fleet.base}/v1/outcomes?group=head`, { method: 'HEAD' })
  expect(status).toBe(404)
})

test('a stop ends every stream with a last event, also that of a reader who does not read', async () => {
  const own = await fleetForTest(redis.url)
  const stream = await open('group=stopped&from=now', {}, own.base)
  await stream.hears(': open')
  await own.outcomes(names('deaf-', MANY), bulk)
  const deaf = await open('group=deaf&ack=sent', {}, own.base)
  deaf.answer.on('error', () => undefined)
  await stream.hears('deaf-')
  const closed = own.close()
  await stream.hears('event: end\ndata: stopping')
  await closed
})

test('Redis away: 503 before the first byte; while a stream is open it goes on when Redis is back', async () => {
  const away = await startRedis({ appendonly: true })
  onTestFinished(() => away.stop())
  const own = await fleetForTest(away.url, {}, 1, { heartbeatMs: 40 })
  onTestFinished(() => own.close())
  const stream = await open('group=g', {}, own.base)
  await stream.hears(': open')
  await away.stop()
  const refused = await open('group=h', {}, own.base)
  expect(refused.answer.statusCode).toBe(503)
  expect(JSON.parse(await textOf(refused.answer))).toMatchObject({ type: 'redis-away' })
  await away.restart()
  await expect
    .poll(() =>
      own.outcomes(['back']).then(
        () => 'stored',
        () => 'away',
      ),
    )
    .toBe('stored')
  await stream.hears('"id":"back"')
})
