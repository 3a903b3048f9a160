/** The overview and the board in a real browser: they render, follow the fleet, and break no content policy. */
import { accessSync, constants } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { type Ledger, openLedger } from '@decorum/ledger'
import type { RunningService } from '@decorum/service'
import { type BrowserContext, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { main } from '../../services/console/src/main.ts'
import { redisForTest } from '../support/redis.ts'

const found = findChromium()
if (found === undefined) console.warn('skipped: no chromium on PATH (install one to run the tests of the pages)')

function findChromium(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  const names = ['chromium', 'chromium-browser', 'google-chrome']
  return folders
    .flatMap((folder) => names.map((name) => join(folder, name)))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK)
        return true
      } catch {
        return false
      }
    })
}

describe.skipIf(found === undefined)('in chromium', async () => {
  const redis = await redisForTest()
  let service: RunningService
  let ledger: Ledger
  let browser: BrowserContext
  let profile: string
  const complaints: string[] = []

  beforeAll(async () => {
    service = await main({ REDIS_URL: redis.url, LOG_LEVEL: 'silent' })
    ledger = await openLedger({ redis: redis.url, partitions: 1 })
    profile = await mkdtemp(join(tmpdir(), 'decorum-browser-'))
    browser = await chromium.launchPersistentContext(profile, {
      executablePath: found ?? '',
      headless: true,
      baseURL: `http://127.0.0.1:${service.port}`,
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
        '--no-first-run',
      ],
    })
    browser.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
    })
    browser.on('weberror', (error) => complaints.push(error.error().message))
    browser.on('request', (asked) => {
      if (new URL(asked.url()).port !== String(service.port)) complaints.push(`asked ${asked.url()}`)
    })
  })
  afterAll(async () => {
    await browser.close()
    await ledger.close()
    await service.stop()
    await rm(profile, { recursive: true, force: true })
  })

  test('the page follows the fleet by itself, and shows a hostile path as text', async () => {
    const page = await browser.newPage()
    await page.goto('/')
    await page.getByText('Nothing to do').waitFor()
    await ledger.park(0, [
      {
        lane: { agent: 'decorum', origin: 'http://a.example' },
        parked: {
          id: '1',
          path: '/<img/src=x/onerror=alert(1)>',
          expiresAt: Date.now() + 60_000,
          hops: 0,
          priority: 'normal',
        },
      },
    ])
    await page.getByText('No fetcher is running').waitFor()
    await page.getByText('/<img/src=x/onerror=alert(1)>').waitFor()
    expect(await page.locator('img').count()).toBe(0)
    await ledger.announce({ id: 'g1', role: 'gateway', slots: 0 }, 60_000)
    await ledger.announce({ id: 'f1', role: 'fetcher', slots: 100 }, 60_000)
    await page.getByRole('heading', { name: 'Stalled' }).waitFor() // nobody takes the open lane
    await page.locator('.chip.late').waitFor()
    await page.getByRole('cell', { name: 'f1' }).waitFor()
    expect(complaints).toEqual([])
  })

  test('the queue board renders with both queues, from this server alone', async () => {
    const page = await browser.newPage()
    await page.goto('/queues')
    await page.getByText('{decorum:0} candidates').first().waitFor()
    await page.getByText('{decorum:0} orders').first().waitFor()
    expect(complaints).toEqual([])
  })
})
