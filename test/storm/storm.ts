/** The storm: a real fleet on a real Redis among many sites, everything that can die dying, and a verdict at the end. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { now as clock } from '@decorum/cli/synthetic-web'
import { FLEET_SETTINGS } from '@decorum/config'
import { recordedWeb } from '../support/origins/index.ts'
import { type Book, openBook } from './book.ts'
import { changeConfig } from './config-changes.ts'
import { diceOf } from './dice.ts'
import { type FaultLog, kindsMissing, letLoose, type Rhythm, type Target } from './faults.ts'
import { deedsMissing, type HolderFacts, holdPermits } from './holders.ts'
import { openLink } from './link.ts'
import { environment, longerDelay, type Times } from './manners.ts'
import { OF_ONE_SITE, placeOf, pour } from './pour.ts'
import { crawlThroughProxies, type ProxiedFacts, proxiedMissing } from './proxied.ts'
import { startRedisUnderFire } from './redis-fire.ts'
import { watchStalls } from './stalls.ts'
import { calm, storedIds, untilRead } from './stored.ts'
import { stormSites } from './storm-sites.ts'
import { judgeStorm, type StormFacts, type Verdict } from './verdict.ts'
import { countTroubles, Worker } from './worker.ts'

export type StormOptions = {
  seed: number
  /** length of the faults; then the fleet is left alone until all is done, for `calmMs` at most */
  ms: number
  calmMs: number
  times: Times
  rhythm: Rhythm
  gateways: number
  fetchers: number
  permits: number
  proxies: number
  sites: number
  /** candidates poured in per second */
  rate: number
  /** a machine that others use too gets longer: up to four times `ms`, until so much has happened, and each kind of fault once */
  least: { outcomes: number; kills: number; freezes: number }
  say?: (line: string) => void
}

export type StormResult = {
  facts: StormFacts
  verdict: Verdict
  holders: HolderFacts
  proxied: ProxiedFacts
  /** kinds of fault, and deeds of those who hold permits or ask through proxies, that it had none of */
  missing: string[]
  troubles: Map<string, number>
  ms: number
}

const SKEW = fileURLToPath(new URL('../faults/skew.mjs', import.meta.url))
const HOUR = 3_600_000
const PARTITIONS = 2
/** of one fetcher */
const SLOTS = 20
const POUR_MS = 250
const REPORT_MS = 15_000

