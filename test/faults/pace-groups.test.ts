/**
 * Thirty names on one address: three fetchers of eight slots, two gateways, some of them killed, and never a request that comes
 * before the address is open; judged by what the address itself wrote down.
 */
import { judgeRecord } from '@decorum/audit'
import { openFrontier } from '@decorum/client'
import { loadPaceGroups } from '@decorum/politeness'
import { afterEach, expect, test } from 'vitest'
import { dnsServer } from '../fetcher/support/dns-server.ts'
import { splitAgainAsked } from '../storm/again-asked.ts'
import { diceOf } from '../storm/dice.ts'
import { environment, judgedBy, SCALED } from '../storm/manners.ts'
import { Worker } from '../storm/worker.ts'
import { recordedWeb } from '../support/origins/index.ts'
import { redisForTest } from '../support/redis.ts'

const redis = await redisForTest({ appendonly: true })
const SEED = Number(process.env.DECORUM_SEED ?? Date.now() % 1_000_000)
const ADDRESS = '127.77.0.1'
/** DECORUM_NAMES=100 DECORUM_FETCHERS=16 is the form whose figures are in docs/promises.md. */
const NAMES = Number(process.env.DECORUM_NAMES ?? 30)
const [GATEWAYS, FETCHERS, KILLS] = [2, Number(process.env.DECORUM_FETCHERS ?? 3), 3]
const SLOTS = 8
const GROUPS = '{"address":{"delayMs":20,"inFlight":2}}'
const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

test(`${NAMES} names on one address, ${FETCHERS} fetchers, ${KILLS} of them killed: no request before the address is due`, async () => {
  console.log(`seed ${SEED} (again: DECORUM_SEED=${SEED})`)
  const dice = diceOf(SEED)
  const names = Array.from({ length: NAMES }, (_, n) => `site-${n}`)
  const sites = names.map((name) => ({ name, robots: { body: '' }, pages: { delayMs: 5 } }))
  const web = await recordedWeb(sites, { address: ADDRESS })
  closing.push(web.close)
  const dns = await dnsServer(Object.fromEntries(names.map((name) => [`${name}.test`, { a: [ADDRESS] }])))
  const env = environment(redis.url, SCALED, {
    PACE_GROUPS: GROUPS,
    DNS_SERVERS: dns.address,
    FETCH_CONCURRENCY: String(SLOTS),
  })
  const workers = [
    ...Array.from({ length: GATEWAYS }, (_, n) => new Worker({ role: 'gateway', name: `gateway-${n}`, env })),
    ...Array.from({ length: FETCHERS }, (_, n) => new Worker({ role: 'fetcher', name: `fetcher-${n}`, env })),
  ]
  closing.push(() => Promise.all(workers.map((worker) => worker.stop(5_000))))
  await Promise.all(workers.map((worker) => worker.start()))

  const frontier = await openFrontier({ redis: redis.url })
  closing.push(() => frontier.close())
  const candidates = names.flatMap((name) =>
    [0, 1].map((n) => ({ url: `${web.origins[name]}/page-${n}`, id: `${name}/${n}` })),
  )
  await frontier.enqueue(candidates)
  const ended = new Map<string, string>()
  const every = Math.floor(candidates.length / (KILLS + 1))
  for await (const { outcome, ack } of frontier.outcomes({ group: 'test' })) {
    ended.set(outcome.id, outcome.kind)
    await ack()
    if (ended.size % every === 0 && ended.size < candidates.length)
      workers[GATEWAYS + dice.whole(0, FETCHERS - 1)]?.kill()
    if (ended.size === candidates.length) break
  }

  const evidence = await web.evidence()
  const report = judgeRecord(evidence, { ...judgedBy(SCALED), paceGroups: loadPaceGroups(GROUPS) })
  const { violations, againAsked } = splitAgainAsked(report)
  expect(violations).toEqual([])
  expect(againAsked.length).toBeLessThanOrEqual(KILLS * SLOTS)
  expect(report.paceGroups).toBe(1)
  expect(new Set(ended.values())).toEqual(new Set(['fetched']))
  // It could have been rude: with lanes alone in force, the same record shows what was prevented.
  const alone = judgeRecord(evidence, { ...judgedBy(SCALED), paceGroups: loadPaceGroups('{"address":{"delayMs":40}}') })
  expect(alone.violations['pace-group']).toBeGreaterThan(0)
})
