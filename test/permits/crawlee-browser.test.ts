/** PlaywrightCrawler with the option of Decorum, before recording sites: what they see of pages that a browser loads. */
import { existsSync } from 'node:fs'
import { Configuration, CriticalError, PlaywrightCrawler, RequestQueue } from '@crawlee/playwright'
import { chromium } from 'playwright-core'
import { expect, test } from 'vitest'
// @ts-expect-error plain JavaScript, to be copied as it is
import { decorum, NO_NETWORK } from '../../integrations/crawlee/decorum.js'
import { sharedPermitFleet } from './fleet.ts'

const fleet = sharedPermitFleet({ env: { LEASE_MS: '60000' } })

const CHROMIUM = '/usr/bin/chromium'
const hasChromium = existsSync(CHROMIUM)
if (!hasChromium) process.stdout.write(`skipped: there is no ${CHROMIUM} here\n`)
const ARGS = `--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
  --disable-component-update --disable-sync`.split(/\s+/)

const PAGE = `<html><head><script src="/own.js"></script><script src="{origin:other}/lib.js"></script>
  <script src="{origin:other}/no.js"></script></head><body><img src="/big.png"><p id="text">source</p></body></html>`
const OWN = `addEventListener('load', async () => {
  navigator.serviceWorker?.register('/worker.js')
  open('/window')
  const { word } = await (await fetch('/data.json')).json()
  document.getElementById('text').textContent = 'rendered ' + word + ' ' + window.fromOther
})`
const SITES = [
  {
    name: 'page',
    robots: { body: 'User-agent: *\nDisallow: /no\nCrawl-delay: 0.2\n' },
    paths: {
      '/': { body: PAGE },
      '/own.js': { body: OWN, type: 'text/javascript' },
      '/data.json': { body: '{"word":"well"}', type: 'application/json' },
      '/moved': { status: 302, location: '{origin:other}/here' },
      '/moved-to-no': { status: 302, location: '/no' },
      '/link': { body: '<html><a href="/moved">there</a></html>' },
    },
  },
  {
    name: 'other',
    robots: { body: 'User-agent: *\nDisallow: /no\n' },
    paths: {
      '/lib.js': { status: 302, location: '/lib2.js' },
      '/lib2.js': { body: 'window.fromOther = "indeed"', type: 'text/javascript' },
      '/here': { body: '<html><p>here</p></html>' },
    },
  },
]

test.skipIf(!hasChromium)(
  'PlaywrightCrawler: pages, what they load and where they redirect to go under permits of their own; nothing else is sent',
  async () => {
    const { web, url, expectPolite } = await fleet(SITES)
    const { page: at, other } = web.origins
    const config = new Configuration({ persistStorage: false })
    const refused: string[] = []
    const failed: string[] = []
    const done = new Map<string, string>()
    const crawler = new PlaywrightCrawler(
      {
        ...(await decorum({
          url: url(),
          queue: await RequestQueue.open(null, { config }),
          onRefused: (request: { url: string }, { type }: { type: string }) => refused.push(`${type} ${request.url}`),
        })),
        maxConcurrency: 2,
        launchContext: {
          launcher: chromium,
          launchOptions: { executablePath: CHROMIUM, args: [...ARGS, ...NO_NETWORK] },
        },
        async requestHandler({ request, page }) {
          expect(request.retryCount).toBe(0)
          if (request.url === `${at}/`) await page.getByText('rendered').waitFor()
          if (request.url === `${at}/link`) {
            await page.getByText('there').click()
            await page.getByText('here', { exact: true }).waitFor()
          }
          done.set(request.url, `${page.url()} ${await page.textContent('body')}`)
        },
        failedRequestHandler: ({ request }, { message }) => void failed.push(`${request.url} ${message}`),
      },
      config,
    )
    await crawler.run([`${at}/`, `${at}/no`, `${at}/moved`, `${at}/moved-to-no`, `${at}/link`, `${other}/1`])
    expect(failed).toEqual([expect.stringMatching(/moved-to-no .*robots.txt/)])
    expect(refused).toEqual([`disallowed ${at}/no`])
    expect(done.get(`${at}/`)).toBe(`${at}/ rendered well indeed`)
    expect(done.get(`${at}/moved`)).toBe(`${other}/here here`)
    expect(done.get(`${at}/link`)).toBe(`${other}/here here`)
    expect(done.size).toBe(4)
    await expectPolite()
    const { requests } = await web.evidence()
    const paths = requests.map(({ path }) => path)
    for (const never of ['/no', '/no.js', '/big.png', '/worker.js', '/window', '/favicon.ico'])
      expect(paths).not.toContain(never)
    expect(new Set(requests.map(({ agent }) => agent)).size).toBe(1)
  },
)

test.skipIf(!hasChromium)(
  'a browser that could send by itself ends the crawl before it sends anything; one without a network sends nothing by any way',
  async () => {
    const { web, url } = await fleet([{ name: 'quiet', robots: { body: '' } }])
    const at = web.origins.quiet as string
    const config = new Configuration({ persistStorage: false })
    const queue = await RequestQueue.open(null, { config })
    const crawler = new PlaywrightCrawler(
      {
        ...(await decorum({ url: url(), queue })),
        launchContext: { launcher: chromium, launchOptions: { executablePath: CHROMIUM, args: ARGS } },
        requestHandler: () => undefined,
      },
      config,
    )
    await expect(crawler.run([`${at}/1`])).rejects.toThrow(/must hold NO_NETWORK/)
    const { port } = new URL(at)
    for (const proxy of [undefined, { server: at }]) {
      const browser = await chromium.launch({
        executablePath: CHROMIUM,
        args: [...ARGS, ...NO_NETWORK],
        ...(proxy === undefined ? {} : { proxy }),
      })
      const page = await browser.newPage()
      for (const target of [at, `http://127.0.0.1:${port}`, `http://localhost:${port}`, 'http://site.test'])
        await expect(page.goto(`${target}/by-itself`)).rejects.toThrow(
          /ERR_NAME_NOT_RESOLVED|ERR_PROXY_CONNECTION_FAILED/,
        )
      await browser.close()
    }
    const { requests } = await web.evidence()
    expect(requests.filter(({ path }) => path !== '/robots.txt')).toEqual([])
  },
)

test('a browser of another library ends the crawl before it sends anything', async () => {
  const queue = await RequestQueue.open(null, { config: new Configuration({ persistStorage: false }) })
  const [hook] = (await decorum({ queue })).preNavigationHooks
  await expect(hook({ crawler: {}, page: { goto: () => null }, request: {} })).rejects.toThrow(CriticalError)
})

test.skipIf(!hasChromium)(
  'PlaywrightCrawler in shadow mode: pages load as before, and the report knows them',
  async () => {
    const { web, url, call } = await fleet(SITES)
    const at = web.origins.page as string
    await expect.poll(async () => (await call('GET', `/v1/robots?url=${at}/1`)).body.verdict).toBe('allowed')
    const crawler = new PlaywrightCrawler(
      {
        ...(await decorum({ url: url(), shadow: true })),
        launchContext: { launcher: chromium, launchOptions: { executablePath: CHROMIUM, args: ARGS } },
        requestHandler: () => undefined,
      },
      new Configuration({ persistStorage: false }),
    )
    const { requestsFinished } = await crawler.run([`${at}/1`, `${at}/no`])
    expect(requestsFinished).toBe(2)
    await expect.poll(async () => (await call('GET', '/v1/shadow')).body.refused).toBe(1)
    expect(Number((await call('GET', '/v1/shadow')).body.requests)).toBeGreaterThanOrEqual(2)
  },
)
