/** One run: a fleet, sites and faults from a seed, until every URL has its outcome. README.md says what is played and what is left out. */
import { agentsOf, judgeRecord, type RequestLine, type Violation } from '@decorum/audit'
import { openStats } from '@decorum/fetcher/testing'
import { gatewayMetrics } from '@decorum/gateway/testing'
import { LedgerUnfitError } from '@decorum/ledger'
import type { Permits } from '@decorum/permits/testing'
import { loadPaceGroups } from '@decorum/politeness'
import { type Candidate, HOUR, MINUTE, partitionTags, SECOND } from '@decorum/protocol'
import { watchCrashPoints } from '@decorum/runtime'
import type { Redis } from 'ioredis'
import type { Logger } from 'pino'
import { brokenText } from '../ledger/model/mutants.ts'
import { ALL_VERBS, readAnyPart, textOf } from '../ledger/model/scripts.ts'
import type { Call } from './calls.ts'
import { changePartitions } from './change.ts'
import { Closed } from './closed.ts'
import { agentsWith, Configuration, MAX_DELAY_MS, POOL_AGENT } from './configuration.ts'
import { ALL_POINTS, Coverage } from './coverage.ts'
import { type Around, startCrawler, startProxied, startWorker } from './crawlers.ts'
import { type Dice, diceOf } from './dice.ts'
import { FAULTS, type Fallen, type Fault, type Struck, type Surroundings, startFaults } from './faults.ts'
import { CANDIDATES_LOCK_MS, type Parts, startFetcher, startGateway } from './fleet.ts'
import { Frontier } from './frontier.ts'
import { type ProxyServed, startPermits, startProxy } from './granting.ts'
import { GROUPED, type Grouped, judgedGroups, PACE_GROUPS, sharing } from './grouped.ts'
import { Holds } from './holds.ts'
import { Jobs } from './jobs.ts'
import { Leases } from './leases.ts'
import { linkOf, openWire } from './link.ts'
import { DELAY_MS, siteOf } from './manners.ts'
import { OPERATIONS, type Operators, startOperators } from './operators.ts'
import { type Pace, paceOf } from './pace.ts'
import { Process } from './process.ts'
import { Server } from './server.ts'
import { Shut } from './shut.ts'
import { OF_OTHERS, Web } from './sites.ts'
import { START, Timeline } from './timeline.ts'

/** A fault that is put into the fleet, for the world to find. */
export type Planted =
  /** other code in place of a rule that is marked in the ledger's scripts (test/ledger/model/README.md) */
  | { kind: 'script'; rule: string; put: string }
  /** nobody kills a fetching process that stands still */
  | { kind: 'no supervisor' }

export type WorldOptions = {
  seed: number
  sites?: number
  /** so many of them have nothing about them, [0, 1] */
  plain?: number
  /** so long each site has URLs, if the fleet keeps the permitted rate, virtual s */
  busySeconds?: number
  gateways?: number
  fetchers?: number
  permits?: number
  proxies?: number
  /** crawlers of others that ask for permits, and as many that send through the proxies */
  crawlers?: number
  /** workers of a pool, which fetch the pages of an agent of its own: one URL of so many */
  workers?: number
  poolEvery?: number
  /** one URL of so many has priority high, and of ten so many are of the default crawl */
  highEvery?: number
  ofDefault?: number
  /** absent: drawn from the seed, as the two that follow */
  partitions?: number
  /** of each fetcher */
  slots?: number
  /** which hosts share a pace */
  grouped?: Grouped
  /** between two faults on average, virtual ms; 0: none */
  faultEveryMs?: number
  kinds?: readonly Fault[]
  /** the crash points that faults are at; absent: all */
  points?: readonly string[]
  /** the clock of Redis leaps; absent: in every other world */
  leaps?: boolean
  /** it leaps once, back by an hour, before anything else goes wrong */
  leapsFirst?: boolean
  /** how sites are that are not plain (manners.ts); absent: all manners */
  manners?: readonly string[]
  /** the numbers of the faults that fall; absent: all */
  only?: readonly number[]
  planted?: Planted
  /** ends with the first answer of the ledger that is wrong, and when nothing comes any more: the search for a planted fault need not go on */
  untilWrong?: boolean
  onEvent?: (line: string) => void
}

