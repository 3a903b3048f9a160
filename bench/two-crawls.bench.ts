/**
 * A crawl with a million URLs of one host, and another one that comes with ten of the same host: how many requests does the site see until
 * the ten are done? Real gateway, real fetcher, a real site on loopback, which writes down the order. Counted in turns, not in time.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { startFleet } from '@decorum/cli'
import { openFrontier } from '@decorum/client'
import { type Ledger, openLedger } from '@decorum/ledger'
import { round, table } from './frame/figures.ts'
import type { BenchSection } from './frame/one.ts'
import { benchRedis } from './frame/redis.ts'

const TEN = 10
const AT_ONCE = 2_000
const LOOK_MS = 5

/** `weight` is that of the small crawl; `turns`: requests of the site from when the ten were stored to the tenth of them */
type Round = { weight: number; turns: number; before: number }

export async function run({ short }: { short: boolean }): Promise<BenchSection> {
  const [large, rounds, delayMs] = short ? [2_000, 1, 50] : [1_000_000, 5, 200]
  const seen: string[] = []
  const site = createServer(({ url = '' }, answer) => {
    if (url !== '/robots.txt') seen.push(url)
    answer.writeHead(url === '/robots.txt' ? 404 : 200, { 'content-type': 'text/plain' }).end('a page')
  })
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
  const redis = await benchRedis()
  const env = {
    ...process.env,
    REDIS_URL: redis.url,
    DECORUM_ALLOW_ADDRESSES: '127.0.0.0/8',
    DEFAULT_DELAY_MS: String(delayMs),
    LANE_LIMIT: '2000000',
    PAGE_SINK: 'none',
    LOG_LEVEL: 'error',
  }
  const fleet = await startFleet({ env, gateways: 1, fetchers: 1 })
  const ledger = await openLedger({ redis: redis.url, partitions: 1 })
  const frontier = await openFrontier({ redis: redis.url })
  try {
    for (let from = 0; from < large; from += AT_ONCE)
      await frontier.enqueue(
        Array.from({ length: AT_ONCE }, (_, n) => ({ url: `${origin}/large/${from + n}`, crawl: 'large' })),
      )
    while ((await storedOf(ledger, 'large')) < large) await sleep(250)
    const results: Round[] = []
    for (const weight of [1, 2])
      for (let n = 0; n < rounds; n++) results.push(await oneRound({ ledger, frontier, seen, origin, weight, n }))
    const left = await waitingOf(ledger, 'large')
    return { name: 'two-crawls', lines: report(large, delayMs, left, results) }
  } finally {
    await frontier.close()
    await ledger.close()
    await fleet.stop(5_000)
    await redis.stop()
    site.close()
  }
}

type Setting = {
  ledger: Ledger
  frontier: Awaited<ReturnType<typeof openFrontier>>
  seen: string[]
  origin: string
  weight: number
  n: number
}

async function oneRound({ ledger, frontier, seen, origin, weight, n }: Setting): Promise<Round> {
  const name = `small-${weight}-${n}`
  const path = `/${name}/`
  await ledger.changeCrawl({ name, change: { weight }, by: 'bench', reason: '' })
  const before = await waitingOf(ledger, 'large')
  await frontier.enqueue(Array.from({ length: TEN }, (_, k) => ({ url: `${origin}${path}${k}`, crawl: name })))
  while ((await storedOf(ledger, name)) < TEN) await sleep(LOOK_MS)
  const first = seen.findIndex((one) => one.startsWith(path))
  const from = first < 0 ? seen.length : first // one of them went out before this process saw that they are stored
  let last = -1
  while (seen.filter((one) => one.startsWith(path)).length < TEN) await sleep(LOOK_MS)
  last = seen.findLastIndex((one) => one.startsWith(path))
  return { weight, turns: last - from + 1, before }
}

async function waitingOf(ledger: Ledger, name: string): Promise<number> {
  return (await ledger.crawls([name]))[0]?.waiting ?? 0
}
/** Stored since the beginning. */
async function storedOf(ledger: Ledger, name: string): Promise<number> {
  const [crawl] = await ledger.crawls([name])
  if (crawl === undefined) return 0
  return crawl.waiting + Object.values(crawl.counts).reduce((sum, count) => sum + count, 0)
}

function report(large: number, delayMs: number, left: number, results: Round[]): string[] {
  const rows = [1, 2].map((weight) => {
    const turns = results.filter((one) => one.weight === weight).map((one) => one.turns)
    return [`1 : ${weight}`, String(turns.length), `${Math.min(...turns)} to ${Math.max(...turns)}`]
  })
  return [
    `${round(large, 0)} URLs of one host in a crawl of weight 1; then ten of the same host in another crawl, again and again, each time a new one. A real gateway, a real fetcher and a real site with a delay of ${delayMs} ms. Turns: requests that the site saw from when the ten were stored to the tenth of them; twenty are fair at equal weight, fifteen at twice the weight. At the end ${round(left, 0)} of the large crawl wait.`,
    '',
    ...table(['weights', 'rounds', 'turns until the ten were done'], rows),
  ]
}
