/**
 * Emergency stops of a fleet at work: gateways and fetchers killed and Redis started again while everything is stopped; parts
 * stopped by host and by address while the rest goes on. The sites' own record, judged with the record of the stops, decides.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { judgeRecord, readStopsFile } from '@decorum/audit'
import { openFrontier } from '@decorum/client'
import { afterEach, expect, test } from 'vitest'
import { folder, type Result } from '../cli/decorum.ts'
import { decorumHere } from '../cli/decorum-here.ts'
import { dnsServer } from '../fetcher/support/dns-server.ts'
import { splitAgainAsked } from '../storm/again-asked.ts'
import { diceOf } from '../storm/dice.ts'
import { environment, judgedBy, SCALED } from '../storm/manners.ts'
import { Worker } from '../storm/worker.ts'
import { type RecordedWeb, recordedWeb, type Site } from '../support/origins/index.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'

const SEED = Number(process.env.DECORUM_SEED ?? Date.now() % 1_000_000)
const SLOTS = 8
const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

type Fleet = {
  redis: TestRedis
  gateways: Worker[]
  fetchers: Worker[]
  stop(...args: string[]): Promise<Result>
  /** enqueues pages of the sites and collects their outcomes */
  crawl(urls: string[]): Promise<{
    ended: Map<string, string>
    enqueue(urls: string[]): Promise<unknown>
    outcomesOf(ids: string[]): Promise<void>
  }>
}

async function startFleet(zone: Record<string, string>, count: { gateways: number; fetchers: number }): Promise<Fleet> {
  const redis = await startRedis({ appendonly: true })
  closing.push(() => redis.stop())
  const dns = await dnsServer(
    Object.fromEntries(Object.entries(zone).map(([name, address]) => [name, { a: [address] }])),
  )
  const env = environment(redis.url, SCALED, { DNS_SERVERS: dns.address, FETCH_CONCURRENCY: String(SLOTS) })
  const gateways = Array.from(
    { length: count.gateways },
    (_, n) => new Worker({ role: 'gateway', name: `gateway-${n}`, env }),
  )
  const fetchers = Array.from(
    { length: count.fetchers },
    (_, n) => new Worker({ role: 'fetcher', name: `fetcher-${n}`, env }),
  )
  const workers = [...gateways, ...fetchers]
  closing.push(() => Promise.all(workers.map((worker) => worker.stop(5_000))))
  await Promise.all(workers.map((worker) => worker.start()))
  return {
    redis,
    gateways,
    fetchers,
    stop: (...args) => decorumHere(['stop', ...args], { env: { REDIS_URL: redis.url } }),
    async crawl(urls) {
      const frontier = await openFrontier({ redis: redis.url, patienceMs: 30_000 })
      closing.push(() => frontier.close())
      const ended = new Map<string, string>()
      let look = (): void => {}
      void (async () => {
        for await (const { outcome, ack } of frontier.outcomes({ group: 'test' })) {
          ended.set(outcome.id, outcome.kind)
          await ack().catch(() => undefined)
          look()
        }
      })().catch(() => undefined)
      const enqueue = (some: string[]) => frontier.enqueue(some.map((url) => ({ url, id: url })))
      await enqueue(urls)
      return {
        ended,
        enqueue,
        outcomesOf: (ids) =>
          new Promise((resolve) => {
            look = () => ids.every((id) => ended.has(id)) && resolve()
            look()
          }),
      }
    },
  }
}

/** Judged with all stops that there have been. */
async function judged(webs: RecordedWeb[], fleet: Fleet) {
  const evidence = await Promise.all(webs.map((web) => web.evidence()))
  const listed = await fleet.stop('list', '--ended', '--json')
  const file = join(await folder(), 'stops.json')
  await writeFile(file, listed.stdout)
  const stops = await readStopsFile(file)
  const requests = evidence.flatMap((one) => one.requests)
  const bodies = new Map(evidence.flatMap((one) => [...one.bodies]))
  const report = judgeRecord({ requests, bodies }, { ...judgedBy(SCALED), stops })
  return { report, stops, requests, bodies }
}

const sitesNamed = (names: string[]): Site[] =>
  names.map((name) => ({ name, robots: { body: '' }, pages: { delayMs: 40 } }))
const pagesOf = (web: RecordedWeb, count: number): string[] =>
  Object.values(web.origins).flatMap((origin) => Array.from({ length: count }, (_, n) => `${origin}/page-${n}`))

