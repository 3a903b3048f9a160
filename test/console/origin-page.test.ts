/** The page of one origin: what it tells, and the operator's hand as plain forms. */
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { type BrowserForTest, browserForTest, chromiumPath } from './browser-for-test.ts'
import { type FleetForTest, fleetForTest } from './fleet-for-test.ts'

const redis = await redisForTest()
let fleet: FleetForTest
const origin = 'http://site.example'
const at = (of = origin): string => `/origins/${encodeURIComponent(of)}`
const HOSTILE = '<img src=x onerror=alert(1)>'

beforeAll(async () => {
  fleet = await fleetForTest(redis.url)
  await fleet.store(origin, ['a', HOSTILE])
  await fleet.record(origin, `User-agent: bot\nDisallow: /private${HOSTILE}\nDisallow: /secret\nCrawl-delay: 60\n`)
})
afterAll(() => fleet.close())

function post(fields: Record<string, string>, headers: Record<string, string> = {}, of = origin): Promise<Response> {
  return fetch(fleet.base + at(of), {
    method: 'POST',
    body: new URLSearchParams(fields),
    headers: { origin: fleet.base, ...headers },
    redirect: 'manual',
  })
}

describe('over HTTP', () => {
  test('a post of this console’s own form is done and leads back to the page', async () => {
    const answer = await post({ action: 'pause', for: '3600000', delay: '30', reason: 'they wrote', by: '' })
    expect([answer.status, answer.headers.get('location')]).toEqual([303, `${at()}?done=pause`])
    expect((await fleet.ledger.viewOrigin(origin, [])).paused?.reason).toBe('they wrote')
    expect((await post({ action: 'resume' })).status).toBe(303)
    expect((await fleet.ledger.viewOrigin(origin, [])).paused).toBeUndefined()
  })

  test('a post from a page of another site is refused, whatever the browser says of it', async () => {
    for (const headers of [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
    ]) {
      const answer = await post({ action: 'block', for: '', reason: 'evil' }, headers)
      expect(answer.status, JSON.stringify(headers)).toBe(403)
    }
    expect((await fleet.ledger.viewOrigin(origin, [])).blocked).toBeUndefined()
  })

  test('what cannot be done is said on the page, with the fields as they were', async () => {
    const answer = await post({ action: 'delay', for: '', delay: '42', reason: 'small', by: 'ann' })
    expect(answer.status).toBe(400)
    const text = await answer.text()
    expect(text).toContain('Not done: a delay by hand needs its end')
    expect(text).toContain('value="42"')
    expect(text).toContain('value="ann"')
    expect((await fleet.ledger.viewOrigin(origin, [])).override).toBeUndefined()
  })

  test('the policy of its site is set and removed in the configuration of the fleet; what is wrong is said', async () => {
    const change = (fields: Record<string, string>) =>
      fetch(`${fleet.base}${at()}/policy`, {
        method: 'POST',
        body: new URLSearchParams({ site: 'site.example', reason: 'they wrote', by: 'ann', ...fields }),
        headers: { origin: fleet.base },
        redirect: 'manual',
      })
    const policies = async () => {
      const { body } = await fleet.get('/v1/configuration')
      const { values, by, reason } = (
        body as { current: { values: Record<string, unknown>; by: string; reason: string } }
      ).current
      return { policies: values.SITE_POLICIES, by, reason }
    }
    expect((await change({ action: 'set', delay: '7.5', hours: '22:00-06:00' })).status).toBe(303)
    expect(await policies()).toEqual({
      policies: { 'site.example': { delayMs: 7_500, hours: '22:00-06:00' } },
      by: 'ann',
      reason: 'they wrote',
    })
    await expect.poll(async () => (await fetch(fleet.base + at())).text()).toContain('value="22:00-06:00"')
    const wrong = await change({ action: 'set', hours: 'at night' })
    expect(wrong.status).toBe(400)
    expect(await wrong.text()).toMatch(/Not done: .*22:00-06:00/)
    expect((await change({ action: 'set' })).status, 'an empty policy').toBe(400)
    expect((await change({ action: 'remove', reason: '' })).status, 'without a reason').toBe(400)
    expect((await change({ action: 'remove' })).status).toBe(303)
    expect((await policies()).policies).toEqual({})
  })

  test('the stored rules are shown as text and nothing else', async () => {
    const answer = await fetch(`${fleet.base + at()}/robots.txt`)
    expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8')
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    expect(await answer.text()).toContain('Disallow: /secret')
    const none = await fetch(`${fleet.base + at('http://other.example')}/robots.txt`)
    expect([none.status, none.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8'])
    expect(await none.text()).toContain('No copy of its robots.txt is stored.')
  })

  test('at an address that there is not, a browser gets a page with the way back, and a program a problem', async () => {
    const asked = (accept: string) => fetch(`${fleet.base}/no-such-page?a=<b>`, { headers: { accept } })
    const page = await asked('text/html,application/xhtml+xml,*/*;q=0.8')
    expect([page.status, page.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8'])
    const text = await page.text()
    expect(text).toContain('There is no page /no-such-page?a=')
    expect(text).toContain('<a href="/origins">')
    expect(text).not.toContain('<b>')
    expect(await (await asked('application/json')).json()).toMatchObject({ status: 404, type: 'not-found' })
  })

  test('stored rules that are packed are shown unpacked', async () => {
    await fleet.store('http://packed.example', ['a'])
    await fleet.record('http://packed.example', gzipSync('User-agent: *\nDisallow: /secret\n'))
    const answer = await fetch(`${fleet.base + at('http://packed.example')}/robots.txt`)
    expect(await answer.text()).toBe('User-agent: *\nDisallow: /secret\n')
  })

  test('no inline script or style is allowed on it, and it writes none', async () => {
    const answer = await fetch(fleet.base + at())
    expect(answer.headers.get('content-security-policy')).toMatch(/^default-src 'self';.*form-action 'self'/)
    expect(await answer.text()).not.toMatch(/<style|style=|<script>|onclick/)
  })
})

describe.skipIf(chromiumPath === undefined)('in chromium', () => {
  let chrome: BrowserForTest
  const open = async (path: string): Promise<Page> => {
    const page = await chrome.browser.newPage()
    await page.goto(path)
    return page
  }
  beforeAll(async () => {
    chrome = await browserForTest(Number(new URL(fleet.base).port))
  })
  afterAll(() => chrome.close())

  test('it follows the fleet while somebody types, and shows hostile text as text', async () => {
    const page = await open(at())
    await page.getByText('Act on this origin').click()
    const reason = page.locator('.hand input[name=reason]')
    await reason.fill('half a sentence')
    await fleet.patch(origin, { action: 'pause', reason: HOSTILE, forMs: 60_000 })
    await page.getByRole('heading', { name: 'Paused' }).waitFor()
    await page.getByRole('cell', { name: HOSTILE, exact: true }).waitFor()
    expect(await reason.inputValue()).toBe('half a sentence')
    expect(await page.locator('img').count()).toBe(0)
    await fleet.patch(origin, { action: 'resume' })
    expect(chrome.complaints).toEqual([])
  })

  test('only the fields that belong to the chosen action are shown', async () => {
    const page = await open(at())
    await page.getByText('Act on this origin').click()
    const seconds = page.getByLabel('Delay, seconds').first()
    expect(await seconds.isVisible()).toBe(false)
    await page.getByText('Slow down').click()
    expect(await seconds.isVisible()).toBe(true)
    await page.getByText('Drop the backlog').click()
    expect(await page.locator('select[name=for]').isVisible()).toBe(false)
  })

  test('a path is checked: the rule, its line, its group', async () => {
    const page = await open(at())
    await page.getByLabel('Path').fill('/secret/x')
    await page.getByRole('button', { name: 'Check' }).click()
    await page.getByText('disallowed by line 3, disallow: /secret (group of bot, line 1)').waitFor()
    expect(await page.getByLabel('Path').inputValue()).toBe('/secret/x')
    expect(chrome.complaints).toEqual([])
  })

  test('from the overview to the page', async () => {
    const page = await open('/')
    await page.getByRole('link', { name: origin }).first().click()
    await page.waitForURL(`**${at()}`)
    await page.getByRole('search').getByRole('textbox').fill('https://other.example')
    await page.getByRole('button', { name: 'Find' }).click()
    await page.getByText('https://other.example').waitFor()
    await page.getByRole('heading', { name: 'Nothing waits' }).waitFor()
    expect(chrome.complaints).toEqual([])
  })

  test('without JavaScript the forms do the same', async () => {
    const plain = await browserForTest(Number(new URL(fleet.base).port), { javaScriptEnabled: false })
    try {
      const page = await plain.browser.newPage()
      await page.goto(at())
      await page.getByText('Act on this origin').click()
      await page.getByText('Slow down').click()
      await page.getByLabel('Delay, seconds').first().fill('45.5')
      await page.locator('select[name=for]').selectOption('1 day')
      await page.locator('.hand input[name=reason]').fill('small host')
      await page.locator('.hand input[name=by]').fill('ann')
      await page.getByRole('button', { name: 'Do it' }).click()
      await page.getByText('Done: delay.').waitFor()
      const { override, now } = await fleet.ledger.viewOrigin(origin, [])
      expect(override).toMatchObject({ delayMs: 45_500, reason: 'small host' })
      expect((override?.until ?? 0) - now).toBeGreaterThan(86_000_000)
      await page.getByRole('button', { name: 'End the delay' }).click()
      await page.getByText('Done: restore-delay.').waitFor()
      expect((await fleet.ledger.viewOrigin(origin, [])).override).toBeUndefined()
      expect(plain.complaints).toEqual([])
    } finally {
      await plain.close()
    }
  })
})
