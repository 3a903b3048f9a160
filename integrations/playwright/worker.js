/** A worker of a pool that renders pages with Chromium: worker.js PERMITS-URL POOL [AT-ONCE]. render.js is one page. */
import { argv, env } from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { chromium } from 'playwright-core'
import { openPermits } from '../undici/permits.js'
import { NO_NETWORK } from './no-network.js'
import { render } from './render.js'

const [url = env.DECORUM_URL, pool = env.DECORUM_POOL, atOnce = '2'] = argv.slice(2)
const service = openPermits({ url, token: env.TOKEN })
let isStopping = false
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => (isStopping = true))

const browser = await chromium.launch({
  executablePath: env.CHROMIUM ?? '/usr/bin/chromium',
  args: [...NO_NETWORK, ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])],
  handleSIGTERM: false, // the page at hand is finished first
  handleSIGINT: false,
})

/** The end of an order, told until it is heard or nobody waits for it any more. */
async function tell(order, said) {
  const path = `/v1/permits/${order.permit}`
  for (const until = Date.now() + order.leaseMs; Date.now() < until; await sleep(250)) {
    const { status, body } = await (said === undefined
      ? service.call('DELETE', path)
      : service.call('POST', `${path}/completion`, said))
    if (status === 400) said = { reason: 'protocol', error: body.detail } // this answer cannot be told: the URL ends all the same
    else if (status === 200 || status === 404 || status === 410) return
  }
}

async function work() {
  while (!isStopping) {
    const { status, body } = await service.call('POST', `/v1/pools/${pool}/orders?waitMs=2000`)
    for (const order of body.orders ?? []) await tell(order, await render(order, browser, service, url))
    if (status !== 200) await sleep(500)
  }
}

await Promise.all(Array.from({ length: Number(atOnce) }, work))
await browser.close()
service.close()
