/** A whole fleet on a real Redis Cluster, six partitions on three masters: a gateway dies, a master dies, a slot moves. */
import { linkTo } from '@decorum/ledger'
import { CANDIDATES, hostOf, JOB_NAMES, partitionOf, partitionTags, queueOptions } from '@decorum/protocol'
import { Queue } from 'bullmq'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { expectPolite, type Journey, LONG_LEASES, pagesOf, startJourney } from '../journey/fleet.ts'
import { startCluster } from '../support/cluster.ts'

const PARTITIONS = 6
const SITES = 24
const tags = partitionTags(PARTITIONS)
const cluster = await startCluster()
let journey: Journey
let poured = 0

beforeAll(async () => {
  journey = await startJourney({
    redisUrl: cluster.url,
    gateways: 2,
    fetchers: 1,
    sites: Array.from({ length: SITES }, (_, n) => ({
      name: `site-${n}`,
      robots: { body: 'User-agent: *\nDisallow: /no' },
      pages: { delayMs: 20 },
    })),
    // A lane that a dead gateway took, and a job that it had in work, are free again within seconds.
    env: { ...LONG_LEASES, DECORUM_PARTITIONS: String(PARTITIONS), RESERVE_MS: '1500', INTAKE_LOCK_MS: '1500' },
  })
})
afterAll(async () => {
  await journey?.close()
  await cluster.stop()
})

/** So many pages of each site, each act its own; resolves when the first 60 have been fetched. */
async function pour(act: string, pages: number) {
  const candidates = pagesOf(journey.web, pages).map(({ id, url }) => ({ id: `${act}/${id}`, url: `${url}?${act}` }))
  await journey.frontier.enqueue(candidates)
  await journey.outcomesOf(poured + 60)
  poured += candidates.length
  return { candidates, done: () => journey.outcomesOf(poured) }
}

/** As any BullMQ producer may. */
async function addJob(tag: string, candidates: { id: string; url: string }[]): Promise<void> {
  const link = linkTo(cluster.url, { away: 'wait' })
  const queue = new Queue(CANDIDATES, { connection: link, ...queueOptions(tag) })
  await queue.add(JOB_NAMES.candidates, { candidates })
  await queue.close()
  link.disconnect()
}

const partitionOfUrl = (url: string): number => partitionOf(hostOf(new URL(url).origin), PARTITIONS)

test('a crawl over six partitions; a gateway is killed and its partitions go on through the other', async () => {
  const { candidates, done } = await pour('gateway', 6)
  process.kill(journey.fleet.of('gateway')[0]!.pid!, 'SIGKILL')
  await done()
  const report = await expectPolite(journey, candidates)
  expect(new Set(candidates.map(({ url }) => partitionOfUrl(url))).size).toBe(PARTITIONS)
  const all = [...journey.outcomes.values()].flat()
  expect(all.filter(({ kind, attempts }) => kind !== 'fetched' || attempts !== 1)).toEqual([])
  expect(report.requests).toBe(candidates.length + SITES)
})

test('one master killed under load: its partitions pause, the others go on; back, nothing is lost and no delay is short', async () => {
  const { outcomes, web } = journey
  const before = await journey.audit()
  const homes = await Promise.all(tags.map((tag) => cluster.homeOf(tag)))
  const victim = 1
  const isStruck = (url: string): boolean => homes[partitionOfUrl(url)] === victim
  const { candidates } = await pour('master', 12)
  await cluster.masters[victim]!.kill9()
  // A stranger's job of many hosts, in a queue that is there: what can be taken in is, the rest comes later.
  const mixed = Object.entries(web.origins).map(([name, origin]) => ({ id: `mixed/${name}`, url: `${origin}/mixed` }))
  const open = tags.find((_, partition) => homes[partition] !== victim) ?? ''
  await addJob(open, mixed)
  candidates.push(...mixed)
  poured += mixed.length
  // All that others have to do is done while that master is away.
  const others = candidates.filter(({ url }) => !isStruck(url))
  const missing = (): number => others.filter(({ id }) => !outcomes.has(id)).length
  await expect.poll(missing, { interval: 50 }).toBe(0)
  const { requests } = await web.evidence()
  const struck = requests.filter(({ origin }) => isStruck(origin)).map(({ start }) => start)
  const last = Math.max(...struck)
  const heardLater = requests.filter(
    ({ origin, start, resolution = 0 }) => !isStruck(origin) && start + resolution > last,
  )
  expect(outcomes.size, 'what its partitions owe').toBeLessThan(poured)
  expect(new Set(heardLater.map(({ origin }) => origin)), 'sites that were visited after its own').toEqual(
    new Set(Object.values(web.origins).filter((origin) => !isStruck(origin))),
  )

  await cluster.masters[victim]!.restart()
  await journey.outcomesOf(poured)
  const report = await expectPolite(journey, candidates)
  // What was under way when it died may be asked for once more.
  expect(report.requests - before.requests).toBeLessThanOrEqual(candidates.length + SITES)
})

test('a slot moves to another master under load: its partition pauses until all of it has arrived', async () => {
  const { candidates, done } = await pour('slot', 10)
  const [, moving = ''] = tags
  const target = ((await cluster.homeOf(moving)) + 1) % 3
  const gone = await cluster.moveTag(moving, target, async () => {
    // More for the others, who may have been done with theirs before half of it had gone.
    const others = pagesOf(journey.web, 2)
      .map(({ id, url }) => ({ id: `half-way/${id}`, url: `${url}?half-way` }))
      .filter(({ url }) => tags[partitionOfUrl(url)] !== moving)
    await journey.frontier.enqueue(others)
    poured += others.length
    candidates.push(...others)
    await expect.poll(() => others.filter(({ id }) => !journey.outcomes.has(id))).toEqual([])
  })
  expect(gone).toBeGreaterThan(10)
  await done()
  await expectPolite(journey, candidates)
  expect(await cluster.homeOf(moving)).toBe(target)
})
