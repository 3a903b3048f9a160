/** Emergency stops over HTTP and on the page: a button with a confirmation. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { StopsAnswer } from '../../services/console/src/api/answers.ts'
import { redisForTest } from '../support/redis.ts'
import { type FleetForTest, fleetForTest } from './fleet-for-test.ts'

const redis = await redisForTest()
let fleet: FleetForTest
beforeAll(async () => {
  fleet = await fleetForTest(redis.url)
})
afterAll(() => fleet.close())

const post = async (body: object) => {
  const answer = await fetch(`${fleet.base}/v1/stops`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  })
  return { status: answer.status, body: await answer.json() }
}
const form = (fields: Record<string, string>): Promise<Response> =>
  fetch(`${fleet.base}/stops`, { method: 'POST', body: new URLSearchParams(fields), redirect: 'manual' })
const stopped = async (): Promise<string[]> =>
  StopsAnswer.parse((await fleet.get('/v1/stops')).body).stops.map(({ name }) => name)

test('the API stops and lifts by name, and the overview says when everything is stopped', async () => {
  const named = await post({
    action: 'stop',
    names: ['Example.com', 'http://192.0.2.1/'],
    reason: 'they asked',
    by: 'ann',
  })
  expect(named).toMatchObject({
    status: 200,
    body: { stops: [{ name: 'example.com', by: 'ann' }, { name: '192.0.2.1' }] },
  })
  expect(await stopped()).toEqual(['example.com', '192.0.2.1'])
  await post({ action: 'stop', everything: true, reason: 'a fault', forMs: 60_000 })
  await expect.poll(async () => (await fetch(fleet.base)).text()).toContain('An emergency stop is in force: a fault')
  const lifted = await post({ action: 'lift', everything: true })
  expect(StopsAnswer.parse(lifted.body).stops).toHaveLength(2)
  await post({ action: 'lift', names: ['example.com', '192.0.2.1'] })
  const ended = StopsAnswer.parse((await fleet.get('/v1/stops?ended=true')).body)
  expect(ended.stops.map(({ lifted: end }) => end?.by)).toEqual(['console', 'console', 'console'])
})

test.each([
  [{ action: 'stop', reason: 'x' }, 400, /everything or names/],
  [{ action: 'stop', everything: true }, 400, /reason/],
  [{ action: 'stop', everything: true, names: ['a.example'], reason: 'x' }, 400, /everything or names/],
  [{ action: 'stop', names: ['a.example', '192.0.2.0/24'], reason: 'x' }, 400, /range of addresses/],
  [{ action: 'stop', names: ['a.example'], until: 5, reason: 'x' }, 409, /passed already/],
  [{ action: 'stop', names: ['a.example'], until: 5, forMs: 5, reason: 'x' }, 400, /not both/],
  [{ action: 'lift', names: ['a.example'] }, 409, /nothing is stopped/],
])('%j is refused, and nothing is changed', async (body, status, why) => {
  const answer = await post(body)
  expect(answer.status).toBe(status)
  expect((answer.body as { detail: string }).detail).toMatch(why)
  expect(await stopped()).toEqual([])
})

test('the button needs a confirmation, on the server too; then it stops, and the page offers to lift it', async () => {
  const fields = { action: 'stop', what: 'everything', reason: 'a <fault>' }
  const unconfirmed = await form(fields)
  expect(unconfirmed.status).toBe(400)
  expect(await unconfirmed.text()).toContain('a stop has to be confirmed')
  expect(await stopped()).toEqual([])
  expect((await form({ ...fields, confirm: 'yes' })).status).toBe(303)
  expect(await stopped()).toEqual(['*'])
  const page = await (await fetch(`${fleet.base}/stops`)).text()
  expect(page).toContain('everything: stopped')
  expect(page).toContain('a &#60;fault&#62;')
  expect((await form({ action: 'lift', what: 'everything' })).status).toBe(303)
  expect(await stopped()).toEqual([])
})
