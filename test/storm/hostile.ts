/**
 * A flood: one fleet, first quiet and then with hostile sites, limited tokens, anonymous clients and a frontier that pours, with the same
 * polite sites at work. Polite sites record; nothing is killed.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Evidence, judgeRecord, type Report } from '@decorum/audit'
import { now as clock } from '@decorum/cli/synthetic-web'
import { Redis } from 'ioredis'
import { recordedWeb, type Site } from '../support/origins/index.ts'
import { type Book, openBook } from './book.ts'
import type { CallersCounts, CallersOptions } from './hostile-callers.ts'
import { hostileOrigin, KINDS, type Kind, type Place } from './hostile-owners.ts'
import type { WebCounts, WebReady } from './hostile-web.ts'
import { environment, judgedBy, type Times } from './manners.ts'
import { placeOf, pour, rejects } from './pour.ts'
import { startRedisUnderFire } from './redis-fire.ts'
import { type Use, watchFleet } from './watch-fleet.ts'
import { countTroubles, Worker } from './worker.ts'

export type HostileOptions = {
  /** in which the flood is measured; it goes on until each kind of hostility has been answered once, at most `calmMs` longer */
  ms: number
  /** of the quiet phase before it */
  quietMs: number
  /** longest time in which all ends afterwards */
  calmMs: number
  times: Times
  processes: Partial<Record<Worker['role'], number>>
  polite: number
  redisBytes: number
  /** URLs a second of the frontier that pours, as long as it is let in */
  pouredRate: number
  /** limit of the URLs that are stored of the crawl that pours; absent: none */
  pouredLimit?: number
  /** folder for the record of the polite sites */
  keep?: string
  say?: (line: string) => void
}

/** One of the two phases. */
export type Phase = {
  /** pages of polite sites a second, and of the site that had least */
  rate: number
  leastRate: number
  use: Use
  /** load average of the machine at its end */
  load: number
  /** what became of a program that logs in to the console with the right password */
  logins: { right: number; refused: number }
}

export type HostileResult = {
  quiet: Phase
  flooded: Phase
  report: Report
  lost: string[]
  doubled: string[]
  accepted: { polite: number; poured: number }
  sites: WebCounts
  callers: CallersCounts
  /** kinds of hostility that it had none of */
  missing: string[]
  /** processes that were ended and started again */
  replaced: string[]
  troubles: Map<string, number>
}

const PASSWORD = 'the-right-password'
const PARTITIONS = 2
const TOKENS = Array.from({ length: 5 }, (_, n) => `limited-token-${n}-0123456789`)
const [POLITE, POURED, THEIRS] = ['polite', 'poured', 'theirs']
const POUR_MS = 500
const LOGIN_MS = 1_000
const REPORT_MS = 10_000
/** Pages of each site before the quiet phase begins. */
const WARM_PAGES = 2
const CERTIFICATES = fileURLToPath(new URL('../fetcher/certs/ca.pem', import.meta.url))

