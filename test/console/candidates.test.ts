/** GET and DELETE /v1/candidates/{id}: where one candidate is, from the job to the outcome; and cancelling it. */
import { openFrontier } from '@decorum/client'
import { CandidateAnswer } from '@decorum/console/inside'
import { MAX_PATH_BYTES } from '@decorum/protocol'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { type FleetForTest, fleetForTest } from './fleet-for-test.ts'

const redis = await redisForTest()
const raw = new Redis(redis.url)
let fleet: FleetForTest

beforeAll(async () => {
  fleet = await fleetForTest(redis.url, {}, 2)
})
afterAll(async () => {
  raw.disconnect()
  await fleet.close()
})

const pathOf = (id: string, url?: string): string =>
  `/v1/candidates/${encodeURIComponent(id)}${url === undefined ? '' : `?url=${encodeURIComponent(url)}`}`
const idOf = (origin: string, name: string): string => `bot-web ${origin} ${name}`
async function where(origin: string, name: string, withUrl = true) {
  const { status, body } = await fleet.get(pathOf(idOf(origin, name), withUrl ? `${origin}/${name}` : undefined))
  return status === 200 ? CandidateAnswer.parse(body) : body
}
async function cancel(origin: string, name: string, withUrl = true): Promise<{ status: number; body: unknown }> {
  const path = pathOf(idOf(origin, name), withUrl ? `${origin}/${name}` : undefined)
  const answer = await fetch(fleet.base + path, { method: 'DELETE' })
  return { status: answer.status, body: await answer.json() }
}

test('a URL of the longest length may be asked about, each octet of it encoded once more', async () => {
  const url = `http://long.example/${'|'.repeat(MAX_PATH_BYTES - 1)}`
  for (const path of [pathOf('nobody', url), `/urls?what=${encodeURIComponent(url)}`])
    expect((await fetch(fleet.base + path)).status, path.slice(0, 40)).toBe(path.startsWith('/urls') ? 200 : 404)
})

test('a candidate is not taken in, pending behind others, next, reserved, in flight, and ended', async () => {
  const origin = 'http://life.example'
  const frontier = await openFrontier({ redis: redis.url })
  await frontier.enqueue([{ url: `${origin}/job`, id: 'in-a-job' }])
  await frontier.close()
  expect((await fleet.get(pathOf('in-a-job'))).body).toMatchObject({ state: 'not-taken-in', id: 'in-a-job' })
  await fleet.store(origin, ['a', 'b', 'c'])
  expect(await where(origin, 'c')).toMatchObject({
    state: 'pending',
    before: 2,
    agent: 'bot-web',
    why: { state: 'due' },
    sentence: 'in its lane behind 2 URLs; the lane: goes out with the next free slot',
  })
  expect(await where(origin, 'a')).toMatchObject({
    state: 'pending',
    before: 0,
    sentence: expect.stringMatching(/^next in/),
  })
  const lane = await fleet.reserve(origin)
  expect(await where(origin, 'a')).toMatchObject({ state: 'reserved' })
  expect(await where(origin, 'b')).toMatchObject({ state: 'pending', before: 1, why: { state: 'in flight' } })
  const { agent, fence, robots } = lane
  const at = { agent, origin, fence, delayMs: 60_000 }
  await fleet.ledger.start({ ...at, kind: 'page', version: robots.version })
  expect(await where(origin, 'a')).toMatchObject({
    state: 'in-flight',
    sentence: expect.stringContaining('at a fetcher'),
  })
  const outcome = {
    ...{ id: idOf(origin, 'a'), url: `${origin}/a`, agent: 'Bot-Web', at: Date.now(), attempts: 1 },
    ...({ kind: 'failed', reason: 'timeout', detail: '' } as const),
  }
  await fleet.ledger.complete({ ...at, load: { kind: 'normal' }, elapsedMs: 0, outcome })
  expect(await where(origin, 'a')).toMatchObject({
    state: 'ended',
    outcome,
    sentence: expect.stringMatching(/^it has ended: failed \(timeout\), \d+ [A-Z][a-z]{2} \d\d:\d\d UTC$/),
  })
  expect(await where(origin, 'b')).toMatchObject({ state: 'pending', before: 0, why: { state: 'delay' } })
})