test('everything is stopped under kills and a restart of Redis: nothing is sent until it is lifted, then all goes on', async () => {
  console.log(`seed ${SEED} (again: DECORUM_SEED=${SEED})`)
  const dice = diceOf(SEED)
  const ADDRESS = '127.78.0.1'
  const names = Array.from({ length: 12 }, (_, n) => `site-${n}`)
  const web = await recordedWeb(sitesNamed(names), { address: ADDRESS })
  closing.push(web.close)
  const zone = Object.fromEntries(names.map((name) => [`${name}.test`, ADDRESS]))
  const fleet = await startFleet(zone, { gateways: 2, fetchers: 2 })
  const urls = pagesOf(web, 30) // far more than are done before a command has started
  const { ended, enqueue, outcomesOf } = await fleet.crawl(urls)
  await expect.poll(() => ended.size).toBeGreaterThan(24)

  const stopped = await fleet.stop('--all', '--reason', 'a site wrote to us', '--by', 'ann')
  expect(stopped, stopped.stderr).toMatchObject({ code: 0 })
  expect(stopped.stdout).toMatch(/^everything: stopped .* by ann: a site wrote to us \(until it is lifted\)\n$/)
  // On a busy machine the first ones may be done by now: these are not, and have to wait.
  const late = Object.values(web.origins).map((origin) => `${origin}/late`)
  await enqueue(late)
  // The fleet is killed, all of it in turn, and Redis starts again; each comes back, and would go on where nothing stops it.
  fleet.fetchers[dice.whole(0, 1)]?.kill()
  for (const worker of fleet.gateways) worker.kill()
  await fleet.redis.restart()
  for (const worker of fleet.fetchers) worker.kill()
  const back = [...fleet.gateways, ...fleet.fetchers]
  await expect.poll(() => back.every(({ state }) => state === 'running')).toBe(true)
  // Longer than the hold after a restart, and than any lease: without a stop the crawl goes on within it.
  const goneBy = Date.now() + SCALED.leaseMs + SCALED.quarantineMs + 4_000
  await expect.poll(() => Date.now() > goneBy, { interval: 200 }).toBe(true)
  const during = await judged([web], fleet)
  expect(during.report.violations.stopped).toBe(0)
  expect(Math.max(...during.requests.map(({ start }) => start))).toBeLessThan((during.stops[0]?.at ?? 0) + 1_000)

  const lifted = await fleet.stop('lift', '--all', '--by', 'ann')
  expect(lifted).toMatchObject({ code: 0, stdout: 'everything: lifted\nnothing is stopped any more\n' })
  await outcomesOf([...urls, ...late])
  const { report, stops, requests, bodies } = await judged([web], fleet)
  const { violations, againAsked } = splitAgainAsked(report)
  expect(violations).toEqual([])
  expect(againAsked.length).toBeLessThanOrEqual(3 * SLOTS) // of three fetchers that were killed
  expect(report.stops).toBe(1)
  expect(new Set(ended.values())).toEqual(new Set(['fetched']))
  // The judge sees it: had the stop come earlier, or been lifted later, requests would be held against it.
  const [stop] = stops
  const begin = Math.min(...requests.map(({ start }) => start)) - 2_000 // a second after a stop is no offence yet
  const earlier = judgeRecord({ requests, bodies }, { ...judgedBy(SCALED), stops: [{ ...stop, name: '*', at: begin }] })
  expect(earlier.violations.stopped).toBeGreaterThan(0)
  const never = judgeRecord({ requests, bodies }, { ...judgedBy(SCALED), stops: [{ name: '*', at: stop?.at ?? 0 }] })
  expect(never.violations.stopped).toBeGreaterThan(0)
})

test('one host with the names below it, and one address, are stopped while the rest goes on; a redirected robots.txt does not get there either', async () => {
  const [HERE, THERE] = ['127.78.0.2', '127.78.0.3']
  const here = await recordedWeb(
    [
      ...sitesNamed(['one', 'a.two', 'three']),
      { name: 'hop', robots: { status: 302, location: '{origin:a.two}/robots.txt' }, pages: { delayMs: 5 } },
    ],
    { address: HERE },
  )
  closing.push(here.close)
  const there = await recordedWeb(sitesNamed(['four', 'five']), { address: THERE })
  closing.push(there.close)
  const zone = {
    ...Object.fromEntries(['one', 'a.two', 'three', 'hop'].map((name) => [`${name}.test`, HERE])),
    ...Object.fromEntries(['four', 'five'].map((name) => [`${name}.test`, THERE])),
  }
  const fleet = await startFleet(zone, { gateways: 1, fetchers: 1 })
  const rest = ['one', 'three'].flatMap((name) =>
    Array.from({ length: 20 }, (_, n) => `${here.origins[name]}/page-${n}`),
  )
  const early = [`${here.origins['a.two']}/first`, `${there.origins.four}/first`]
  const crawled = await fleet.crawl([...rest, ...early])
  await crawled.outcomesOf(early)

  const stopped = await fleet.stop('two.test', THERE, '--reason', 'they asked')
  expect(stopped, stopped.stderr).toMatchObject({ code: 0 })
  const late = [
    ...Array.from({ length: 3 }, (_, n) => `${here.origins['a.two']}/page-${n}`),
    ...Array.from({ length: 3 }, (_, n) => `${there.origins.four}/page-${n}`),
    `${there.origins.five}/page`, // its robots.txt is not fetched either
  ]
  const frontier = await openFrontier({ redis: fleet.redis.url })
  closing.push(() => frontier.close())
  await frontier.enqueue([...late, `${here.origins.hop}/page`].map((url) => ({ url, id: url })))
  await crawled.outcomesOf(rest)
  // The robots fetch of `hop` has begun, and its redirect leads to what is stopped.
  await expect
    .poll(async () => (await here.evidence()).requests.some(({ origin }) => origin.includes('hop')))
    .toBe(true)
  const goneBy = Date.now() + SCALED.deadlineMs + 2_000
  await expect.poll(() => Date.now() > goneBy, { interval: 200 }).toBe(true)
  const during = await judged([here, there], fleet)
  expect(during.report.violations.stopped).toBe(0)
  expect(late.filter((id) => crawled.ended.has(id))).toEqual([])
  expect(
    during.requests.filter(
      ({ path, origin }) =>
        origin === there.origins.five || (path.startsWith('/page') && origin === here.origins['a.two']),
    ),
  ).toEqual([])

  expect(await fleet.stop('lift', 'two.test', THERE)).toMatchObject({ code: 0 })
  await crawled.outcomesOf(late)
  const { report } = await judged([here, there], fleet)
  expect(report.violations.stopped).toBe(0)
})
