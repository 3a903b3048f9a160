/** The charts of the last hours as a person uses them: values under the pointer, a part enlarged, and the whole again. */
import { HistoryAnswer } from '@decorum/console/inside'
import { OUTCOME_KINDS } from '@decorum/protocol'
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { type BrowserForTest, browserForTest, chromiumPath } from './browser-for-test.ts'
import { type FleetForTest, fleetForTest } from './fleet-for-test.ts'

/** An hour that begins at 12:00 UTC: in its nth minute n URLs wait. */
const MINUTES = 60
const NOON = Date.UTC(2026, 10, 27, 12) / 1_000
function historyAt(firstMinute: number) {
  const minutes = Array.from({ length: MINUTES }, (_, n) => firstMinute + n)
  const none = minutes.map(() => 0)
  return HistoryAnswer.parse({
    ...{ due: none, lanes: none, inFlight: none, unread: none, jobs: none, lagMs: none },
    at: minutes.map((minute) => NOON + minute * 60),
    waiting: minutes,
    outcomes: Object.fromEntries(OUTCOME_KINDS.map((kind) => [kind, minutes.map((n) => n * 2)])),
    statuses: { 200: minutes },
    tookMs: { half: none, most: none },
  })
}

describe.skipIf(chromiumPath === undefined)('in chromium', async () => {
  const redis = await redisForTest()
  let fleet: FleetForTest
  let chrome: BrowserForTest
  beforeAll(async () => {
    fleet = await fleetForTest(redis.url)
    chrome = await browserForTest(Number(new URL(fleet.base).port))
  })
  afterAll(async () => {
    await chrome.close()
    await fleet.close()
  })

  /** The page over that hour; `drawnOn` lists the texts that the axes of a chart show. */
  async function open(): Promise<{ page: Page; later(): void }> {
    let first = 0
    const page = await chrome.browser.newPage()
    await page.setViewportSize({ width: 1_280, height: 900 })
    await page.addInitScript(`
      const draw = CanvasRenderingContext2D.prototype.fillText
      const clear = CanvasRenderingContext2D.prototype.clearRect
      CanvasRenderingContext2D.prototype.clearRect = function (...given) { this.canvas.texts = []; return clear.apply(this, given) }
      CanvasRenderingContext2D.prototype.fillText = function (text, ...given) { (this.canvas.texts ??= []).push(text); return draw.call(this, text, ...given) }`)
    await page.route('**/v1/history*', (route) => route.fulfill({ json: historyAt(first) }))
    await page.goto('/hours?minutes=60')
    await page.locator('.u-wrap').nth(7).waitFor()
    return { page, later: () => void (first += 1) }
  }
  const chartOf = (page: Page, name: string): Locator => page.locator(`[data-chart="${name}"]`)
  const axisOf = (page: Page, name: string): Promise<string[]> =>
    chartOf(page, name)
      .locator('canvas')
      .evaluate((canvas) => (canvas as unknown as { texts: string[] }).texts)
  const clocksOf = async (page: Page, name: string): Promise<string[]> =>
    (await axisOf(page, name)).filter((text) => /^\d\d:\d\d$/.test(text)).sort()

  /** The place in a chart that is this share of its width from the left. */
  async function placeAt(page: Page, name: string, share: number): Promise<[x: number, y: number]> {
    const box = await chartOf(page, name).locator('.u-over').boundingBox()
    if (box === null) throw new Error(`${name} is not shown`)
    return [box.x + box.width * share, box.y + box.height / 2]
  }
  /** The values beside the chart while the pointer is there. */
  async function valuesAt(page: Page, name: string, share: number): Promise<string[]> {
    await page.mouse.move(...(await placeAt(page, name, share)))
    return chartOf(page, name).locator('.u-legend .u-value').allTextContents()
  }
  async function enlarge(page: Page, name: string, from: number, to: number): Promise<void> {
    const [x, y] = await placeAt(page, name, from)
    const [end] = await placeAt(page, name, to)
    await page.mouse.move(x, y)
    await page.mouse.down()
    await page.mouse.move(end, y, { steps: 5 })
    await page.mouse.up()
  }

  test('the values under the pointer are those of its minute, in every chart', async () => {
    const { page } = await open()
    const [at, urls] = await valuesAt(page, 'backlog', 0.5)
    expect(['12:29', '12:30']).toContain(at)
    expect(urls).toBe(String(Number(at?.slice(3))))
    const others = await chartOf(page, 'outcomes').locator('.u-legend .u-value').allTextContents()
    expect(others).toEqual([at, ...OUTCOME_KINDS.map(() => String(Number(urls) * 2))])
    await page.close()
  })

  test('a range that is drawn with the pointer is enlarged, axis and values with it; a double click shows the whole again', async () => {
    const { page } = await open()
    const whole = await clocksOf(page, 'backlog')
    expect([whole[0], whole.at(-1)]).toEqual(['12:00', '12:50'])
    await enlarge(page, 'backlog', 0.25, 0.5)
    await expect.poll(async () => (await clocksOf(page, 'backlog'))[0]).not.toBe('12:00')
    const part = await clocksOf(page, 'backlog')
    expect(part[0]! >= '12:14' && part.at(-1)! <= '12:30', String(part)).toBe(true)
    expect(part.length).toBeGreaterThan(2)
    expect(await clocksOf(page, 'outcomes'), 'the other charts show the same range').toEqual(part)
    expect((await valuesAt(page, 'backlog', 0.01))[0]).toMatch(/^12:1[45]$/)
    expect((await valuesAt(page, 'backlog', 0.99))[0]).toMatch(/^12:(29|30)$/)
    await page.mouse.dblclick(...(await placeAt(page, 'backlog', 0.5)))
    await expect.poll(() => clocksOf(page, 'backlog')).toEqual(whole)
    expect(await clocksOf(page, 'outcomes')).toEqual(whole)
    expect((await valuesAt(page, 'backlog', 0.001))[0]).toBe('12:00')
    await page.close()
  })

  test.each([
    ['in the middle', 0.25, 0.5, '12:15', '12:29'],
    ['from the beginning, whose first minute is gone by then', 0.5, -0.02, '12:01', '12:29'],
    ['to the end', 0.5, 1.02, '12:30', '12:59'],
  ])('a part that is enlarged %s stays so when new values come', async (_, from, to, first, last) => {
    const { page, later } = await open()
    await enlarge(page, 'backlog', from, to)
    await expect.poll(async () => (await clocksOf(page, 'backlog')).join()).toMatch(/:\d5/)
    later()
    await page.evaluate('load()')
    expect((await valuesAt(page, 'backlog', 0.01)).slice(0, 2)).toEqual([first, String(Number(first.slice(3)))])
    expect((await valuesAt(page, 'backlog', 0.99)).slice(0, 2)).toEqual([last, String(Number(last.slice(3)))])
    await page.close()
  })

  test('the whole moves on with new values', async () => {
    const { page, later } = await open()
    later()
    await page.evaluate('load()')
    expect((await valuesAt(page, 'backlog', 0.001))[0]).toBe('12:01')
    expect((await valuesAt(page, 'backlog', 0.999)).slice(0, 2)).toEqual(['13:00', '60'])
    await page.close()
  })

  test('by keyboard a range is chosen among those above the charts', async () => {
    const { page } = await open()
    await page.getByRole('link', { name: '15 minutes' }).focus()
    await page.keyboard.press('Enter')
    await page.waitForURL('**/hours?minutes=15')
    expect(await page.locator('[aria-label="Range"] [aria-current]').textContent()).toBe('15 minutes')
    await page.close()
  })

  test('nothing was complained of', () => {
    expect(chrome.complaints).toEqual([])
  })
})