export type WorldReport = {
  seed: number
  /** of all that has happened, in order */
  hash: string
  events: number
  virtualMs: number
  requests: number
  faults: readonly Fallen[]
  /** requests that broke a promise, and are no work of an operator */
  violations: readonly Violation[]
  pace: Pace
  /** nothing went wrong, and nobody but the fleet made requests: then it has to keep the rate that it may have */
  isCalm: boolean
  coverage: Coverage
  /** ids without an outcome, and with more than one */
  lost: string[]
  twice: string[]
  /** what outcomes say and the sites' record does not, in words */
  untrue: string[]
  /** requests that were sent while nothing may be sent, in words */
  shut: string[]
  /** what the ledger has answered and may not, in words */
  leases: string[]
  /** what the fleet has logged as a fault of its own */
  problems: string[]
}

const SETTINGS = {
  leaseMs: 45_000,
  quarantineMs: 10_000,
  reserveMs: 30_000,
  deadlineMs: 30_000,
  maxAttempts: 5,
}
/** After these no request comes again that was answered; a cut is shorter than a lease. */
const HARMLESS: ReadonlySet<Fault> = new Set([...OPERATIONS, 'lost reply', 'slow link', 'unheard', 'cut'])
const HOLD_MS = SETTINGS.leaseMs + SETTINGS.quarantineMs
const LONGEST_MS = 20 * MINUTE
/** After a restart that was announced and did not come, no other trouble comes so soon: every process has granted and been granted something by then. */
const CALLED_OFF_MS = 20 * SECOND
/** Operators are away for longer than all others: nobody is left who has seen the time pass. */
const AFTER_BLACKOUT_MS = 5 * SECOND
/** Nothing keeps all URLs of a run waiting for so long, neither a hold nor a robots.txt that fails. */
const SILENT_MS = 5 * MINUTE
/** A younger process does not vouch for the time, so a leap in a fleet of such has passed for it (docs/decisions/0014-a-clock-that-leaps.md). */
const VOUCHES_AFTER_MS = 6 * SECOND
/** A step back of the clock that is waited out. */
const BELIEVED_MS = -700
/** One URL of so many is fetched by workers of a pool: more than they do in time would be a tail in which nothing else happens. */
const OF_POOL = 30
/** A robots.txt that only a permit token asked about is kept for at least this time, ms (docs/robots.md). */
const KEPT_UNCLAIMED_MS = 30_000
/** Of the hosts of a fleet in which nothing goes wrong, so many have their rate. */
const LEAST_BUSY = 0.9
/** Faults go on until nearly all URLs have their outcome. */
const FAULTS_FOR = 2

/** Metrics of all worlds of this process: what they count is not looked at, and each set of them has timers of Node. */
const metrics = gatewayMetrics()
const stats = openStats({ size: 0, taken: 0, waiting: 0 })