export async function storm(options: StormOptions): Promise<StormResult> {
  const { seed, ms, calmMs, times, rhythm, say = () => undefined } = options
  const began = clock()
  const folder = await mkdtemp(join(tmpdir(), 'decorum-storm-'))
  const data = join(folder, 'redis')
  await mkdir(data)
  const redis = await startRedisUnderFire(data)
  const stalls = watchStalls(folder, redis.url)
  const places = stormSites(options.sites, times)
  const web = await recordedWeb(places.sites)
  const { troubles, onTrouble } = countTroubles()
  const targets: Target[] = []
  let book: Book | undefined
  try {
    const environments = await mobilise(options, redis, targets, onTrouble)
    await Promise.all(targets.map(({ worker }) => worker.startUntilReady()))
    // Whoever starts again takes from the configuration what all agree on, as it stands by then
    for (const env of environments) for (const name of FLEET_SETTINGS) delete env[name]
    book = await openBook(redis.url)
    const frontier = book
    say(`${targets.length} processes, ${places.sites.length} sites, seed ${seed}`)
    const end = new AbortController()
    const from = clock()
    const log: FaultLog = { kills: [], freezes: [], outages: [], hurts: [], configs: [] }
    const raging = letLoose(targets, redis, { rhythm, times, dice: diceOf(seed), ms, log, signal: end.signal })
    const urlOf = (n: number): string => places.url(web.origins, ...placeOf(n, places.sites.length))
    const dice = diceOf(seed + 2)
    const changing = changeConfig(
      redis.url,
      PARTITIONS,
      longerDelay(times),
      () => dice.between(rhythm.configMs * 0.5, rhythm.configMs * 1.5),
      log.configs,
      end.signal,
    )
    const pouring = pour(frontier, options.rate, urlOf, end.signal)
    const holding = holdPermits({
      bases: () =>
        targets.flatMap(({ worker }) =>
          worker.role === 'permits' && worker.state === 'running' ? [`http://127.0.0.1:${worker.port}`] : [],
        ),
      urlOf: (n) => `${new URL(urlOf(n * OF_ONE_SITE)).origin}/permit/${n}`,
      lineUrl: (n) => `${new URL(places.url(web.origins, 0, 0)).origin}/line/${n}`,
      times,
      dice: diceOf(seed + 1),
      signal: end.signal,
    })
    const proxied = crawlThroughProxies({
      ports: () =>
        targets.flatMap(({ worker }) => (worker.role === 'proxy' && worker.state === 'running' ? [worker.port] : [])),
      urlOf: (n) => `${new URL(urlOf((n + 1) * OF_ONE_SITE)).origin}${n % 10 === 9 ? '/no' : ''}/proxied/${n}`,
      times,
      dice: diceOf(seed + 3),
      signal: end.signal,
    })
    const ticker = setInterval(() => say(progress(frontier, began)), REPORT_MS)
    const roles = targets.map(({ worker }) => worker.role)
    const missing = (): string[] => [
      ...kindsMissing(log, roles),
      ...deedsMissing(holding.facts),
      ...proxiedMissing(proxied.facts),
    ]
    await Promise.race([
      longEnough(options, log, missing, frontier),
      raging,
      pouring,
      changing,
      holding.ended,
      proxied.ended,
    ]) // the others reject when something is wrong
    end.abort()
    await raging
    await pouring
    await changing
    await holding.ended
    await proxied.ended
    say('the storm is over')
    await calm(frontier, redis.url, PARTITIONS, calmMs)
    clearInterval(ticker)
    // Nobody is at work while the stores are counted; what has just ended is still handed out.
    await Promise.all(targets.map(({ worker }) => worker.runs()))
    for (const { worker } of targets) worker.end()
    await Promise.all(targets.map(({ worker }) => worker.gone()))
    // What is still under way in a link would come while the stores are counted.
    for (const { link } of targets) await link?.close()
    const stored = await storedIds(redis.url, PARTITIONS)
    await untilRead(redis.url, PARTITIONS, calmMs)
    const evidence = await web.evidence()
    await frontier.close()
    const { accepted, outcomes, unsure, redelivered } = frontier
    const facts: StormFacts = {
      times,
      slots: SLOTS,
      evidence,
      faults: log,
      stalls: stalls.end(from),
      starts: targets.flatMap(({ worker }) => worker.starts),
      book: { accepted, outcomes, unsure, redelivered },
      stored,
      breaksOff: places.breaksOff(web.origins),
    }
    return {
      facts,
      verdict: judgeStorm(facts),
      holders: holding.facts,
      proxied: proxied.facts,
      missing: missing(),
      troubles,
      ms: clock() - began,
    }
  } finally {
    await book?.close()
    for (const { worker } of targets) worker.end()
    for (const { link } of targets) await link?.close()
    await redis.stop()
    await web.close()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Until its time is over and it has been a storm. */
async function longEnough(
  { ms, least }: StormOptions,
  { kills, freezes }: FaultLog,
  missing: () => string[],
  book: Book,
): Promise<void> {
  await sleep(ms)
  const until = clock() + 15 * ms // a busy machine needs longer
  const enough = (): boolean =>
    book.outcomes.size >= least.outcomes &&
    kills.length >= least.kills &&
    freezes.length >= least.freezes &&
    missing().length === 0
  while (!enough() && clock() < until) await sleep(POUR_MS)
}

/** Some workers reach Redis by a link that can be hurt, some have clocks that are an hour off. */
async function mobilise(
  { gateways, fetchers, permits, proxies, times }: StormOptions,
  redis: { url: string; port: number },
  targets: Target[],
  onTrouble: (name: string, text: string) => void,
): Promise<NodeJS.ProcessEnv[]> {
  const environments: NodeJS.ProcessEnv[] = []
  const add = async (
    role: Worker['role'],
    n: number,
    linked: boolean,
    skewMs: number,
    processes: number,
  ): Promise<void> => {
    const link = linked ? await openLink(redis.port) : undefined
    const skew =
      skewMs === 0 ? {} : { SKEW_MS: String(skewMs), NODE_OPTIONS: `${process.env.NODE_OPTIONS} --import ${SKEW}` }
    const url = link === undefined ? redis.url : `redis://127.0.0.1:${link.port}`
    const env = environment(url, times, {
      DECORUM_PARTITIONS: String(PARTITIONS),
      FETCH_CONCURRENCY: String(SLOTS),
      FETCH_PROCESSES: String(processes),
      ...skew,
    })
    environments.push(env)
    const worker = new Worker({ role, name: `${role}-${n}`, env, onTrouble })
    targets.push({ worker, supervised: processes > 0, ...(link === undefined ? {} : { link }) })
  }
  for (let n = 1; n <= gateways; n++) await add('gateway', n, n === gateways, n === 2 ? HOUR : 0, 0)
  for (let n = 1; n <= permits; n++) await add('permits', n, n === permits && n > 1, 0, 0)
  for (let n = 1; n <= proxies; n++) await add('proxy', n, n === proxies && n > 1, 0, 0)
  for (let n = 1; n <= fetchers; n++)
    // The last but one has no supervisor, whatever the others have: its guard is its own last look at its lease.
    await add(
      'fetcher',
      n,
      n > fetchers - 2,
      n === 2 ? -HOUR : n === 3 ? HOUR : 0,
      n === fetchers - 1 ? 0 : times.fetchProcesses,
    )
  return environments
}

const progress = ({ accepted, outcomes }: Book, began: number): string =>
  `${Math.round((clock() - began) / 1_000)} s: ${accepted.size} accepted, ${outcomes.size} outcomes`