export async function flood(options: HostileOptions): Promise<HostileResult> {
  const { ms, times, say = () => undefined } = options
  const folder = await mkdtemp(join(tmpdir(), 'decorum-flood-'))
  const data = join(folder, 'redis')
  await mkdir(data)
  const redis = await startRedisUnderFire(data)
  const watch = watchFleet(folder, redis.url)
  const sites: Site[] = Array.from({ length: options.polite }, (_, n) => ({
    name: `polite-${n}`,
    robots: { body: 'User-agent: *\nDisallow: /no\n', type: 'text/plain' },
    pages: { delayMs: 10 },
  }))
  const web = await recordedWeb(sites)
  const origins = Object.values(web.origins)
  const { troubles, onTrouble } = countTroubles()
  const closing: (() => unknown)[] = []
  const end = new AbortController()
  try {
    await limitMemory(redis.url, options.redisBytes)
    const hostileWeb = start('hostile-web.ts', origins)
    closing.push(() => hostileWeb.kill())
    const { places, dns } = await said<WebReady>(hostileWeb)
    const env = environment(redis.url, times, {
      DECORUM_PARTITIONS: String(PARTITIONS),
      DECORUM_PERMIT_TOKENS: JSON.stringify(
        TOKENS.map((token, n) => ({
          name: `token-${n}`,
          token,
          agents: ['stormbot'],
          crawls: [THEIRS],
          maxWaiting: 8,
        })),
      ),
      CONSOLE_PASSWORD: PASSWORD,
      DNS_SERVERS: dns,
      NODE_EXTRA_CA_CERTS: CERTIFICATES,
      PORT: '0',
      ...watch.env,
    })
    const workers = (Object.entries(options.processes) as [Worker['role'], number][]).flatMap(([role, count]) =>
      Array.from(
        { length: count },
        (_, n) =>
          new Worker({
            role,
            name: `${role}-${n + 1}`,
            env,
            onTrouble,
          }),
      ),
    )
    closing.push(() => {
      for (const worker of workers) worker.end()
    })
    await Promise.all(workers.map((worker) => worker.startUntilReady()))
    watch.begin(workers)
    const baseOf = (role: Worker['role']): string =>
      `http://127.0.0.1:${workers.find((worker) => worker.role === role)?.port}`
    const patience = { patienceMs: options.quietMs + 3 * ms + options.calmMs }
    const polite = await openBook(redis.url, { crawl: POLITE, ...patience })
    closing.push(() => polite.close())
    const rate = (options.polite * 1_000) / times.delayMs
    const politeUrl = (n: number): string => {
      const [site, k] = placeOf(n, origins.length)
      return `${origins[site]}/page/${k}`
    }
    const pouring = pour(polite, rate, politeUrl, end.signal)
    const logins: { at: number; isRight: boolean }[] = []
    const loggingIn = logIn(baseOf('console'), logins, end.signal)
    while (polite.outcomes.size < WARM_PAGES * options.polite) await Promise.race([sleep(100), rejects(pouring)])

    const spans: { from: number; until: number; load: number }[] = []
    const phase = async (name: string, lastsMs: number): Promise<void> => {
      const from = clock()
      const ticker = setInterval(
        () =>
          say(
            `${name}, ${Math.round((clock() - from) / 1_000)} s: ${polite.outcomes.size} pages of polite sites so far`,
          ),
        REPORT_MS,
      )
      await Promise.race([sleep(lastsMs), rejects(pouring)]).finally(() => clearInterval(ticker))
      spans.push({ from, until: clock(), load: loadavg()[0] ?? 0 })
    }
    await phase('quiet', options.quietMs)
    const poured = await openBook(redis.url, { crawl: POURED, ...patience })
    closing.push(() => poured.close())
    if (options.pouredLimit !== undefined)
      await changeCrawl(baseOf('console'), POURED, { limits: { stored: options.pouredLimit } })
    const flooding = pourForEver(poured, options.pouredRate, places, end.signal)
    const callers = start('hostile-callers.ts')
    closing.push(() => callers.kill())
    callers.send({
      permits: baseOf('permits'),
      console: baseOf('console'),
      tokens: TOKENS,
      crawl: THEIRS,
      places,
    } satisfies CallersOptions)
    await phase('flooded', ms)
    const counts = () => Promise.all([ask<WebCounts>(hostileWeb), ask<CallersCounts>(callers)])
    let [siteCounts, counted] = await counts()
    const latest = clock() + options.calmMs
    while (missingOf(siteCounts, counted).length > 0 && clock() < latest) {
      await sleep(500)
      ;[siteCounts, counted] = await counts()
    }
    callers.kill()
    end.abort()
    await loggingIn
    say(`over: ${polite.accepted.size} polite and ${poured.accepted.size} poured candidates, which are cancelled now`)
    await Promise.all([POLITE, POURED].map((crawl) => changeCrawl(baseOf('console'), crawl, { action: 'cancel' })))
    const books = [polite, poured]
    const until = clock() + options.calmMs
    await Promise.race([Promise.all([pouring, flooding]), sleep(options.calmMs)])
    while (books.some((book) => book.waiting().length > 0) && clock() < until) await sleep(500)
    for (const worker of workers) worker.end()
    await Promise.all(workers.map((worker) => worker.gone()))
    const evidence = await web.evidence()
    if (options.keep !== undefined) await copyFile(web.record, join(options.keep, 'visits.ndjson'))
    const phases = spans.map(({ from, until: to, load }): Phase => {
      const rights = logins.filter(({ at }) => at >= from && at <= to)
      const right = rights.filter(({ isRight }) => isRight).length
      return {
        ...ratesOf(evidence, origins, from, to),
        use: watch.between(from, to),
        load,
        logins: { right, refused: rights.length - right },
      }
    })
    const [quiet, flooded] = phases as [Phase, Phase]
    return {
      quiet,
      flooded,
      report: judgeRecord(evidence, judgedBy(times)),
      lost: books.flatMap((book) => book.waiting()),
      doubled: books.flatMap(({ outcomes }) => [...outcomes].flatMap(([id, { length }]) => (length > 1 ? [id] : []))),
      accepted: { polite: polite.accepted.size, poured: poured.accepted.size },
      sites: siteCounts,
      callers: counted,
      missing: missingOf(siteCounts, counted),
      replaced: watch.replaced,
      troubles,
    }
  } finally {
    end.abort()
    for (const close of closing.toReversed()) await close()
    watch.end()
    await redis.stop()
    await web.close()
    await rm(folder, { recursive: true, force: true })
  }
}

