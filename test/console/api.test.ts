/** The HTTP contract on a real ledger: origins, the operator's hand, operations, checks. Answers fit their schemas. */

import {
  CheckAnswer,
  ListAnswer,
  OperationsAnswer,
  OriginAnswer,
  PartitionsAnswer,
  routes,
} from '@decorum/console/inside'
import { ProblemAnswer } from '@decorum/runtime/openapi'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { type FleetForTest, fleetForTest } from './fleet-for-test.ts'

const redis = await redisForTest()
let fleet: FleetForTest

beforeAll(async () => {
  fleet = await fleetForTest(redis.url, {}, 2)
})
afterAll(() => fleet.close())

const enc = encodeURIComponent
/** The answer, once it has been found to be what OpenAPI says of it. */
async function ask<T>(schema: { parse(given: unknown): T }, path: string): Promise<T> {
  const { status, body } = await fleet.get(path)
  expect(status, JSON.stringify(body)).toBe(200)
  return schema.parse(body)
}
const view = (origin: string) => ask(OriginAnswer, `/v1/origins/${enc(origin)}`)
async function act(origin: string, body: unknown): Promise<ReturnType<typeof OriginAnswer.parse>> {
  const answer = await fleet.patch(origin, body)
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return OriginAnswer.parse(answer.body)
}

describe('one origin', () => {
  const origin = 'http://known.example'
  beforeAll(async () => {
    await fleet.store(origin, ['a', 'b'])
    await fleet.record(origin, 'User-agent: bot\nDisallow: /private\nAllow: /private/press\nCrawl-delay: 60\n')
  })

  test('each configured agent has its lane, with the reason it waits and the delay that it owes', async () => {
    const { lanes, robots, version } = await view(origin)
    expect({ robots, version }).toEqual({ robots: 'rules', version: 1 })
    expect(lanes).toMatchObject([
      {
        agent: 'bot-web',
        waiting: 2,
        head: { path: '/a' },
        why: { state: 'delay' },
        delay: { delayMs: 10_000, from: 'cap', clampedFrom: 60 },
      },
      { agent: 'slow', waiting: 0, why: { state: 'idle' }, delay: { delayMs: 5_000, from: 'floor' } },
    ])
  })

  test('check names rule, line, group, losers, the delay and its source, and why the lane waits', async () => {
    const refused = await ask(CheckAnswer, `/v1/check?url=${enc(`${origin}/private/x`)}`)
    expect(refused).toMatchObject({
      agent: 'Bot-Web',
      profile: 'decorum',
      verdict: 'disallowed',
      rule: { type: 'disallow', pattern: '/private', line: 2 },
      group: { agents: ['bot'], line: 1 },
      token: 'bot',
      delay: { delayMs: 10_000, from: 'cap', capMs: 10_000, site: { seconds: 60, line: 4, honoured: true } },
      lane: { waiting: 2, why: { state: 'delay' } },
      rules: { stale: false, refresh: false },
    })
    const allowed = await ask(CheckAnswer, `/v1/check?url=${enc(`${origin}/private/press`)}&agent=BOT-WEB`)
    expect(allowed).toMatchObject({ verdict: 'allowed', rule: { line: 3 }, losers: [{ line: 2, why: 'shorter' }] })
    const other = await ask(CheckAnswer, `/v1/check?url=${enc(`${origin}/private/x`)}&agent=slow`)
    expect(other).toMatchObject({ verdict: 'allowed', why: 'no-group', delay: { delayMs: 5_000, from: 'floor' } })
  })

  test('of an origin never asked: ask first; of one that is unreachable: wait, until when', async () => {
    const unknown = await ask(CheckAnswer, `/v1/check?url=${enc('http://new.example/')}`)
    expect(unknown).toMatchObject({ verdict: 'ask-first', why: 'unknown', robots: 'not fetched yet' })
    await fleet.store('http://down.example', ['x'])
    await fleet.record('http://down.example', '', 500)
    const down = await ask(CheckAnswer, `/v1/check?url=${enc('http://down.example/')}`)
    expect(down).toMatchObject({ verdict: 'wait', why: 'unreachable', until: expect.any(Number) })
    expect(down.until).toBeGreaterThan(down.now)
    await fleet.store('http://open.example', ['x'])
    await fleet.record('http://open.example', '', 404)
    const open = await ask(CheckAnswer, `/v1/check?url=${enc('http://open.example/')}`)
    expect(open).toMatchObject({ verdict: 'allowed', why: 'unavailable', robots: 'none (404)' })
  })
})

