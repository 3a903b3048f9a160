/** The overview and the board in a real browser: they render, follow the fleet, and break no content policy. */

import { main } from '@decorum/console'
import { routes } from '@decorum/console/inside'
import { type Ledger, openLedger } from '@decorum/ledger'
import type { RunningService } from '@decorum/runtime'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PATIENT } from '../support/patient.ts'
import { redisForTest } from '../support/redis.ts'
import { type BrowserForTest, browserForTest, chromiumPath } from './browser-for-test.ts'

/** Nothing that the page shows ends while a busy machine still looks for it. */
const LONG_MS = 3_600_000

describe.skipIf(chromiumPath === undefined)('in chromium', async () => {
  const redis = await redisForTest()
  let service: RunningService
  let ledger: Ledger
  let chrome: BrowserForTest

  beforeAll(async () => {
    service = await main({ REDIS_URL: redis.url, LOG_LEVEL: 'silent' })
    ledger = await openLedger({ redis: redis.url, partitions: 1, ...PATIENT })
    chrome = await browserForTest(service.port)
  })
  afterAll(async () => {
    await chrome.close()
    await ledger.close()
    await service.stop()
  })

  test('the page follows the fleet by itself, and shows a hostile path as text', async () => {
    const page = await chrome.browser.newPage()
    await page.goto('/')
    await page.getByText('Nothing to do').waitFor()
    await ledger.store(0, [
      {
        lane: { agent: 'decorum', origin: 'http://a.example' },
        pending: {
          id: '1',
          path: '/<img/src=x/onerror=alert(1)>',
          expiresAt: Date.now() + LONG_MS,
          hops: 0,
          priority: 'normal',
        },
      },
    ])
    await page.getByText('No fetcher is running').waitFor()
    await page.getByText('/<img/src=x/onerror=alert(1)>').waitFor()
    expect(await page.locator('img').count()).toBe(0)
    await ledger.announce({ id: 'g1', role: 'gateway', slots: 0 }, LONG_MS)
    await ledger.announce({ id: 'f1', role: 'fetcher', slots: 100 }, LONG_MS)
    await page.getByRole('heading', { name: 'Stalled' }).waitFor() // nobody takes the open lane
    await page.locator('.chip.trouble', { hasText: 'late' }).waitFor()
    await page
      .getByText(/\b1 fetcher\b/)
      .first()
      .waitFor()
    expect(chrome.complaints).toEqual([])
  })

  test('the queue board renders with both queues, from this server alone', async () => {
    const page = await chrome.browser.newPage()
    await page.goto('/queues')
    await page.getByText('{decorum:0} candidates').first().waitFor()
    await page.getByText('{decorum:0} orders').first().waitFor()
    expect(chrome.complaints).toEqual([])
  })

  test('the API reference renders every operation, from this server alone and under its policy', async () => {
    const page = await chrome.browser.newPage()
    await page.goto('/reference')
    await page.getByText('Add URLs to be fetched').waitFor()
    expect(await page.locator('.opblock').count()).toBe(Object.keys(routes).length)
    await page.getByText('May this URL be fetched now, and why').click()
    await page.getByText('Judged by what the fleet knows at this moment').waitFor()
    const shot = process.env.SCREENSHOT
    if (shot !== undefined) await page.screenshot({ path: shot, fullPage: true })
    expect(chrome.complaints).toEqual([])
  })
})
