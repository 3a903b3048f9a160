/**
 * Failovers under load, one after another: another server becomes the master of the ledger, or slots move, while gateways and fetchers
 * work. The fleet has to go on by itself: no process of it is started again. Sites record, and the auditor judges.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { judgeRecord, type Violation } from '@decorum/audit'
import { now as clock } from '@decorum/cli/synthetic-web'
import { recordedWeb } from '../support/origins/index.ts'
import { type Book, openBook } from './book.ts'
import { environment, judgedBy, type Times } from './manners.ts'
import { STAGES } from './stages.ts'
import { countTroubles, Worker } from './worker.ts'

export type FailoverOptions = {
  /** of each kind */
  rounds: number
  times: Times
  sites: number
  /** gateways, and as many fetchers: 2 */
  each?: number
  /** a failover that has not healed by then never does, ms */
  patienceMs: number
  say?: (line: string) => void
}

/** Instants are ms of clock(). */
export type Failover = {
  kind: string
  at: number
  /** another server is in charge, or the slot is whole */
  overAt: number
  /** each site has got a page that was enqueued after `at`; undefined: not in time */
  healedAt: number | undefined
}

export type FailoverResult = {
  failovers: Failover[]
  /** requests that the sites heard, and what the auditor says of them */
  requests: number
  violations: number
  accepted: number
  /** accepted, and no outcome */
  lost: string[]
  /** of those that went with the last writes of a master that was killed */
  lostWithTail: number
  /** ends of processes that nobody wanted */
  deaths: string[]
  troubles: Map<string, number>
  broken: string[]
  ms: number
}

/** What a fleet promises: after the hold it goes on, within as much more as connections and elections take. */
export const healsWithin = ({ leaseMs, quarantineMs }: Times): number => leaseMs + quarantineMs + 10_000

/** A replica may lack so much of what its master took last, and connections leave the old master so late: what it took then is gone. */
const TAIL_MS = 1_000
const OF_ONE_SITE = 3
const GIVEN_UP_MS = 5_000
const POUR_MS = 100
const LOOK_MS = 50

export async function failOver(options: FailoverOptions): Promise<FailoverResult> {
  const began = clock()
  const { troubles, onTrouble } = countTroubles()
  const results: OfStage[] = []
  for (const name of Object.keys(STAGES)) results.push(await onStage(name, options, onTrouble))
  const sum = (of: (one: OfStage) => number): number => results.reduce((all, one) => all + of(one), 0)
  return {
    failovers: results.flatMap(({ failovers }) => failovers),
    requests: sum(({ requests }) => requests),
    violations: sum(({ violations }) => violations),
    accepted: sum(({ accepted }) => accepted),
    lost: results.flatMap(({ lost }) => lost),
    lostWithTail: sum(({ lostWithTail }) => lostWithTail),
    deaths: results.flatMap(({ deaths }) => deaths),
    troubles,
    broken: results.flatMap(({ broken }) => broken),
    ms: clock() - began,
  }
}

type OfStage = Omit<FailoverResult, 'troubles' | 'ms'>