describe('the operator’s hand', () => {
  test('pause shuts the lanes until its end or until resume; both are written down with who and why', async () => {
    const origin = 'http://pause.example'
    await fleet.store(origin, ['a'])
    const before = await view(origin)
    const paused = await act(origin, { action: 'pause', forMs: 60_000, reason: 'they wrote', by: 'ann' })
    expect(paused.paused).toEqual({ until: expect.any(Number), reason: 'they wrote' })
    const askedAt = (paused.paused?.until ?? 0) - 60_000
    expect(askedAt).toBeGreaterThanOrEqual(before.now)
    expect(askedAt).toBeLessThanOrEqual(paused.now)
    expect(paused.lanes[0]?.why).toMatchObject({ state: 'paused', until: paused.paused?.until })
    const resumed = await act(origin, { action: 'resume' })
    expect(resumed.paused).toBeUndefined()
    expect(resumed.lanes[0]?.why.state).toBe('due')
    const { operations } = await ask(OperationsAnswer, `/v1/operations?origin=${enc(origin)}`)
    expect(operations).toMatchObject([
      { action: 'resume', by: 'console', reason: '' },
      { action: 'pause', by: 'ann', reason: 'they wrote', until: paused.paused?.until },
    ])
    expect(operations[0]).not.toHaveProperty('until')
  })

  test('a pause without an end lasts until somebody ends it', async () => {
    const origin = 'http://for-good.example'
    await fleet.store(origin, ['a'])
    const { lanes } = await act(origin, { action: 'pause', reason: 'legal' })
    expect(lanes[0]?.why).toEqual({ state: 'paused', sentence: 'paused by the operator: legal' })
    const { operations } = await ask(OperationsAnswer, `/v1/operations?origin=${enc(origin)}`)
    expect(operations[0]).not.toHaveProperty('until')
  })

  test('a delay by hand counts beyond the cap, is named as such, and is ended by restore-delay', async () => {
    const origin = 'http://delay.example'
    const slow = await act(origin, { action: 'delay', delayMs: 30_000, forMs: 3_600_000, reason: 'small host' })
    expect(slow.override).toMatchObject({ delayMs: 30_000, reason: 'small host' })
    expect(slow.lanes.map(({ delay }) => delay)).toEqual([
      { delayMs: 30_000, from: 'operator' },
      { delayMs: 30_000, from: 'operator' },
    ])
    const usual = await act(origin, { action: 'restore-delay', by: 'ben' })
    expect(usual.override).toBeUndefined()
    expect(usual.lanes[0]?.delay).toEqual({ delayMs: 1_000, from: 'floor' })
    const { operations } = await ask(OperationsAnswer, `/v1/operations?origin=${enc(origin)}`)
    expect(operations).toMatchObject([
      { action: 'restore-delay', by: 'ben' },
      { action: 'delay', delayMs: 30_000 },
    ])
  })

  test('block, unblock, refetch reach the gateways through the ledger', async () => {
    const origin = 'http://block.example'
    await fleet.store(origin, ['a'])
    const blocked = await act(origin, { action: 'block', reason: 'court order' })
    expect(blocked.lanes[0]?.why.state).toBe('blocked')
    const taken = await fleet.reserve(origin)
    expect(taken.blocked).toBe('court order')
    await fleet.ledger.resolve(fleet.ledger.partitionOf(origin), [{ ...taken, dropped: [], next: { kind: 'release' } }])
    expect((await act(origin, { action: 'unblock' })).blocked).toBeUndefined()
    await act(origin, { action: 'refetch' })
    expect(await fleet.reserve(origin)).toMatchObject({ refetch: true })
  })

  test('drop ends the backlog of all agents, or of one, URL by URL', async () => {
    const origin = 'http://drop.example'
    const mine = Array.from({ length: 250 }, (_, n) => `m${n}`)
    await fleet.store(origin, mine)
    await fleet.store(origin, ['s1', 's2'], 'slow')
    const one = await act(origin, { action: 'drop', agent: 'SLOW', reason: 'not wanted' })
    expect([one.dropped, ...one.lanes.map(({ waiting }) => waiting)]).toEqual([2, 250, 0])
    const all = await act(origin, { action: 'drop', reason: 'not wanted' })
    expect([all.dropped, ...all.lanes.map(({ waiting }) => waiting)]).toEqual([250, 0, 0])
    const { operations } = await ask(OperationsAnswer, `/v1/operations?origin=${enc(origin)}`)
    const counts = operations.map(({ dropped }) => dropped ?? -1)
    expect(counts.toSorted((a, b) => a - b)).toEqual([0, 2, 250])
  })

  test.for([
    ['no action', {}, 'action'],
    ['an unknown action', { action: 'nuke', reason: 'x' }, 'action'],
    ['no reason where it restricts', { action: 'pause' }, 'reason'],
    ['a blank reason', { action: 'block', reason: '  ' }, 'a reason is needed'],
    ['a delay without an end', { action: 'delay', delayMs: 5, reason: 'x' }, 'needs its end'],
    ['a delay of nothing', { action: 'delay', delayMs: 0, forMs: 5, reason: 'x' }, 'delayMs'],
    ['two ends', { action: 'pause', forMs: 5, until: 4e12, reason: 'x' }, 'not both'],
    ['an end that has passed', { action: 'pause', until: 5, reason: 'x' }, 'has passed'],
    ['an end beyond all ends', { action: 'pause', until: 5e12, reason: 'x' }, 'until'],
    ['what does not belong', { action: 'resume', delayMs: 5 }, 'delayMs'],
    ['an agent that nobody is', { action: 'drop', agent: 'who', reason: 'x' }, 'Bot-Web, slow'],
  ] as const)('%s: 400, and nothing is done or written down', async ([, body, sentence]) => {
    const origin = 'http://refused.example'
    const answer = await fleet.patch(origin, body)
    expect([answer.status, answer.body]).toEqual([400, ProblemAnswer.parse(answer.body)])
    expect(JSON.stringify(answer.body)).toContain(sentence)
    expect(await ask(OperationsAnswer, `/v1/operations?origin=${enc(origin)}`)).toEqual({ operations: [] })
  })
})

