/** Origins page by page, by domain and by what holds them; candidates that no gateway takes in are counted everywhere. */
import { ListAnswer } from '@decorum/console/inside'
import { CANDIDATES, queueOptions } from '@decorum/protocol'
import { Queue } from 'bullmq'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { redisForTest, startRedis } from '../support/redis.ts'
import { type FleetForTest, fleetForTest } from './fleet-for-test.ts'

const redis = await redisForTest()
let fleet: FleetForTest
beforeAll(async () => {
  fleet = await fleetForTest(redis.url, {}, 2)
})
afterAll(() => fleet.close())

/** Every page of a list, to its end. */
async function pages(query: string): Promise<{ origins: string[]; pages: number }> {
  const origins: string[] = []
  let after = ''
  for (let n = 1; ; n += 1) {
    const { status, body } = await fleet.get(`/v1/origins?${query}${after}`)
    const read = ListAnswer.parse(body)
    expect(status).toBe(200)
    origins.push(...read.origins.map(({ origin }) => origin))
    if (read.next === undefined) {
      expect(read.complete).toBe(true)
      return { origins, pages: n }
    }
    expect(read.complete).toBe(false)
    after = `&after=${read.next}`
  }
}

describe('origins', () => {
  const below = Array.from({ length: 450 }, (_, n) => `http://n${n}.wanted.example`)
  const others = Array.from({ length: 800 }, (_, n) => `http://n${n}.notwanted.example`)
  beforeAll(() => fleet.storeCrowd(['http://wanted.example', ...below, ...others, 'http://wanted.example.other.test']))

  test('of a domain: its host and those below it, each once, and no name that only looks like it', async () => {
    const { origins, pages: turned } = await pages('domain=wanted.example&limit=60')
    expect(origins.toSorted()).toEqual(['http://wanted.example', ...below].toSorted())
    expect(turned).toBeGreaterThan(5)
    expect((await pages('domain=nowhere.test')).origins).toEqual([])
    expect((await pages(`domain=${encodeURIComponent('https://n7.wanted.example/page')}`)).origins).toEqual([
      'http://n7.wanted.example',
    ])
  })

  test('in the order of their due times over all partitions, turned page by page, are all of them', async () => {
    const { origins } = await pages('sort=soonest&limit=170')
    expect(new Set(origins).size).toBe(1_252)
    expect(origins.length).toBe(1_252)
  })

  test('by what holds them: paused, blocked, backing off; what an operator opens again is not listed', async () => {
    const [one = '', two = '', three = ''] = below
    await fleet.patch(one, { action: 'pause', reason: 'a' })
    await fleet.patch(two, { action: 'block', reason: 'b', forMs: 60_000 })
    await fleet.patch(three, { action: 'pause', reason: 'c' })
    await fleet.patch(three, { action: 'resume' })
    expect((await pages('reason=paused')).origins).toEqual([one])
    expect((await pages('reason=blocked')).origins).toEqual([two])
    expect((await pages('reason=paused&domain=notwanted.example')).origins).toEqual([])
    const busy = others[0] as string
    const { agent, fence } = await fleet.reserve(busy)
    await fleet.ledger.start({ agent, origin: busy, fence, kind: 'page', version: 0, delayMs: 0 })
    const load = { kind: 'asked-for-less', retryAfterMs: 60_000 } as const
    await fleet.ledger.complete({ agent, origin: busy, fence, delayMs: 0, elapsedMs: 0, load })
    expect((await pages('reason=back-off')).origins).toEqual([busy])
    expect((await pages('state=back-off')).origins).toEqual([busy])
  })

  test.for(['after=1', 'after=x.y', 'domain=a%20b', 'reason=nonsense'])('%s: 400', async (query) => {
    expect((await fleet.get(`/v1/origins?${query}`)).status).toBe(400)
  })
})

test('candidates that no gateway takes in: in the headline, on /readyz, in the metrics and on the board', async () => {
  const own = await startRedis()
  onTestFinished(() => own.stop())
  const alone = await fleetForTest(own.url)
  onTestFinished(() => alone.close())
  const queue = new Queue(CANDIDATES, { connection: { url: own.url }, ...queueOptions('{decorum:0}') })
  onTestFinished(() => queue.close())
  const text = async (path: string): Promise<string> => (await fetch(alone.base + path)).text()
  expect((await fetch(`${alone.base}/readyz`)).status).toBe(200)
  await queue.addBulk(Array.from({ length: 57 }, (_, n) => ({ name: 'c', data: { url: `http://a.example/${n}` } })))
  await expect.poll(() => text('/')).toContain('57 URLs in the queue of candidates')
  expect(await text('/metrics')).toContain('decorum_candidates_waiting{partition="0"} 57')
  expect(await text('/queues')).toContain('57 URLs in candidates')
  const ready = await fetch(`${alone.base}/readyz`)
  expect([ready.status, await ready.json()]).toEqual([
    503,
    expect.objectContaining({ candidates: { jobs: 57, urls: 57 }, message: expect.stringContaining('no gateway') }),
  ])
  await alone.ledger.announce({ id: 'g', role: 'gateway', slots: 0 }, 600_000)
  await expect.poll(async () => (await fetch(`${alone.base}/readyz`)).status).toBe(200)
})