async function onStage(
  name: string,
  options: FailoverOptions,
  onTrouble: (name: string, text: string) => void,
): Promise<OfStage> {
  const { rounds, times, sites, each = 2, patienceMs, say = () => undefined } = options
  const folder = await mkdtemp(join(tmpdir(), 'decorum-failover-'))
  const stage = await (STAGES[name] as (typeof STAGES)[string])(folder)
  const deaths: string[] = []
  const env = environment(stage.url, times, { DECORUM_PARTITIONS: String(stage.partitions), PORT: '0' })
  const workers = (['gateway', 'fetcher'] as const)
    .flatMap((role) => Array.from({ length: each }, () => role))
    .map(
      (role, n) =>
        new Worker({
          role,
          name: `${role}-${n}`,
          env,
          onTrouble,
          onDeath: ({ name: who, how, wanted }) => {
            if (!wanted) deaths.push(`${name}: ${who} ended by ${how}`)
          },
        }),
    )
  const web = await recordedWeb(
    Array.from({ length: sites }, (_, n) => ({
      name: `site-${n}`,
      robots: { body: 'User-agent: *\nDisallow: /no' },
      pages: { delayMs: 10 },
    })),
  )
  const end = new AbortController()
  const failovers: Failover[] = []
  let book: Book | undefined
  try {
    await Promise.all(workers.map((worker) => worker.startUntilReady()))
    book = await openBook(stage.url)
    const frontier = book
    const names = Object.keys(web.origins)
    const from = clock()
    const pouring = Promise.all(names.map((site) => pour(frontier, site, `${web.origins[site]}/page`, end.signal)))
    pouring.catch(() => undefined) // awaited below, unless something else fails first
    const hasServed = (site: string, since: number): boolean =>
      [...frontier.outcomes].some(
        ([id]) => id.startsWith(`${site}/`) && (frontier.accepted.get(id)?.from ?? 0) >= since,
      )
    /** @returns when each site has got a page that was enqueued since then; undefined: not in time */
    const served = async (since: number, within: number): Promise<number | undefined> => {
      while (!names.every((site) => hasServed(site, since))) {
        if (clock() - since > within) return undefined
        await Promise.race([sleep(LOOK_MS), pouring.then(() => sleep(LOOK_MS))])
      }
      return clock()
    }
    if ((await served(from, patienceMs)) === undefined) throw new Error(`${name}: no crawl before the first failover`)
    for (let round = 0; round < rounds; round++) {
      for (const [kind, befall] of Object.entries(stage.failovers)) {
        await stage.whole()
        const at = clock()
        await befall()
        const overAt = clock()
        const healedAt = await served(overAt, patienceMs)
        failovers.push({ kind, at, overAt, healedAt })
        const how = healedAt === undefined ? 'did not heal' : `healed after ${((healedAt - at) / 1_000).toFixed(1)} s`
        say(`${kind}: ${how}, ${((overAt - at) / 1_000).toFixed(1)} s of them until another server was in charge`)
      }
    }
    end.abort()
    await pouring
    /** @param from  to `at`: written by a master in that time, and perhaps lost with its last writes */
    const isInTail = (from: number, at: number): boolean =>
      failovers.some((one) => at >= one.at - TAIL_MS && from <= one.overAt + TAIL_MS)
    const inTail = (id: string): boolean => {
      const { from, at } = frontier.accepted.get(id) ?? { from: 0, at: 0 }
      return isInTail(from, at)
    }
    const [soon, until] = [clock() + GIVEN_UP_MS, clock() + patienceMs]
    const isAwaited = (): boolean => frontier.waiting().some((id) => !inTail(id) || clock() < soon)
    while (isAwaited() && clock() < until) await sleep(LOOK_MS)
    const evidence = await web.evidence()
    const report = judgeRecord(evidence, judgedBy(times))
    // A robots.txt whose record went with a master's last writes is asked for again.
    const wentWithTail = ({ offence, origin, at }: Violation): boolean => {
      if (offence !== 'robots-too-often') return false
      const before = evidence.requests.findLast(
        (one) => one.origin === origin && one.path === '/robots.txt' && one.start < at,
      )
      return before !== undefined && isInTail(before.end, before.end)
    }
    const violations = report.examples.filter((one) => !wentWithTail(one))
    const excused = report.examples.length - violations.length
    const waiting = frontier.waiting()
    const lost = waiting.filter((id) => !inTail(id))
    return {
      failovers,
      requests: report.requests,
      violations: report.total - excused,
      accepted: frontier.accepted.size,
      lost,
      lostWithTail: waiting.length - lost.length,
      deaths,
      broken: [
        ...violations.map(({ offence, origin, path, because }) => `${name}: ${offence}: ${origin}${path}: ${because}`),
        ...lost.map((id) => `${name}: ${id} was accepted and has no outcome`),
        ...deaths,
        ...failovers.filter(({ healedAt }) => healedAt === undefined).map(({ kind }) => `${kind}: did not heal`),
      ],
    }
  } finally {
    end.abort()
    for (const worker of workers) worker.end()
    await Promise.all(workers.map((worker) => worker.gone()))
    await book?.close().catch(() => undefined)
    await stage.stop()
    await web.close()
    await rm(folder, { recursive: true, force: true })
  }
}

/** A site never has much to wait for, so that what is enqueued after a failover shows soon whether it has healed. */
async function pour(book: Book, site: string, url: string, signal: AbortSignal): Promise<void> {
  for (let n = 0; !signal.aborted;) {
    const since = clock() - GIVEN_UP_MS // what went with a master's last writes is not waited for
    const waiting = book.waiting().filter((id) => id.startsWith(`${site}/`) && (book.accepted.get(id)?.at ?? 0) > since)
    if (waiting.length < OF_ONE_SITE) {
      const id = `${site}/${n++}`
      await book.pour([{ id, url: `${url}-${n}` }])
    } else await sleep(POUR_MS, undefined, { signal }).catch(() => undefined)
  }
}