test('a gate that holds the lane is named, and until when', async () => {
  const origin = 'http://gated.example'
  await fleet.store(origin, ['a'])
  await fleet.patch(origin, { action: 'pause', forMs: 3_600_000, reason: 'asked by mail' })
  expect(await where(origin, 'a')).toMatchObject({
    why: { state: 'paused', sentence: 'paused by the operator: asked by mail', until: expect.any(Number) },
    sentence: expect.stringMatching(
      / asked by mail; it goes on in (59 min \d+ s|1 h) at the earliest, .*\d\d:\d\d.* UTC$/,
    ),
  })
})

test('a back-off is named with its cause, as the site gave it', async () => {
  const origin = 'http://busy.example'
  await fleet.store(origin, ['a'])
  const { agent, fence, robots } = await fleet.reserve(origin)
  const at = { agent, origin, fence, delayMs: 1_000 }
  await fleet.ledger.start({ ...at, kind: 'page', version: robots.version })
  await fleet.ledger.complete({ ...at, load: { kind: 'asked-for-less', retryAfterMs: 120_000 }, elapsedMs: 0 })
  await expect
    .poll(() => where(origin, 'a'))
    .toMatchObject({
      sentence: expect.stringMatching(
        /backing off: the site asked for less \(429 or 503\); it goes on in .* at the earliest/,
      ),
    })
})

test('by its id alone: what is next in its lane is found; of others it is said that they are stored', async () => {
  const origin = 'http://alone.example'
  await fleet.store(origin, ['a', 'b'])
  expect(await where(origin, 'a', false)).toMatchObject({ state: 'pending', before: 0 })
  expect(await where(origin, 'b', false)).toEqual({
    state: 'stored',
    id: idOf(origin, 'b'),
    sentence: 'it is stored, in which lane is not known: give its URL',
  })
  expect(await where(origin, 'never')).toMatchObject({
    type: 'no-such-candidate',
    detail: expect.stringContaining('Not searched: outcomes before the latest'),
  })
})

test('what cannot be read is refused in a sentence', async () => {
  expect(await fleet.get('/v1/candidates/a?url=ftp%3A%2F%2Fa.example')).toMatchObject({ status: 400 })
  expect(await fleet.get('/v1/candidates/a?agent=nobody')).toMatchObject({
    status: 400,
    body: { type: 'unknown-agent' },
  })
  expect(await fleet.get(`/v1/candidates/${'x'.repeat(129)}`)).toMatchObject({ status: 400 })
})

test('cancelled: one outcome for its readers; twice is said, and so is what cannot be cancelled', async () => {
  const origin = 'http://cancel.example'
  await fleet.store(origin, ['a', 'b', 'c'])
  const done = await cancel(origin, 'b')
  expect(done).toMatchObject({
    status: 200,
    body: { outcome: { id: idOf(origin, 'b'), kind: 'refused', reason: 'cancelled', attempts: 0 } },
  })
  expect(await cancel(origin, 'b')).toMatchObject({ status: 409, body: { type: 'ended' } })
  expect(await cancel(origin, 'c', false)).toMatchObject({ status: 409, body: { type: 'stored' } })
  expect(await cancel(origin, 'never')).toMatchObject({ status: 404, body: { type: 'no-such-candidate' } })
  const lane = await fleet.reserve(origin)
  expect(await cancel(origin, 'a', false)).toMatchObject({ status: 200 })
  const { agent, fence, robots } = lane
  const at = { agent, origin, fence, kind: 'page', version: robots.version, delayMs: 1_000 } as const
  expect(await fleet.ledger.start(at)).toMatchObject({ kind: 'refused', why: 'stale' })
  const next = await fleet.reserve(origin)
  await fleet.ledger.start({ ...at, fence: next.fence })
  expect(await cancel(origin, 'c')).toMatchObject({ status: 409, body: { type: 'in-flight' } })
  const ended: string[] = []
  for (const tag of fleet.ledger.tags)
    for (const [, fields] of await raw.xrange(`${tag}:outcomes`, '-', '+'))
      ended.push((JSON.parse(fields[1] ?? '') as { id: string }).id)
  expect(ended.filter((id) => id.includes('cancel.example'))).toEqual([idOf(origin, 'b'), idOf(origin, 'a')])
})