/** @param real  an empty Redis, for this run alone */
export async function runWorld(real: Redis, options: WorldOptions): Promise<WorldReport> {
  const { seed, sites: siteCount = 90, busySeconds = 60, faultEveryMs = 2_500, planted } = options
  const { gateways = 2, fetchers = 5, permits = 1, proxies = 1, crawlers = 3 } = options
  await real.flushall()
  const dice = diceOf(`seed ${seed}`)
  const shape = dice.apart('shape')
  const drawn = {
    partitions: shape.pick([1, 1, 2, 3]),
    slots: faultEveryMs > 0 ? shape.pick([60, 60, 60, 4]) : 60,
    grouped: shape.pick(GROUPED),
  }
  const { partitions, slots, grouped } = { ...drawn, ...options }
  const workers = permits > 0 ? (options.workers ?? 4) : 0
  const settings = { ...SETTINGS, partitions, slots }
  let tags: readonly string[] = partitionTags(partitions)
  let retired: readonly string[] = []
  const timeline = new Timeline()
  if (options.onEvent !== undefined) timeline.onEvent = options.onEvent
  const coverage = new Coverage()
  /** Redis's clock leaps in every other world; there, nothing is asked for by the hour. */
  const { leapsFirst = false, leaps = leapsFirst || dice.apart('manner').below(2) !== 0 } = options
  const isSteady = !leaps
  const hasOthers = permits > 0 || proxies > 0
  const isCalm = faultEveryMs === 0 && !hasOthers
  const sites = Array.from({ length: siteCount }, (_, n) => siteOf(n, dice.apart(`site ${n}`), isSteady, options))
  const web = new Web(timeline, dice.apart('web'), sites)
  const holds = new Holds()
  const leases = new Leases(timeline, holds, SETTINGS.quarantineMs)
  const observer = {
    ran(call: Call, process: Process): void {
      if (call.verb === 'record' && call.said[0] === 'completed') web.known(call.arg('origin'), process)
      coverage.ran(call)
      leases.ran(call)
    },
    closed: (cells: readonly string[]) => coverage.closed(cells),
    woke: (channel: string) => leases.woke(channel),
  }
  const server = new Server(timeline, real, dice.apart('network'), observer, scriptsWith(planted), tags)
  const lives = new Map<string, number>()
  leases.mayBeginEpoch = (tag) => {
    const before = lives.get(tag) ?? 0
    lives.set(tag, server.life)
    // Where the only process left has a slow link, what it vouches for comes too late, and the ledger takes that for a leap
    return leaps || kinds.includes('slow link') || before < server.life
  }
  const configuration = new Configuration(timeline)
  const closed = new Closed()
  const shut = new Shut()
  web.onAsked = (line, answer) =>
    shut.asked(line, answer, line.agent === fleetAgents.default.userAgent && !line.path.includes(OF_OTHERS))
  const fleetAgents = agentsWith({ minDelayMs: DELAY_MS })
  const keys = new Map(fleetAgents.list.map(({ userAgent, key }) => [userAgent, key]))
  web.onSent = (agent, origin) => leases.sent(keys.get(agent) ?? agent, origin)
  for (const { host, opensAt } of sites) {
    if (opensAt === undefined) continue
    closed.begin(host, START)(opensAt + SECOND)
    shut.begin('visit-time', host, 0, opensAt)
  }
  const shared = sharing(grouped, sites)
  for (const host of shared) closed.begin(host, START) // its pace is not its own
  /** of each partition that there has been */
  const queues = new Map<string, { candidates: Jobs<Candidate[]>; orders: Jobs<{ orders: unknown[] }> }>()
  const queuesOf = (tag: string) => {
    const known = queues.get(tag) ?? {
      candidates: new Jobs<Candidate[]>(timeline, server, `candidates ${tag}`, CANDIDATES_LOCK_MS),
      orders: new Jobs<{ orders: unknown[] }>(timeline, server, `orders ${tag}`, undefined),
    }
    queues.set(tag, known)
    return known
  }
  const jobs = () => [...queues.values()].flatMap(({ candidates, orders }) => [candidates, orders])
  const problems: string[] = []

  const running = new Set<Struck>()
  const served = { permits: new Map<Process, Permits>(), proxies: new Map<Process, ProxyServed>() }
  let operators: Operators | undefined
  let areStopped = false
  const groups = loadPaceGroups(PACE_GROUPS[grouped])
  const common = { settings, groups, web, log: logOf(timeline, problems), metrics, stats }

  /** Runs a process of this role for as long as the world lasts: another one takes the place of one that has died. */
  const keep = (role: string, n: number, start: (parts: Parts) => Promise<unknown>, life = 1): void => {
    const name = `${role}-${n}.${life}`
    const isWatched = role === 'fetcher' && planted?.kind !== 'no supervisor'
    const process = new Process(name, timeline, dice.apart(name), isWatched)
    const wire = openWire()
    const struck = { role, process, wire }
    running.add(struck)
    process.onDeath(() => {
      running.delete(struck)
      const again = (): void =>
        void timeline.after(process.dice.between(200, 5_000), `${role}-${n} is started again`, () =>
          areStopped ? again() : keep(role, n, start, life + 1),
        )
      again()
    })
    const agents = configuration.agents()
    const follow: Parts['follow'] = (ledger) => configuration.follow(process, wire, ledger, agents)
    const link = linkOf(server, process, wire)
    const candidates = [...tags, ...retired].map((tag) => queuesOf(tag).candidates)
    const orders = tags.map((tag) => queuesOf(tag).orders)
    const parts: Parts = { ...common, candidates, orders, agents, follow, process, wire, link }
    start(parts).catch((error: Error) => {
      if (process.isAlive) problems.push(`${name} has ended: ${error.stack}`)
    })
  }
  const oneOf =
    <T>(some: Map<Process, T>) =>
    (of: Dice): { process: Process; served: T } | undefined => {
      const alive = [...some].filter(([process]) => process.isAlive)
      const found = alive[of.below(alive.length || 1)]
      return found && { process: found[0], served: found[1] }
    }
  const serving =
    <T>(some: Map<Process, T>, start: (parts: Parts) => Promise<T>) =>
    async (parts: Parts): Promise<void> => {
      parts.process.onDeath(() => some.delete(parts.process))
      some.set(parts.process, await start(parts))
    }
  const around: Around = {
    timeline,
    web,
    sites,
    userAgent: fleetAgents.default.userAgent,
    poolAgent: fleetAgents.find(POOL_AGENT)?.userAgent ?? '',
    permits: oneOf(served.permits),
    proxies: oneOf(served.proxies),
    waitsFor: (gate) => coverage.reach(`${gate} permit grant`),
    stoppedFor: (origin) => (leases.isAtEase ? holds.stoppedFor(web.addressOf(origin), timeline.now) : undefined),
    problem: (text) => problems.push(text),
  }
  const roles: [role: string, count: number, start: (parts: Parts) => Promise<unknown>][] = [
    ['gateway', gateways, startGateway],
    ['fetcher', fetchers, startFetcher],
    ['permits', permits, serving(served.permits, startPermits)],
    ['proxy', proxies, serving(served.proxies, startProxy)],
    ['crawler', permits > 0 ? crawlers : 0, ({ process }) => startCrawler(process, around)],
    ['worker', workers, ({ process }) => startWorker(process, around)],
    ['client', proxies > 0 ? crawlers : 0, ({ process }) => startProxied(process, around)],
    [
      'operators',
      1,
      async ({ process, link }) => {
        const open = () => ({ redis: link, clock: process.clock, isNew: true, ...settings })
        const isStill = (): boolean => areStopped
        const redisAhead = () => server.time() - timeline.now
        operators = await startOperators({
          ...{ timeline, process, open, configuration, closed, shut, holds, sites, isSteady },
          ...{ isStill, hasEnds: isSteady || leapsFirst, redisAhead },
        })
      },
    ],
  ]
  for (const [role, count, start] of roles) for (let n = 1; n <= count; n++) keep(role, n, start)

  const busyMs = busySeconds * SECOND
  const frontier = new Frontier({
    timeline,
    server,
    candidates: () => tags.map((tag) => queuesOf(tag).candidates),
    dice: dice.apart('frontier'),
    sites,
    busyMs,
    tags: () => [...tags, ...retired],
    maxAttempts: settings.maxAttempts,
    highEvery: options.highEvery ?? 20,
    ofDefault: options.ofDefault ?? 7,
    poolEvery: workers > 0 ? (options.poolEvery ?? OF_POOL) : undefined,
    sharing: shared,
  })

  const standStill = (): void => {
    areStopped = true
    for (const { role, process } of [...running]) if (role !== 'operators') process.kill()
  }
  const repartitioned = async (to: number): Promise<void> => {
    // The command refuses then: a gateway has to finish the job
    if ([...queues.values()].some(({ candidates }) => candidates.isBegun)) return
    const now = await changePartitions(timeline, server, to, SETTINGS).catch((error: Error) => {
      if (!(error instanceof LedgerUnfitError)) problems.push(`the number of partitions: ${error.stack}`)
      timeline.note(`  the change is refused: ${error.message}`)
      return undefined
    })
    if (now === undefined) return
    problems.push(...now.left.map((what) => `${what}, and does not move with its host`))
    leases.moved()
    tags = now.tags
    retired = now.retired
    settings.partitions = tags.length
    server.tags = [...tags, ...retired]
    await operators?.reopen()
  }

  let isTroubled = false
  const all: Surroundings['all'] = (kind, own) => {
    if (isTroubled) return
    isTroubled = true
    const open = closed.begin(undefined, timeline.now)
    const isBack = (holdMs: number): void => {
      isTroubled = false
      open(timeline.now + holdMs + 5 * SECOND)
    }
    const restart = (from: 'all' | 'saved', holdMs: number): void => {
      server.stop()
      const awayMs = own.between(100, 4_000)
      if (from === 'saved') shut.end(undefined, undefined, timeline.now)
      if (holdMs > 0 && isSteady) shut.begin('no Redis', undefined, timeline.now, timeline.now + awayMs + holdMs)
      timeline.after(awayMs, 'Redis starts', async () => {
        await server.start(from)
        if (from === 'saved') {
          for (const queue of jobs()) queue.restore()
          web.lost(savedAt)
          leases.restore()
          holds.lost(savedAt)
          await frontier.forgotten()
        }
        isBack(holdMs)
      })
    }
    let savedAt = timeline.now
    if (kind === 'restart') restart('all', HOLD_MS)
    else if (kind === 'hang') {
      const ms = own.pick([2_500, 20_000, HOLD_MS]) * own.between(0.7, 1.3)
      server.hang(ms)
      shut.begin('no Redis', undefined, timeline.now, timeline.now + ms)
      timeline.after(ms, 'Redis has hung', () => isBack(HOLD_MS))
    } else if (kind === 'lost second')
      timeline.after(0, 'Redis writes', async () => {
        savedAt = timeline.now
        await server.save()
        for (const queue of jobs()) queue.save()
        frontier.saved()
        leases.save()
        timeline.after(own.between(10, 1_000), 'Redis crashes', () => restart('saved', HOLD_MS))
      })
    else if (kind === 'partitions') {
      standStill()
      timeline.after(HOLD_MS + 10 * SECOND, 'nothing is under way', () => {
        const others = [1, 2, 3].filter((count) => count !== tags.length)
        void repartitioned(own.pick(others)).finally(() => {
          areStopped = false
          isBack(0)
        })
      })
    } else if (kind === 'announced restart') {
      standStill()
      timeline.after(HOLD_MS + 10 * SECOND, 'the restart is announced', async () => {
        await server.announceRestart()
        const isCalledOff = own.below(2) === 0
        if (isCalledOff) timeline.after(CALLED_OFF_MS, 'the restart was called off', () => isBack(0))
        else restart('all', 0)
        areStopped = false
      })
    } else if (kind === 'blackout') {
      const ms = own.pick([6_000, 20_000, 60_000]) * own.between(0.8, 1.2)
      standStill()
      for (const { wire } of running) wire.cutUntil = timeline.now + ms + AFTER_BLACKOUT_MS
      timeline.after(ms, 'the blackout is over', () => {
        areStopped = false
        isBack(AFTER_BLACKOUT_MS)
      })
    } else if (timeline.now - START > VOUCHES_AFTER_MS) {
      const leapMs = own.pick([5_000, 60_000, HOUR, BELIEVED_MS, -1_500, -5_000, -60_000, -HOUR])
      server.leap(leapMs)
      timeline.after(own.between(2_000, 30_000), 'the clock of Redis', () => {
        // A step ahead of less than a second is believed (docs/promises.md, residual risks)
        if (leapMs !== BELIEVED_MS && own.below(2) === 0) server.leap(-leapMs)
        isBack(HOLD_MS)
      })
    }
  }
  if (leapsFirst) timeline.after(VOUCHES_AFTER_MS, 'the clock of Redis', () => server.leap(-HOUR))
  const kinds = (options.kinds ?? FAULTS).filter((kind) => kind !== 'clock leap' || !isSteady)
  const isAtEase = faultEveryMs === 0 || kinds.every((kind) => (OPERATIONS as readonly Fault[]).includes(kind))
  leases.isAtEase = isAtEase
  leases.isCalm = isCalm
  /** each exchange ends, and Redis hears of it */
  const isWhole = faultEveryMs === 0 || kinds.every((kind) => HARMLESS.has(kind))
  const faults = startFaults(
    {
      timeline,
      struck: () => [...running],
      all,
      operators: () => operators,
      points: options.points ?? ALL_POINTS,
      passed: (point) => coverage.points.add(point),
    },
    dice.apart('faults'),
    {
      everyMs: faultEveryMs,
      untilMs: FAULTS_FOR * busyMs,
      kinds,
      only: options.only && new Set(options.only),
    },
  )
  try {
    const isFound = (): boolean =>
      options.untilWrong === true &&
      (leases.wrong.length > 0 ||
        timeline.now - Math.max(web.requests.at(-1)?.end ?? 0, START + FAULTS_FOR * busyMs) > SILENT_MS)
    await timeline.run(START + LONGEST_MS, () => isFound() || (frontier.isDone && web.open === 0))
  } finally {
    watchCrashPoints(undefined)
  }

  const agents = agentsOf({
    agents: fleetAgents,
    profile: 'decorum',
    minDelayMs: DELAY_MS,
    maxDelayMs: MAX_DELAY_MS,
  })
  const { requests, bodies } = web
  const judged = judgeRecord(
    { requests, bodies },
    {
      agents,
      paceGroups: judgedGroups(grouped),
      stops: operators?.stops ?? [],
      sitePolicies: configuration.judged(),
      examples: Number.POSITIVE_INFINITY,
    },
  )
  const ofFleet = requests.filter(({ agent }) => agent === around.userAgent)
  return {
    seed,
    hash: timeline.hash(),
    events: timeline.count,
    virtualMs: timeline.now - START,
    requests: requests.length,
    faults,
    violations: judged.examples.filter(
      (found) =>
        !(operators?.excuses(found) || isMistaken(found, requests) || (hasOthers && isForgotten(found, requests))),
    ),
    pace: paceOf(ofFleet, sites, closed, DELAY_MS),
    isCalm,
    coverage,
    lost: frontier.lost(),
    twice: frontier.twice(),
    untrue: frontier.untrue(requests, {
      untold: web.untold,
      isSteady,
      isAtEase,
      isWhole,
      cancelledAt: operators?.cancelledAt,
    }),
    shut: shut.broken(requests, isAtEase, around.userAgent),
    leases: leases.wrong,
    problems,
  }
}