async function limitMemory(url: string, bytes: number): Promise<void> {
  const redis = new Redis(url)
  await redis.config('SET', 'maxmemory', String(bytes))
  redis.disconnect()
}

const start = (file: string, args: string[] = []): ChildProcess =>
  fork(fileURLToPath(new URL(file, import.meta.url)), args, { detached: true })
/** Its next message. @throws Error when it ends instead */
const said = async <T>(child: ChildProcess): Promise<T> => {
  const [message] = await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => Promise.reject(new Error(`${child.spawnargs[1]} ended`))),
  ])
  return message as T
}
const ask = <T>(child: ChildProcess): Promise<T> => {
  const answer = said<T>(child)
  child.send('counts')
  return answer
}

/** A frontier that sends far more than can be fetched, each URL of a host that nobody has seen. */
async function pourForEver(book: Book, rate: number, places: readonly Place[], signal: AbortSignal): Promise<void> {
  for (let n = 0; !signal.aborted;) {
    const batch = Array.from({ length: (rate * POUR_MS) / 1_000 }, () => ({
      id: `p${n}`,
      url: `${hostileOrigin(places, n++)}/${n}`,
    }))
    await book.pour(batch)
    await sleep(POUR_MS, undefined, { signal }).catch(() => undefined)
  }
}

const asOperator = { authorization: `Basic ${Buffer.from(`decorum:${PASSWORD}`).toString('base64')}` }

async function logIn(base: string, logins: { at: number; isRight: boolean }[], signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const status = await fetch(`${base}/v1/fleet`, { headers: asOperator }).then(
      async (answer) => {
        await answer.arrayBuffer()
        return answer.status
      },
      () => 0,
    )
    logins.push({ at: clock(), isRight: status === 200 })
    await sleep(LOGIN_MS, undefined, { signal }).catch(() => undefined)
  }
}

async function changeCrawl(base: string, crawl: string, change: object): Promise<void> {
  const answer = await fetch(`${base}/v1/crawls/${crawl}`, {
    method: 'PATCH',
    headers: { ...asOperator, 'content-type': 'application/json' },
    body: JSON.stringify(change),
  })
  if (!answer.ok) throw new Error(`the crawl ${crawl} was not changed: ${answer.status} ${await answer.text()}`)
}

function ratesOf(
  { requests }: Evidence,
  origins: string[],
  from: number,
  until: number,
): Pick<Phase, 'rate' | 'leastRate'> {
  const counts = new Map(origins.map((origin) => [origin, 0]))
  for (const { origin, path, start: at } of requests)
    if (path.startsWith('/page/') && at >= from && at < until) counts.set(origin, (counts.get(origin) ?? 0) + 1)
  const seconds = (until - from) / 1_000
  const each = [...counts.values()]
  return { rate: each.reduce((sum, n) => sum + n, 0) / seconds, leastRate: Math.min(...each) / seconds }
}

const DEEDS = ['robots', 'shadow', 'permits', 'big bodies', 'wrong passwords']
const missingOf = (sites: WebCounts, callers: CallersCounts): string[] => [
  ...(Object.keys(KINDS) as Kind[]).filter((kind) => !sites[kind]).map((kind) => `a site that is ${kind}`),
  ...DEEDS.filter((deed) => callers[deed] === undefined),
]
