/** Signing in: sessions that end, roles, wrong passwords slowed; over HTTP as a browser without JavaScript does it. */
import { newSession, readSession } from '@decorum/console/inside'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { type FleetForTest, fleetForTest } from './fleet-for-test.ts'

const redis = await redisForTest()
const PASSWORD = 'correct horse'
const LOOKS = 'only looking'
let fleet: FleetForTest
beforeAll(async () => {
  fleet = await fleetForTest(redis.url, { CONSOLE_PASSWORD: PASSWORD, CONSOLE_READ_PASSWORD: LOOKS })
})
afterAll(() => fleet.close())

function signIn(user: string, password: string, next = '/origins'): Promise<Response> {
  return fetch(`${fleet.base}/login`, {
    method: 'POST',
    body: new URLSearchParams({ user, password, next }),
    headers: { origin: fleet.base },
    redirect: 'manual',
  })
}
const cookieOf = (answer: Response): string => answer.headers.get('set-cookie')?.split(';')[0] ?? ''
const pause = (cookie: string): Promise<Response> =>
  fetch(`${fleet.base}/v1/origins/${encodeURIComponent('http://a.example')}`, {
    method: 'PATCH',
    body: JSON.stringify({ action: 'pause', reason: 'roles' }),
    headers: { cookie, 'content-type': 'application/json' },
  })

describe('signing in', () => {
  test('a page without a session is the page to sign in, and leads back to where it was asked from', async () => {
    const page = await fetch(`${fleet.base}/origins?state=late`, { headers: { accept: 'text/html' } })
    expect([page.status, page.headers.get('www-authenticate')]).toEqual([401, null])
    expect(await page.text()).toContain('name="next" value="/origins?state=late"')
    const done = await signIn('decorum', PASSWORD, '/origins?state=late')
    expect([done.status, done.headers.get('location')]).toEqual([303, '/origins?state=late'])
    expect(done.headers.get('set-cookie')).toMatch(/; HttpOnly; SameSite=Strict; Max-Age=43200$/)
    const cookie = cookieOf(done)
    expect((await fetch(fleet.base, { headers: { cookie } })).status).toBe(200)
  })

  test.for(['https://evil.example/', '//evil.example/', '/\\evil.example', 'javascript:alert(1)', ''])(
    'it leads nowhere else: %s',
    async (next) => {
      expect((await signIn('decorum', PASSWORD, next)).headers.get('location')).toBe('/')
    },
  )

  test('a session ends at its instant, with another password of its user, and when its text is changed', () => {
    const account = { user: 'ann', password: PASSWORD, role: 'operate' as const }
    const login = { accounts: [account], sessionMs: 1_000 }
    const token = newSession(account, login, 5_000)
    expect(readSession(token, login, 5_999)).toEqual({ user: 'ann', role: 'operate' })
    expect(readSession(token, login, 6_000)).toBeUndefined()
    expect(readSession(token, { ...login, accounts: [{ ...account, password: 'another one' }] }, 5_500)).toBeUndefined()
    const [, signature] = token.split('.')
    const longer = Buffer.from(JSON.stringify({ user: 'ann', ends: 9e15 })).toString('base64url')
    for (const forged of [`${longer}.${signature}`, `${longer}.`, '', '.', 'a.b.c'])
      expect(readSession(forged, login, 5_500)).toBeUndefined()
  })

  test('signing out ends the cookie', async () => {
    const out = await fetch(`${fleet.base}/logout`, {
      method: 'POST',
      headers: { origin: fleet.base },
      redirect: 'manual',
    })
    expect([out.status, out.headers.get('location')]).toEqual([303, '/login'])
    expect(out.headers.get('set-cookie')).toMatch(/^decorum_session=; .*Max-Age=0/)
  })

  test('a page of another site signs nobody in', async () => {
    const answer = await fetch(`${fleet.base}/login`, {
      method: 'POST',
      body: new URLSearchParams({ user: 'decorum', password: PASSWORD }),
      headers: { origin: 'https://evil.example' },
      redirect: 'manual',
    })
    expect([answer.status, answer.headers.get('set-cookie')]).toEqual([403, null])
  })
})

describe('roles', () => {
  test('who may look sees every page, and is told that acts are not theirs', async () => {
    const cookie = cookieOf(await signIn('reader', LOOKS))
    for (const path of ['/', '/origins', '/failures', '/fleet', '/v1/partitions', '/metrics', '/queues'])
      expect([path, (await fetch(fleet.base + path, { headers: { cookie } })).status]).toEqual([path, 200])
    const page = await fetch(`${fleet.base}/origins/${encodeURIComponent('http://a.example')}`, { headers: { cookie } })
    expect(await page.text()).toContain('may only read')
    const refused = await pause(cookie)
    expect([refused.status, await refused.json()]).toMatchObject([403, { type: 'may-only-read' }])
    expect((await fetch(`${fleet.base}/v1/outcomes?group=g&waitMs=0`, { headers: { cookie } })).status).toBe(403)
  })

  test('the same by name and password in each request, as programs ask', async () => {
    const authorization = `Basic ${Buffer.from(`reader:${LOOKS}`).toString('base64')}`
    expect((await fetch(`${fleet.base}/v1/partitions`, { headers: { authorization } })).status).toBe(200)
    const post = { method: 'POST', body: 'http://a.example/', headers: { authorization, 'content-type': 'text/plain' } }
    expect((await fetch(`${fleet.base}/v1/candidates`, post)).status).toBe(403)
  })

  test('who may operate acts, and is named in what is written down', async () => {
    const cookie = cookieOf(await signIn('decorum', PASSWORD))
    expect((await pause(cookie)).status).toBe(200)
    const told = await fetch(`${fleet.base}/v1/operations`, { headers: { cookie } })
    expect(await told.json()).toMatchObject({ operations: [{ action: 'pause', by: 'decorum' }] })
  })
})

test('after ten wrong passwords of an address the page says so; the right one signs in', async () => {
  // By the clock of guesses, which forgets one every ten seconds, all of them come at one instant
  const now = vi.spyOn(performance, 'now').mockReturnValue(Math.ceil(performance.now()))
  onTestFinished(() => now.mockRestore())
  const statuses: number[] = []
  for (let n = 0; n < 12; n += 1) statuses.push((await signIn('decorum', `wrong ${n}`)).status)
  expect(statuses).toEqual([...Array(10).fill(401), 429, 429])
  const right = await signIn('decorum', PASSWORD)
  expect([right.status, right.headers.get('set-cookie')]).toEqual([303, expect.stringContaining('decorum_session=')])
})
