/**
 * Policies of sites that are applied, rolled back and applied again while a fleet crawls under kills: the sites' own record, judged with
 * the policies of all versions, decides. And a site that turns requests away
 * sees fewer and fewer of them.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { judgeRecord, type Report } from '@decorum/audit'
import { readPoliciesFile } from '@decorum/cli/testing'
import { openFrontier } from '@decorum/client'
import { loadPaceGroups, policyHistory } from '@decorum/politeness'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decorum, folder, type Result } from '../cli/decorum.ts'
import { decorumHere } from '../cli/decorum-here.ts'
import { dnsServer } from '../fetcher/support/dns-server.ts'
import { splitAgainAsked } from '../storm/again-asked.ts'
import { diceOf } from '../storm/dice.ts'
import { environment, judgedBy, SCALED } from '../storm/manners.ts'
import { Worker } from '../storm/worker.ts'
import { type RecordedWeb, recordedWeb, type Site } from '../support/origins/index.ts'
import { startRedis } from '../support/redis.ts'

const SEED = Number(process.env.DECORUM_SEED ?? Date.now() % 1_000_000)
const ADDRESS = '127.79.0.1'
const SLOTS = 8
const closing: (() => Promise<unknown>)[] = []
afterAll(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function startFleet(sites: Site[]) {
  const redis = await startRedis({ appendonly: true })
  closing.push(() => redis.stop())
  const web = await recordedWeb(sites, { address: ADDRESS })
  closing.push(web.close)
  const dns = await dnsServer(Object.fromEntries(sites.map(({ name }) => [`${name}.test`, { a: [ADDRESS] }])))
  const env = environment(redis.url, SCALED, { DNS_SERVERS: dns.address, FETCH_CONCURRENCY: String(SLOTS) })
  const gateways = [0, 1].map((n) => new Worker({ role: 'gateway', name: `gateway-${n}`, env }))
  const fetchers = [0, 1].map((n) => new Worker({ role: 'fetcher', name: `fetcher-${n}`, env }))
  const workers = [...gateways, ...fetchers]
  closing.push(() => Promise.all(workers.map((worker) => worker.stop(5_000))))
  await Promise.all(workers.map((worker) => worker.start()))
  const config = (args: string[], input = ''): Promise<Result> =>
    (args[0] === 'apply' ? decorum : decorumHere)(['config', ...args], {
      env: { REDIS_URL: redis.url, DEFAULT_DELAY_MS: '', DECORUM_ALLOW_ADDRESSES: '' },
      input,
    })
  const frontier = await openFrontier({ redis: redis.url, patienceMs: 30_000 })
  closing.push(() => frontier.close())
  const ended = new Map<string, string>()
  void (async () => {
    for await (const { outcome, ack } of frontier.outcomes({ group: 'test' })) {
      ended.set(outcome.id, outcome.kind)
      await ack().catch(() => undefined)
    }
  })().catch(() => undefined)
  return {
    web,
    gateways,
    fetchers,
    config,
    ended,
    enqueue: (urls: string[]) => frontier.enqueue(urls.map((url) => ({ url, id: url }))),
  }
}
type Fleet = Awaited<ReturnType<typeof startFleet>>

/** Judged with the policies of all versions that there have been, and without them. */
async function judged(web: RecordedWeb, { config }: Fleet): Promise<{ report: Report; untold: Report }> {
  const { requests, bodies } = await web.evidence()
  const file = join(await folder(), 'policies.json')
  await writeFile(file, (await config(['policies', '--json'])).stdout)
  const options = { ...judgedBy(SCALED), paceGroups: loadPaceGroups('{}') }
  const told = { ...options, sitePolicies: policyHistory(await readPoliciesFile(file)) }
  return { report: judgeRecord({ requests, bodies }, told), untold: judgeRecord({ requests, bodies }, options) }
}

const pagesOf = (web: RecordedWeb, name: string, count: number): string[] =>
  Array.from({ length: count }, (_, n) => `${web.origins[name]}/page-${n}`)

/** @param report  of both tests, the first of which kills five fetchers */
function expectPolite(report: Report): void {
  const { violations, againAsked } = splitAgainAsked(report)
  expect(violations).toEqual([])
  expect(againAsked.length).toBeLessThanOrEqual(5 * SLOTS)
}