/**
 * Where a robots.txt leads to that of another site, the record does not say which request for that file follows the redirect: whoever fetches it for that site's own sake
 * may be taken for it, so that the fetch which follows seems to come too early or beside it, or a page to be forbidden.
 */
const isMistaken = ({ offence, origin }: Violation, requests: readonly RequestLine[]): boolean =>
  ['robots-too-often', 'robots-overlap', 'disallowed'].includes(offence) &&
  requests.some(
    (one) =>
      one.origin === origin &&
      one.path === '/robots.txt' &&
      one.location !== undefined &&
      new URL(one.location, origin).origin !== origin,
  )

/** Whether the fleet had forgotten a robots.txt that only a permit token asked about: nobody was granted a page in between. */
function isForgotten({ offence, origin, at }: Violation, requests: readonly RequestLine[]): boolean {
  const before = requests.filter((one) => one.origin === origin && one.start < at)
  const last = before.findLast(({ path }) => path === '/robots.txt')
  return (
    offence === 'robots-too-often' &&
    last !== undefined &&
    at - last.end > KEPT_UNCLAIMED_MS &&
    before.every(({ path, start }) => path === '/robots.txt' || start < last.start)
  )
}

/** Whether a run has kept every promise, in words where it has not. */
export function brokenBy(report: WorldReport): string[] {
  const { violations, lost, twice, untrue, shut, leases, problems, pace, isCalm } = report
  const isSlow = isCalm && pace.busy < LEAST_BUSY * pace.hosts
  return [
    ...(leases.length > 0
      ? [`${leases.length} answers of the ledger are wrong: ${leases.slice(0, 3).join('; ')}`]
      : []),
    ...[...Map.groupBy(violations, ({ offence }) => offence)].map(([offence, some]) => `${offence}: ${some.length}`),
    ...violations
      .slice(0, 5)
      .map(
        ({ offence, origin, path, at, because }) =>
          `  ${offence} ${origin}${path} at ${((at - START) / 1_000).toFixed(3)} s: ${because}`,
      ),
    ...(lost.length > 0 ? [`${lost.length} URLs without an outcome: ${lost.slice(0, 5).join(', ')}`] : []),
    ...(twice.length > 0 ? [`${twice.length} URLs with two: ${twice.slice(0, 5).join(', ')}`] : []),
    ...(isSlow ? [`slow: ${pace.busy} of ${pace.hosts} hosts had the rate that they may have`] : []),
    ...(shut.length > 0 ? [`${shut.length} requests behind a closed gate: ${shut.slice(0, 3).join('; ')}`] : []),
    ...(untrue.length > 0 ? [`${untrue.length} outcomes are not true: ${untrue.slice(0, 3).join('; ')}`] : []),
    ...problems.slice(0, 5),
  ]
}

/** Texts of the scripts as they are, or with one rule broken. */
function scriptsWith(planted: Planted | undefined): (name: string, lua: string) => string {
  if (planted?.kind !== 'script') return (_, lua) => lua
  const { rule } = planted
  let broken = 0
  const read = (file: string): string => brokenText(readAnyPart(file), planted, () => broken++)
  const texts = new Map(ALL_VERBS.map((verb) => [`decorum_${verb}`, textOf(verb, read)]))
  if (broken === 0) throw new Error(`no script has the rule ${rule}`)
  return (name, lua) => texts.get(name) ?? lua
}

/** An error that a process logs is a fault of the program; the rest is the talk of outages. */
function logOf(timeline: Timeline, problems: string[]): Logger {
  const error = ({ err }: { err?: Error }, message: string): void => {
    timeline.note(`  logs: ${message}`)
    problems.push(`${message}: ${err?.stack ?? ''}`)
  }
  return {
    info: () => undefined,
    warn: () => undefined,
    debug: () => undefined,
    error,
    fatal: error,
  } as unknown as Logger
}
