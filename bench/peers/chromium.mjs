/**
 * Headless Chromium by playwright-core: four tabs, each of which waits for the delay after a page. A browser reads no robots.txt.
 * https://playwright.dev/docs/network#http-proxy
 * Behind a proxy: the option `proxy`, and no delay of its own. The authority of the proxy is made known by the hash of its key.
 * The switches take the browser's own requests to its maker away, as far as switches do.
 * Usage: chromium.mjs FILE-OF-URLS, with PEER_DELAY_MS and PEER_CHROMIUM (the program)
 */
import { createHash, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { chromium } from 'playwright-core'

const urls = readFileSync(process.argv[2], 'utf8').trim().split('\n')
const { http_proxy, PEER_DELAY_MS, PEER_CHROMIUM, NODE_EXTRA_CA_CERTS = '' } = process.env
const keys = (readFileSync(NODE_EXTRA_CA_CERTS, 'utf8').match(/-----BEGIN[\s\S]*?END CERTIFICATE-----/g) ?? []).map(
  (pem) =>
    createHash('sha256')
      .update(new X509Certificate(pem).publicKey.export({ type: 'spki', format: 'der' }))
      .digest('base64'),
)
const browser = await chromium.launch({
  executablePath: PEER_CHROMIUM,
  args: [
    '--no-sandbox',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--no-first-run',
    `--ignore-certificate-errors-spki-list=${keys.join(',')}`,
  ],
  ...(http_proxy && { proxy: { server: http_proxy, bypass: '<-loopback>' } }),
})
const TABS = 4
const tab = async () => {
  const page = await browser.newPage({ userAgent: 'peerbot/1 (+https://example.com/bot)' })
  for (let url = urls.shift(); url !== undefined; url = urls.shift()) {
    await page.goto(url).catch(() => undefined)
    if (!http_proxy) await sleep(Number(PEER_DELAY_MS))
  }
}
await Promise.all(Array.from({ length: TABS }, tab))
await browser.close()
