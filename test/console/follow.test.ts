/** Pages that follow the fleet change only what has changed: focus, scroll, and what a person has opened or typed stay. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { type BrowserForTest, browserForTest, chromiumPath } from './browser-for-test.ts'
import { type FleetForTest, fleetForTest } from './fleet-for-test.ts'

const SITE = 'http://site.example'

describe.skipIf(chromiumPath === undefined)('in chromium', async () => {
  const redis = await redisForTest()
  let fleet: FleetForTest
  let chrome: BrowserForTest

  beforeAll(async () => {
    fleet = await fleetForTest(redis.url)
    for (let n = 0; n < 20; n += 1) await fleet.store(`http://${n}.example`, ['a'])
    await fleet.store(SITE, ['a'])
    await fleet.outcomes(['one'])
    await fleet.ledger.changeCrawl({ name: 'news', change: { weight: 3 }, by: 'ann', reason: 'night' })
    await fleet.get('/v1/outcomes?group=g&waitMs=0') // makes a reader
    await fleet.ledger.announce({ id: 'f1', role: 'fetcher', slots: 100 }, 600_000)
    chrome = await browserForTest(Number(new URL(fleet.base).port))
  })
  afterAll(async () => {
    await chrome.close()
    await fleet.close()
  })

  async function open(path: string): Promise<Page> {
    const page = await chrome.browser.newPage()
    await page.setViewportSize({ width: 1_000, height: 400 })
    await page.goto(path)
    return page
  }
  /** Resolves when the page has been brought up to date so many times from now on. */
  async function followed(page: Page, times = 2): Promise<void> {
    for (let n = 0; n < times; n += 1) {
      const answer = await page.waitForResponse((one) => one.request().resourceType() === 'fetch')
      await answer.finished()
    }
    await page.evaluate('new Promise((resolve) => setTimeout(resolve, 50))')
  }
  const focused = (page: Page): Promise<string> => page.evaluate<string>('document.activeElement.textContent')

  test.each([
    ['/', 'main a', 4],
    [`/origins/${encodeURIComponent(SITE)}`, '#content summary', 0],
    ['/crawls/news', 'main button', 0],
  ])('%s: focus and scroll stay', async (path, selector, nth) => {
    const page = await open(path)
    const element = page.locator(selector).nth(nth)
    await element.focus()
    await page.evaluate('window.scrollTo(0, 250)')
    const [name, top] = [await focused(page), await page.evaluate('window.scrollY')]
    expect(name).not.toBe('')
    expect(top).toBeGreaterThan(0)
    await followed(page)
    expect(await focused(page)).toBe(name)
    expect(await page.evaluate('window.scrollY')).toBe(top)
    await page.close()
  })

  test('the link that has the focus keeps it where its row has moved', async () => {
    const page = await open('/')
    const name = 'http://4.example'
    await page.getByRole('link', { name }).focus()
    const rowOf = "[...document.querySelectorAll('main tbody tr')].indexOf(document.activeElement.closest('tr'))"
    const before = await page.evaluate(rowOf)
    for (const n of [0, 1, 2]) await fleet.patch(`http://${n}.example`, { action: 'drop', reason: 'test' })
    await expect.poll(() => page.evaluate(rowOf), { timeout: 10_000 }).not.toBe(before)
    expect(await focused(page)).toBe(name)
    await page.close()
  })

  test('the rest of a long table is folded, and stays open once it was opened', async () => {
    const page = await open('/')
    const last = page.getByRole('link', { name: 'http://19.example' })
    expect(await last.isVisible()).toBe(false)
    await page.locator('.rest summary').focus()
    await page.keyboard.press('Enter')
    await last.waitFor()
    await followed(page)
    expect(await last.isVisible()).toBe(true)
    await page.close()
  })

  test('what was opened and typed on the page of an origin stays while its facts change', async () => {
    const page = await open(`/origins/${encodeURIComponent(SITE)}`)
    await page.getByText('Act on this origin').click()
    await page.locator('.hand input[name=reason]').fill('half a sentence')
    await fleet.patch(SITE, { action: 'pause', reason: 'test' })
    await page.getByRole('heading', { name: 'Paused' }).waitFor()
    expect(await page.locator('.hand input[name=reason]').isVisible()).toBe(true)
    expect(await page.locator('.hand input[name=reason]').inputValue()).toBe('half a sentence')
    await page.close()
  })

  test('the actions of a crawl stand above its facts on a telephone, and follow its state while what is typed stays', async () => {
    const page = await open('/crawls/news')
    await page.setViewportSize({ width: 390, height: 800 })
    for (const name of ['Pause', 'Set the weight', 'Cancel the crawl', 'Remove it from the list']) {
      const box = await page.getByRole('button', { name }).boundingBox()
      expect((box?.y ?? 800) + (box?.height ?? 0), name).toBeLessThan(800)
    }
    const limits = await page.locator('summary', { hasText: 'Limits' }).boundingBox()
    expect((limits?.y ?? 800) + (limits?.height ?? 0)).toBeLessThan(800)
    await page.getByLabel('Reason').fill('half a sentence')
    await page.getByLabel('Weight').fill('7')
    await page.getByLabel('Yes, cancel it').check()
    await page.getByRole('button', { name: 'Pause' }).focus()
    const change = { state: 'paused' as const }
    await fleet.ledger.changeCrawl({ name: 'news', change, by: 'ben', reason: 'noise' })
    await page.getByRole('heading', { name: 'Paused' }).waitFor()
    expect(await page.getByRole('button', { name: 'Pause' }).count()).toBe(0)
    expect(await focused(page)).toBe('Resume')
    expect(await page.getByLabel('Reason').inputValue()).toBe('half a sentence')
    expect(await page.getByLabel('Weight').inputValue()).toBe('7')
    expect(await page.getByLabel('Yes, cancel it').isChecked()).toBe(true)
    await page.getByRole('button', { name: 'Resume' }).click()
    await page.getByText('Done: resume.').waitFor()
    await followed(page)
    expect(await page.getByText('Done: resume.').isVisible()).toBe(true)
    await page.close()
  })

  test('a pause by somebody else brings the button that ends it', async () => {
    const page = await open(`/origins/${encodeURIComponent('http://3.example')}`)
    await page.getByText('Act on this origin').click()
    await page.locator('.hand input[name=reason]').fill('half a sentence')
    await fleet.patch('http://3.example', { action: 'pause', reason: 'they wrote' })
    await page.getByRole('button', { name: 'Resume' }).waitFor()
    expect(await page.locator('.hand input[name=reason]').inputValue()).toBe('half a sentence')
    await page.close()
  })

  test.each(['/failures', '/fleet', '/readers', '/crawls', '/crawls/default'])(
    '%s is brought up to date without an error',
    async (path) => {
      const page = await open(path)
      await followed(page)
      expect(await page.locator('.live').textContent()).toBe('live')
      await page.close()
    },
  )

  test('nothing was complained of', () => {
    expect(chrome.complaints).toEqual([])
  })
})