describe('lists', () => {
  test('operations of all partitions, newest first, as many as wanted', async () => {
    const sites = Array.from({ length: 6 }, (_, n) => `http://op-${n}.example`)
    for (const origin of sites) await act(origin, { action: 'refetch', reason: 'list' })
    const partitions = new Set(sites.map((origin) => fleet.ledger.partitionOf(origin)))
    expect(partitions.size, 'they lie in both partitions').toBe(2)
    const { operations } = await ask(OperationsAnswer, '/v1/operations?limit=5')
    expect(operations.map(({ origin }) => origin)).toEqual(sites.slice(1).reverse())
  })

  test('origins by state, by due time both ways, and as many as wanted', async () => {
    const sites = Array.from({ length: 5 }, (_, n) => `http://list-${n}.example`)
    for (const origin of sites) await fleet.store(origin, ['a'])
    await fleet.store(sites[0] as string, ['b'], 'slow')
    await act(sites[1] as string, { action: 'pause', reason: 'listed' })
    const paused = await ask(ListAnswer, '/v1/origins?state=paused')
    expect(paused.complete).toBe(true)
    const mine = paused.origins.filter(({ paused: by }) => by?.reason === 'listed')
    expect(mine.map(({ origin }) => origin)).toEqual([sites[1]])
    const soonest = await ask(ListAnswer, '/v1/origins?limit=200')
    const listed = soonest.origins.filter(({ origin }) => sites.includes(origin))
    expect(listed.map(({ origin, lanes }) => [origin, lanes.length])).toEqual(
      sites.map((origin, n) => [origin, n === 0 ? 2 : 1]),
    )
    const due = soonest.origins.map(({ lanes }) => lanes[0]?.due ?? 0)
    expect(due).toEqual(due.toSorted((a, b) => a - b))
    const latest = await ask(ListAnswer, '/v1/origins?sort=latest&limit=200')
    const late = latest.origins.map(({ lanes }) => lanes[0]?.due ?? 0)
    expect(late).toEqual(late.toSorted((a, b) => b - a))
    const few = await ask(ListAnswer, '/v1/origins?limit=2')
    expect([few.origins.length, few.complete]).toEqual([2, false])
  })

  test('what is shut is found however many lanes are open', async () => {
    const shut = 'http://shut.example'
    await fleet.store(shut, ['a'])
    await act(shut, { action: 'pause', reason: 'found' })
    const partition = fleet.ledger.partitionOf(shut)
    // A gateway comes by: what is paused goes to the end of the list
    await fleet.ledger.reserve(partition, { limit: 200, aheadMs: 0, inFlightLimit: 1_000, peek: 1 })
    await fleet.storeCrowd(Array.from({ length: 3_000 }, (_, n) => `http://crowd-${n}.example`))
    const { origins, looked, complete } = await ask(ListAnswer, '/v1/origins?state=paused')
    expect(origins.map(({ origin }) => origin)).toContain(shut)
    expect([looked < 20, complete], 'by an index, without a look at the others').toEqual([true, true])
    // None of the crowd owes a delay, however long this takes: late they would be after two seconds.
    const delayed = await ask(ListAnswer, '/v1/origins?state=delay&sort=latest')
    expect([delayed.looked, delayed.complete], 'bounded, and says so').toEqual([2_000, false])
  })

  test('partitions, as OpenAPI says', async () => {
    expect(await ask(PartitionsAnswer, '/v1/partitions')).toHaveLength(2)
  })

  test('lanes in flight are listed by themselves', async () => {
    const origin = 'http://flying.example'
    await fleet.store(origin, ['a'])
    const { agent, fence } = await fleet.reserve(origin)
    await fleet.ledger.start({ agent, origin, fence, kind: 'page', version: 0, delayMs: 1_000 })
    const { origins } = await ask(ListAnswer, '/v1/origins?state=in%20flight')
    expect(origins.map((one) => one.origin)).toContain(origin)
  })

  test.for([
    '/v1/origins?sort=best',
    '/v1/origins?limit=0',
    '/v1/origins?limit=9&limit=9',
    '/v1/origins?states=paused',
    '/v1/operations?origin=http://a.example/page',
    '/v1/check',
    '/v1/check?url=mailto:x@y.z',
    '/v1/check?url=http://a.example/&agent=who',
    '/v1/origins/http%3A%2F%2Fa.example%2Fpage',
    '/v1/outcomes',
    '/v1/outcomes?group=a%20b',
    '/v1/content',
    '/v1/content?ref=/etc/passwd',
  ])('%s: 400 with a sentence', async (path) => {
    const { status, body } = await fleet.get(path)
    expect([status, body]).toEqual([400, ProblemAnswer.parse(body)])
  })
})