const names = ['slow', 'fast', 'few', 'night', 'plain', 'a.wide', 'b.wide']
/** One for both tests, each with sites of its own. */
let fleet: Fleet
beforeAll(async () => {
  fleet = await startFleet([
    ...names.map((name) => ({ name, robots: { body: 'user-agent: *\ncrawl-delay: 0.4' } })),
    { name: 'forbidding', robots: { body: '' }, pages: { status: 403 } },
    { name: 'beside', robots: { body: '' } },
  ])
})

test('policies applied, rolled back and applied again while a fleet crawls under kills: 0 violations', async () => {
  console.log(`seed ${SEED} (again: DECORUM_SEED=${SEED})`)
  const dice = diceOf(SEED)
  const { web, config, ended } = fleet
  // A window that is twelve hours away closes a site for the whole of this test.
  const away = new Date(Date.now() + 43_200_000).toISOString().slice(11, 13)
  const first = {
    'slow.test': { delayMs: 900 },
    'fast.test': { delayMs: 30, consent: 'the operator of fast.test agreed' },
    'few.test': { requestsPerDay: 6 },
    'night.test': { hours: `${away}:00-${away}:59` },
    '*.wide.test': { delayMs: 600 },
  }
  const second = { 'fast.test': { delayMs: 700 }, 'domain:wide.test': { delayMs: 0, consent: 'agreed by mail' } }
  const apply = async (policies: object): Promise<void> => {
    const applied = await config(
      ['apply', '-', '--yes', '--by', 'ann', '--reason', 'test'],
      JSON.stringify({ SITE_POLICIES: policies }),
    )
    expect(applied, applied.stderr).toMatchObject({ code: 0 })
  }
  await apply(first)
  const bounded = ['few', 'night']
  const free = names.filter((name) => !bounded.includes(name))
  const urls = free.flatMap((name) => pagesOf(web, name, name === 'fast' || name.endsWith('wide') ? 60 : 20))
  await fleet.enqueue([...urls, ...bounded.flatMap((name) => pagesOf(web, name, 20))])
  for (const change of [second, 'rollback', second, first, 'rollback'] as const) {
    const before = ended.size
    await expect.poll(() => ended.size >= Math.min(before + 25, urls.length)).toBe(true)
    fleet.fetchers[dice.whole(0, 1)]?.kill()
    if (dice.whole(0, 1) === 1) fleet.gateways[dice.whole(0, 1)]?.kill()
    if (change === 'rollback') expect((await config(['rollback', '--yes'])).code).toBe(0)
    else await apply(change)
  }
  await expect.poll(() => urls.every((url) => ended.has(url))).toBe(true)
  const { report, untold } = await judged(web, fleet)
  expectPolite(report)
  // The judge would see it: what fast.test has consented to is a violation for whoever is not told.
  expect(untold.violations['short-delay']).toBeGreaterThan(0)
  console.log(`${report.requests} requests, ${untold.violations['short-delay']} of them by consent, 0 violations`)
})

test('a site that turns every request away gets ever fewer of them', async () => {
  const { web, ended } = fleet
  await fleet.enqueue([...pagesOf(web, 'forbidding', 9), ...pagesOf(web, 'beside', 40)])
  await expect.poll(() => pagesOf(web, 'forbidding', 9).every((url) => ended.has(url))).toBe(true)
  const { requests } = await web.evidence()
  const ofSite = requests
    .filter(({ origin, path }) => origin === web.origins.forbidding && path !== '/robots.txt')
    .sort((one, other) => one.start - other.start)
  const gaps = ofSite.slice(1).map(({ start, resolution = 0 }, n) => start + resolution - (ofSite[n]?.end ?? 0))
  // BACK_OFF_MS is 500: after the second in a row 42 ms, then twice as much each time; the delay is 150 ms.
  for (const [n, gap] of gaps.entries())
    if (n >= 1) expect(gap, `gap ${n}`).toBeGreaterThanOrEqual((500 / 12) * 2 ** (n - 1))
  expect(gaps.length).toBeGreaterThanOrEqual(8) // more where a busy machine let a request end without an answer
  expectPolite((await judged(web, fleet)).report)
})
