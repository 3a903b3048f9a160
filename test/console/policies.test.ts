/** The policy of a site over HTTP: set, replaced, removed, by the same rules as on the page of an origin. */
import { OriginAnswer, PolicyAnswer } from '@decorum/console/inside'
import { ProblemAnswer } from '@decorum/runtime/openapi'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { type FleetForTest, fleetForTest } from './fleet-for-test.ts'

const redis = await redisForTest()
const PASSWORDS = { CONSOLE_PASSWORD: 'correct horse', CONSOLE_READ_PASSWORD: 'just looking' }
const OPERATOR = `Basic ${Buffer.from(`decorum:${PASSWORDS.CONSOLE_PASSWORD}`).toString('base64')}`
const READER = `Basic ${Buffer.from(`reader:${PASSWORDS.CONSOLE_READ_PASSWORD}`).toString('base64')}`
let fleet: FleetForTest
beforeAll(async () => {
  fleet = await fleetForTest(redis.url, PASSWORDS)
})
afterAll(() => fleet.close())

async function send(method: string, path: string, body?: unknown, authorization = OPERATOR) {
  const answer = await fetch(`${fleet.base}${path}`, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    headers: { authorization, 'content-type': 'application/json' },
  })
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
}
const at = (site: string): string => `/v1/policies/${encodeURIComponent(site)}`
async function inForce() {
  const { body } = await send('GET', '/v1/configuration')
  type Version = { version: number; values: Record<string, object>; by: string; reason: string }
  const { version, values, by, reason } = body.current as Version
  return { version, policies: values.SITE_POLICIES, by, reason }
}

test('a policy is set, replaced as a whole and removed; each is a version of the configuration, with who and why', async () => {
  const policy = { delayMs: 7_500, hours: '22:00-06:00' }
  const set = await send('PUT', at('*.site.example'), { policy, reason: 'they wrote', by: 'ann' })
  expect(set.status).toBe(200)
  const { version } = PolicyAnswer.parse(set.body)
  expect(set.body).toEqual({ site: '*.site.example', policy, version })
  expect(await inForce()).toEqual({
    version,
    policies: { '*.site.example': policy },
    by: 'ann',
    reason: 'they wrote',
  })
  const origin = `/v1/origins/${encodeURIComponent('http://www.site.example')}`
  await expect.poll(async () => (await send('GET', origin)).body.policy).toEqual({ site: '*.site.example', ...policy })
  OriginAnswer.parse((await send('GET', origin)).body)

  const other = await send('PUT', at('domain:other.example'), { policy: { requestsPerDay: 9 }, reason: 'small' })
  expect(other.body).toMatchObject({ version: version + 1 })
  await send('PUT', at('*.site.example'), { policy: { requestsPerDay: 100 }, reason: 'less' })
  expect(await inForce()).toMatchObject({
    policies: { '*.site.example': { requestsPerDay: 100 }, 'domain:other.example': { requestsPerDay: 9 } },
    by: 'decorum',
  })

  const removed = await send('DELETE', `${at('*.site.example')}?reason=over&by=ben`)
  expect(removed).toEqual({ status: 200, body: { site: '*.site.example', version: version + 3 } })
  expect(await inForce()).toMatchObject({ policies: { 'domain:other.example': {} }, by: 'ben', reason: 'over' })
  expect(await send('DELETE', `${at('*.site.example')}?reason=over`)).toMatchObject({
    status: 404,
    body: { type: 'no-such-policy', detail: "the site '*.site.example' has no policy" },
  })
})

test.each([
  ['no reason', at('a.example'), { policy: { requestsPerDay: 9 } }, 'reason'],
  ['an empty reason', at('a.example'), { policy: { requestsPerDay: 9 }, reason: ' ' }, 'a reason is needed'],
  ['no policy', at('a.example'), { reason: 'x' }, 'policy'],
  ['an empty policy', at('a.example'), { policy: {}, reason: 'x' }, 'delayMs, hours or requestsPerDay is needed'],
  ['a member that there is not', at('a.example'), { policy: { delay: 5 }, reason: 'x' }, 'delay'],
  ['hours that are none', at('a.example'), { policy: { hours: 'at night' }, reason: 'x' }, '22:00-06:00'],
  ['consent to nothing', at('a.example'), { policy: { consent: 'Ann' }, reason: 'x' }, 'delayMs is needed'],
  ['a delay below every agent’s', at('a.example'), { policy: { delayMs: 1 }, reason: 'x' }, 'less than the'],
  ['what is no site', at('a b'), { policy: { requestsPerDay: 9 }, reason: 'x' }, 'is no site'],
  ['a URL', at('http://a.example/'), { policy: { requestsPerDay: 9 }, reason: 'x' }, 'is no site'],
])('%s: 400, and nothing is changed', async (_, path, body, sentence) => {
  const before = await inForce()
  const answer = await send('PUT', path, body)
  expect([answer.status, answer.body]).toEqual([400, ProblemAnswer.parse(answer.body)])
  expect(answer.body.detail).toContain(sentence)
  expect(await inForce()).toEqual(before)
})

test('a login that may only read changes no policy, and is shown no form for one', async () => {
  const before = await inForce()
  const body = { policy: { requestsPerDay: 9 }, reason: 'x' }
  expect(await send('PUT', at('a.example'), body, READER)).toMatchObject({
    status: 403,
    body: { type: 'may-only-read' },
  })
  expect((await send('DELETE', `${at('domain:other.example')}?reason=x`, undefined, READER)).status).toBe(403)
  expect((await send('PUT', at('a.example'), body, '')).status).toBe(401)
  expect(await inForce()).toEqual(before)
  const page = `${fleet.base}/origins/${encodeURIComponent('http://a.example')}`
  const text = async (authorization: string) => (await fetch(page, { headers: { authorization } })).text()
  expect(await text(READER)).not.toContain('Set the policy')
  expect(await text(OPERATOR)).toContain('Set the policy')
})
