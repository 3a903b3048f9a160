/**
 * Every page of ours in a real browser: it fits a telephone of 360 px, works in dark, and axe finds nothing against it; the keyboard
 * reaches what the mouse does. SCREENSHOTS=folder keeps a picture of each.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { type BrowserForTest, browserForTest, chromiumPath } from './browser-for-test.ts'
import { type FleetForTest, fleetForTest } from './fleet-for-test.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const SITE = 'http://a-site-with-a-rather-long-name.below.example'
const FAILED = 'http://failing.example'
const PASSWORD = 'correct horse'
const LOGIN = { authorization: `Basic ${Buffer.from(`decorum:${PASSWORD}`).toString('base64')}` }
const PAGES = [
  '/',
  '/origins',
  '/origins?reason=paused',
  '/origins?domain=example',
  '/origins?state=nonsense',
  `/origins/${encodeURIComponent(SITE)}`,
  `/origins/${encodeURIComponent(FAILED)}`,
  '/urls',
  '/urls?what=nowhere.example',
  '/crawls',
  '/crawls/default',
  '/crawls/news',
  '/crawls/nowhere',
  `/urls?what=${encodeURIComponent(`${SITE}/a`)}`,
  '/failures',
  '/hours',
  '/hours?minutes=15',
  '/readers',
  '/fleet',
  '/configuration',
  '/stops',
  '/login',
  '/site-owners',
] as const

type Violation = { id: string; nodes: { html: string }[] }

describe.skipIf(chromiumPath === undefined)('in chromium', async () => {
  const redis = await redisForTest()
  let fleet: FleetForTest
  let chrome: BrowserForTest

  beforeAll(async () => {
    fleet = await fleetForTest(redis.url, { CONSOLE_PASSWORD: PASSWORD, CONSOLE_READ_PASSWORD: 'just looking' })
    const { ledger } = fleet
    await fleet.store(SITE, ['a', 'b', `long/${'x'.repeat(300)}`])
    await fleet.record(SITE, 'User-agent: *\nDisallow: /private\nCrawl-delay: 60\n')
    await fleet.store(FAILED, ['a'])
    await fleet.store('http://another.example', ['a'])
    const { agent, fence } = await fleet.reserve(FAILED)
    await ledger.start({ agent, origin: FAILED, fence, kind: 'page', version: 0, delayMs: 0 })
    const outcome = {
      ...{ id: 'f', url: `${FAILED}/a`, agent, at: Date.now(), attempts: 5 },
      ...{ kind: 'failed' as const, reason: 'rate-limited' as const, status: 429, detail: 'Too Many Requests' },
    }
    await ledger.complete({
      ...{ agent, origin: FAILED, fence, delayMs: 0, elapsedMs: 0, tookMs: 120, outcome },
      load: { kind: 'asked-for-less', retryAfterMs: 600_000 },
    })
    await ledger.operate({ origin: SITE, action: 'pause', by: 'ann', reason: 'they wrote to us' }, ['bot-web'])
    await fleet.outcomes(['one', 'two', 'three'])
    const about = { id: 'x', agent, at: Date.now(), attempts: 0 }
    await ledger.store(0, [
      { outcome: { ...about, url: 'what is no URL', kind: 'invalid', reason: 'not-a-url' } },
      { outcome: { ...about, url: `${SITE}/old`, kind: 'expired', reason: 'paused' } },
    ])
    await ledger.changeCrawl({
      name: 'news',
      change: { weight: 3, limits: { stored: 10 } },
      by: 'ann',
      reason: 'night',
    })
    await fetch(`${fleet.base}/v1/outcomes?group=g&waitMs=0`, { headers: LOGIN }) // makes a reader
    await ledger.announce({ id: 'g', role: 'gateway', slots: 0 }, 600_000)
    while ((await ledger.notesOf(FAILED)).length < 2) await sleep(50)
    chrome = await browserForTest(Number(new URL(fleet.base).port))
    const page = await chrome.browser.newPage()
    await page.goto('/origins')
    await page.getByLabel('User').fill('decorum')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Origins' }).waitFor()
    chrome.complaints.length = 0 // the 401 that brought the page to sign in
    await page.close()
  })
  afterAll(async () => {
    await chrome.close()
    await fleet.close()
  })

  async function open(path: string, width = 1_280, colorScheme: 'light' | 'dark' = 'light'): Promise<Page> {
    const page = await chrome.browser.newPage()
    await page.setViewportSize({ width, height: 800 })
    await page.emulateMedia({ colorScheme })
    await page.goto(path)
    return page
  }

  async function keepPicture(page: Page, name: string): Promise<void> {
    const folder = process.env.SCREENSHOTS
    if (folder === undefined) return
    await page.screenshot({
      path: join(folder, `${name.replaceAll(/[^a-z0-9]+/gi, '-').slice(0, 60)}.png`),
      fullPage: true,
    })
  }

  /** Rules that are broken, with the first elements that break them: of all rules, or of those named. */
  async function violations(page: Page, runOnly?: string[]): Promise<string[][]> {
    const found = await page.evaluate(async (rules) => {
      type Axe = { run(options: object): Promise<{ violations: Violation[] }> }
      const run = (globalThis as unknown as { axe: Axe }).axe.run(rules === undefined ? {} : { runOnly: rules })
      return (await run).violations.map(({ id, nodes }) => [id, ...nodes.slice(0, 3).map(({ html }) => html)])
    }, runOnly)
    return found
  }

  /** One for all pages that are looked at and left as they are: each of its own is a process of the browser. */
  let looking: Page | undefined

  test.for(PAGES)(
    '%s: nothing is wider than a telephone, and axe finds nothing, in light and in dark',
    async (path) => {
      looking ??= await chrome.browser.newPage()
      const page = looking
      await page.setViewportSize({ width: 390, height: 800 })
      await page.emulateMedia({ colorScheme: 'light' })
      await page.goto(path)
      if (path.startsWith('/hours')) await page.locator('.u-wrap').nth(7).waitFor()
      await page.evaluate(axe)
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
      expect(await violations(page, ['color-contrast', 'scrollable-region-focusable'])).toEqual([]) // what width and scheme change
      await keepPicture(page, `390 light ${path}`)
      await page.setViewportSize({ width: 360, height: 800 })
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360)
      await keepPicture(page, `360 light ${path}`)
      await page.setViewportSize({ width: 1_280, height: 800 })
      await page.emulateMedia({ colorScheme: 'dark' })
      expect(await violations(page)).toEqual([])
      await keepPicture(page, `1280 dark ${path}`)
    },
  )

  test('no word of a table is broken letter by letter on a telephone', async () => {
    const page = await open('/', 360, 'light')
    const narrow = await page.evaluate(
      "[...document.querySelectorAll('td')].filter((cell) => cell.checkVisibility() && cell.clientWidth < 100).length",
    )
    expect(narrow).toBe(0)
    await page.close()
  })

  test('by keyboard alone: past the navigation, and every link and field in turn, each seen', async () => {
    const page = await open('/origins')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter') // to the content
    const seen: string[] = []
    for (let n = 0; n < 6; n += 1) {
      await page.keyboard.press('Tab')
      const name = "document.activeElement.getAttribute('name') ?? document.activeElement.textContent"
      seen.push(await page.evaluate<string>(name))
      const outline = await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')
      expect(outline, seen.at(-1)).not.toBe('none')
    }
    expect(seen.slice(0, 5)).toEqual(['state', 'reason', 'sort', 'domain', 'Show'])
    await page.close()
  })

  test('what happened to an origin is told: the answer that failed, the back-off, the act, the rule', async () => {
    const page = await open(`/origins/${encodeURIComponent(FAILED)}`)
    await page
      .getByRole('cell', { name: /It asked for less \(429 or 503\), Retry-After 10 min; nothing is requested before/ })
      .waitFor()
    await page.getByRole('cell', { name: /rate-limited · answer 429 · took 0.1 s · Too Many Requests/ }).waitFor()
    const other = await open(`/origins/${encodeURIComponent(SITE)}`)
    await other.getByRole('cell', { name: 'pause by ann: they wrote to us.' }).waitFor()
    await other.getByRole('cell', { name: 'Its robots.txt: ok (200).' }).waitFor()
    await page.close()
    await other.close()
  })

  test('origins are found by reason and by domain, and pages are turned', async () => {
    const page = await open('/origins')
    await page.getByLabel('Held by').selectOption('paused')
    await page.getByRole('button', { name: 'Show' }).click()
    await page.getByRole('link', { name: SITE }).waitFor()
    await page.goto('/origins?domain=below.example')
    await page.getByRole('link', { name: SITE }).waitFor()
    await page.goto('/origins?limit=1&sort=soonest')
    const first = await page.locator('td.name').textContent()
    await page.getByRole('link', { name: 'Look on' }).click()
    await expect.poll(() => page.locator('td.name').textContent()).not.toBe(first)
    await page.close()
  })

  test('the answer that failed is a dot of the timeline, and beside the delay stands what it was', async () => {
    const page = await open(`/origins/${encodeURIComponent(FAILED)}`)
    const title = await page.locator('.requests g title').first().textContent()
    expect(title).toMatch(/\/a: 429; took 0.1 s; 0 s owed/)
    const other = await open(`/origins/${encodeURIComponent(SITE)}`)
    await other.getByText(/its latest answer: robots.txt 200/).waitFor()
    await other.getByRole('img', { name: /^bot-web: 1 request\./ }).waitFor()
    await page.close()
    await other.close()
  })

  test('every reason that has happened has its example, also where the URL is none', async () => {
    const page = await open('/failures')
    await page.getByRole('cell', { name: 'what is no URL' }).waitFor()
    expect(await page.getByText('No example').count()).toBe(0)
    await page.close()
  })

  test('the actions of an origin stand above its facts on a telephone', async () => {
    const page = await open(`/origins/${encodeURIComponent(SITE)}`, 390)
    const box = await page.getByText('Act on this origin').boundingBox()
    expect(box?.y).toBeLessThan(800)
    await page.close()
  })

  test('what is seldom needed stands behind one "More", which the keyboard opens', async () => {
    const page = await open('/')
    expect(await page.getByRole('link', { name: 'Queue board' }).isVisible()).toBe(false)
    await page.getByText('More', { exact: true }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'Queue board' }).waitFor()
    await page.close()
  })

  test('what is not there is said on a page, with the way back', async () => {
    const page = await open('/crawls/nowhere')
    await page.getByRole('heading', { name: 'Not found' }).waitFor()
    await page.getByText("There is no crawl 'nowhere'.").waitFor()
    await page.getByRole('link', { name: 'Crawls' }).waitFor()
    await page.close()
  })

  test('no name of a setting is broken within a word', async () => {
    const page = await open('/configuration', 360)
    const broken = await page.evaluate<string[]>(`[...document.querySelectorAll('td.name code')].filter((code) => {
      const parts = [...code.childNodes].filter((node) => node.nodeType === 3)
      return parts.some((part) => {
        const range = document.createRange()
        range.selectNodeContents(part)
        return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1
      })
    }).map((code) => code.textContent)`)
    expect(broken).toEqual([])
    await page.close()
  })

  test('failures by reason, with an example that leads to its origin', async () => {
    const page = await open('/failures')
    await page.getByRole('link', { name: 'rate-limited' }).waitFor()
    await page.getByText('The site answered 429 until MAX_ATTEMPTS were spent.').waitFor()
    await page.getByRole('link', { name: `${FAILED}/a` }).click()
    await page.waitForURL(`**/origins/${encodeURIComponent(FAILED)}`)
    await page.close()
  })

  test('the console is a role of the fleet, with its host and version', async () => {
    const page = await open('/fleet')
    await page.getByRole('cell', { name: 'console', exact: true }).waitFor()
    await page.getByRole('cell', { name: '0.2.0' }).first().waitFor()
    await page.close()
  })

  test('nothing was complained of, and nobody else was asked', () => {
    // a wrong question, a URL that is nowhere, and a crawl that is not there
    expect(chrome.complaints.filter((text) => !/ (400|404) \(/.test(text))).toEqual([])
  })
})