describe('/openapi.json', () => {
  type Json = Record<string, unknown>
  const document = async () =>
    (await fleet.get('/openapi.json')).body as { openapi: string; paths: Json; components: { schemas: Json } }

  test('describes every operation that is served, and nothing else of /v1', async () => {
    const { openapi, paths } = await document()
    expect(openapi).toMatch(/^3\.1\./)
    const described = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods as Json).map((method) => `${method} ${path}`),
    )
    expect(described.sort()).toEqual(
      Object.values(routes)
        .map(({ method, url }) => `${method.toLowerCase()} ${url.replace(/:(\w+)/g, '{$1}')}`)
        .sort(),
    )
    for (const { method, url } of Object.values(routes)) {
      const at = fleet.base + url.replace(':origin', 'x')
      const answer = await fetch(at, { method })
      const word = answer.status === 404 ? ((await answer.json()) as { type: string }).type : ''
      expect([method, url, word]).not.toEqual([method, url, 'not-found'])
    }
  })

  test('every $ref of it leads somewhere', async () => {
    const text = JSON.stringify(await document())
    const { components } = await document()
    const refs = [...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref]) => ref as string)
    expect(refs.length).toBeGreaterThan(20)
    for (const ref of new Set(refs)) {
      expect(ref).toMatch(/^#\/components\/schemas\/\w+$/)
      expect(components.schemas).toHaveProperty(ref.split('/').at(-1) as string)
    }
    expect(text).not.toContain('$defs')
  })

  test('answers may gain members, bodies may not', async () => {
    const { paths, components } = await document()
    const { post } = paths['/v1/candidates'] as { post: { requestBody: { content: Record<string, unknown> } } }
    expect(Object.keys(post.requestBody.content)).toEqual(['application/json', 'application/x-ndjson', 'text/plain'])
    expect(components.schemas.CandidateInput).toMatchObject({ additionalProperties: false, required: ['url'] })
    expect(components.schemas.Origin).not.toHaveProperty('additionalProperties')
  })

  test('the overview leads to its rendered page', async () => {
    expect(await (await fetch(fleet.base)).text()).toContain('href="/reference"')
    const page = await fetch(`${fleet.base}/reference`)
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  })
})
