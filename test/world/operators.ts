/**
 * What operators do while the fleet runs, each act with its end: emergency stops, pauses, blocks, refetches, delays by hand, crawls, the
 * configuration and policies of sites. What was in force is kept for the auditor, and when hosts were closed by it for the pace.
 */
import type { StopLine, Violation } from '@decorum/audit'
import { LedgerUnavailableError, LedgerUnfitError } from '@decorum/ledger'
import { type LedgerWithViews, openLedgerWithViews } from '@decorum/ledger/views'
import { DEFAULT_CRAWL, hostOf, SECOND } from '@decorum/protocol'
import type { Closed } from './closed.ts'
import type { Configuration, Values } from './configuration.ts'
import type { Dice } from './dice.ts'
import { started } from './fleet.ts'
import { CRAWLS } from './frontier.ts'
import type { Holds } from './holds.ts'
import type { Process } from './process.ts'
import type { Shut } from './shut.ts'
import type { Site } from './sites.ts'
import type { Timeline } from './timeline.ts'

export const OPERATIONS = [
  'stop',
  'pause',
  'block',
  'refetch',
  'delay',
  'crawl',
  'cancel',
  'configuration',
  'policy',
] as const
export type OperationKind = (typeof OPERATIONS)[number]

/** What a process knows of Redis's clock is as near as that: a stop that ends at an instant may end so much earlier. */
const NEAR_MS = 500
/** Sites of one act, at most. */
const AT_ONCE = 12
const MOST_POLICIES = 4
const BY = { by: 'the world', reason: 'to see what happens' }

export type OperatorOptions = {
  timeline: Timeline
  process: Process
  open: () => Parameters<typeof openLedgerWithViews>[0]
  configuration: Configuration
  closed: Closed
  shut: Shut
  holds: Holds
  sites: readonly Site[]
  /** the clock of Redis never leaps in this run: hours are by it */
  isSteady: boolean
  /** all of the fleet has been stopped */
  isStill: () => boolean
  /** stops may have ends: a clock that goes back an hour would bring one back that is over */
  hasEnds: boolean
  /** by so much the clock of Redis is ahead of true time, ms */
  redisAhead(): number
}

export type Operators = {
  stops: StopLine[]
  /** crawl → when it was surely cancelled */
  cancelledAt: ReadonlyMap<string, number>
  /** the number of partitions has changed */
  reopen(): Promise<void>
  /**
   * They have asked for it: robots.txt is fetched again sooner than the fleet would, and where that fails, the copy that is fresh goes on to rule
   * (docs/spec/robots.md §6), which the auditor does not know.
   */
  excuses(found: Violation): boolean
  act(kind: OperationKind, dice: Dice): void
}

export async function startOperators(options: OperatorOptions): Promise<Operators> {
  const { timeline, process, configuration, closed, shut, holds, sites, isSteady } = options
  const { clock } = process
  const open = (): Promise<LedgerWithViews> => started(process, () => openLedgerWithViews(options.open()))
  let ledger = await open()
  const announce = (): void =>
    void ledger.announce({ id: process.name, role: 'console', slots: 0 }).catch(() => undefined)
  announce()
  clock.interval(announce, SECOND)
  const agents = configuration.agents().list.map(({ key }) => key)
  const stops: StopLine[] = []
  const refetched: { origin: string; at: number }[] = []
  let isChanging = false
  const cancelledAt = new Map<string, number>()

  /** Until Redis has said that it is done. @returns false when it is refused, such as: it is not stopped any more */
  const surely = async (act: () => Promise<unknown>): Promise<boolean> => {
    for (;;) {
      try {
        await act()
        return true
      } catch (error) {
        // While the number of partitions is changed, a ledger that knows another one is refused
        const isOvertaken = (error as Error).message.endsWith('try again') // by many other operators
        const isLater = isOvertaken || error instanceof LedgerUnavailableError || error instanceof LedgerUnfitError
        if (!isLater) return false
        await clock.sleep(SECOND)
      }
    }
  }
  const forAWhile = (dice: Dice, mostMs: number): Promise<void> => clock.sleep(dice.between(500, mostMs))

  const stop = async (dice: Dice): Promise<void> => {
    const { host, address } = dice.pick(sites)
    const name = dice.pick([host, host, address, 'test', '*'])
    const mostMs = name === host || name === address ? 30_000 : 6_000
    const those = name === address ? sites.filter((site) => site.address === name).map((site) => site.host) : [host]
    const opens =
      name === host || name === address
        ? those.map((one) => closed.begin(one, timeline.now))
        : [closed.begin(undefined, timeline.now)]
    const open = (at: number): void => {
      // What waits for a stopped address looks it up again after half a minute
      for (const end of opens) end(name === address ? at + 30_000 : at)
    }
    const untilMs = options.hasEnds && dice.below(3) === 0 ? dice.between(2_000, mostMs) : undefined
    const { now: calledAt } = timeline
    const leapMs = options.redisAhead()
    const until = untilMs === undefined ? undefined : ledger.wall() + untilMs
    const isDone = await surely(() => ledger.stop({ names: [name], ...BY, ...(until === undefined ? {} : { until }) }))
    if (!isDone) return open(timeline.now)
    // The end is by Redis's clock as this process knew it, and by the ledger's time from then on
    const isKnown =
      until === undefined ||
      (leapMs === options.redisAhead() && Math.abs(ledger.wall() - timeline.now - leapMs) < NEAR_MS)
    const endsAt = untilMs === undefined ? Number.POSITIVE_INFINITY : calledAt + untilMs - NEAR_MS
    if (isKnown && endsAt > timeline.now && holds.begin('stopped', name, calledAt, timeline.now))
      stops.push({ name, at: timeline.now, ...(untilMs === undefined ? {} : { until: endsAt }) })
    if (untilMs !== undefined) {
      await clock.sleep(Math.max(0, endsAt - timeline.now))
      holds.end('stopped', name, timeline.now)()
      await clock.sleep(2 * NEAR_MS)
    } else {
      await forAWhile(dice, mostMs)
      // A lift ends every stop of that name.
      for (const one of stops) if (one.name === name) one.lifted ??= { at: timeline.now }
      const isLifted = holds.end('stopped', name, timeline.now)
      await surely(() => ledger.lift({ names: [name], ...BY }))
      isLifted()
    }
    open(timeline.now + SECOND)
  }

  /** At several sites, so that a gate closes between any two steps of a request. */
  const atSome = async (dice: Dice, act: (origin: string) => Promise<void>): Promise<void> => {
    const some = new Set(Array.from({ length: 1 + dice.below(AT_ONCE) }, () => dice.pick(dice.pick(sites).origins)))
    await Promise.all([...some].map(act))
  }

  const underWay = new Set<string>()
  const operate = async (
    origin: string,
    begin: Parameters<LedgerWithViews['operate']>[0],
    end: 'resume' | 'unblock',
    dice: Dice,
    mostMs: number,
  ) => {
    const [gate, where] = end === 'resume' ? (['paused', hostOf(origin)] as const) : (['blocked', origin] as const)
    const place = `${gate} ${where}`
    if (underWay.has(place)) return // what ends one would end the other
    underWay.add(place)
    const { now: calledAt } = timeline
    const opens = closed.begin(origin, calledAt)
    holds.call(gate, origin)
    if (await surely(() => ledger.operate(begin, agents))) {
      shut.begin(gate, where, timeline.now)
      holds.begin(gate, origin, calledAt, timeline.now)
    }
    await forAWhile(dice, mostMs)
    shut.end(gate, where, timeline.now)
    const isOver = holds.end(gate, origin, timeline.now)
    await surely(() => ledger.operate({ origin, action: end, ...BY }, agents))
    isOver()
    opens(timeline.now + SECOND)
    underWay.delete(place)
  }

  /** One change of the configuration at a time: forth in some steps, and back. */
  const changing = async (
    steps: readonly Partial<Values>[],
    back: Partial<Values>,
    where: readonly (string | undefined)[],
    dice: Dice,
    mostMs: number,
  ) => {
    if (isChanging) return
    isChanging = true
    const opens = where.map((one) => closed.begin(one, timeline.now))
    for (const values of steps) {
      configuration.change(values)
      await surely(() => ledger.setRates(configuration.rates()))
      configuration.counts(timeline.now)
      await forAWhile(dice, mostMs / steps.length)
    }
    // While the fleet stands still nobody changes anything but the number of partitions
    while (options.isStill()) await forAWhile(dice, mostMs)
    configuration.change(back)
    configuration.counts(timeline.now)
    await surely(() => ledger.setRates(configuration.rates()))
    for (const open of opens) open(timeline.now + 2 * SECOND)
    isChanging = false
  }

  const acts: Record<OperationKind, (dice: Dice) => Promise<unknown>> = {
    stop,
    pause: (dice) =>
      atSome(dice, (origin) => operate(origin, { origin, action: 'pause', ...BY }, 'resume', dice, 20_000)),
    block: (dice) =>
      atSome(dice, (origin) => operate(origin, { origin, action: 'block', ...BY }, 'unblock', dice, 1_500)),
    refetch: (dice) =>
      atSome(dice, async (origin) => {
        refetched.push({ origin, at: timeline.now })
        await surely(() => ledger.operate({ origin, action: 'refetch', ...BY }, agents))
      }),
    delay: (dice) =>
      atSome(dice, async (origin) => {
        const host = hostOf(origin)
        const place = `delay ${origin}`
        if (underWay.has(place)) return // which of two that are called for comes last, nobody knows
        underWay.add(place)
        const isAlone = sites.some((site) => site.host === host && site.origins.length === 1)
        const lastsMs = dice.between(2_000, 20_000)
        const delayMs = dice.between(1_200, 4_000)
        const open = closed.begin(origin, timeline.now)
        const { now: begun } = timeline
        for (const one of configuration.byHand) if (one.host === host) one.to = Math.min(one.to, begun) // it takes the place of an earlier one
        const isSet = holds.delay(origin, delayMs, begun)
        const until = ledger.wall() + lastsMs
        const isDone = await surely(() => ledger.operate({ origin, action: 'delay', delayMs, until, ...BY }, agents))
        underWay.delete(place)
        const to = begun + lastsMs - SECOND
        if (isSteady && isDone) isSet(timeline.now, to)
        if (isSteady && isDone && isAlone) configuration.byHand.push({ host, delayMs, from: timeline.now, to })
        await clock.sleep(lastsMs)
        open(timeline.now + 2 * SECOND)
      }),
    async crawl(dice) {
      const name = dice.pick([CRAWLS.others, CRAWLS.others, DEFAULT_CRAWL])
      const change = (state: 'paused' | 'running', weight: number) =>
        surely(() => ledger.changeCrawl({ name, change: { state, weight }, ...BY }))
      const open = name === DEFAULT_CRAWL ? closed.begin(undefined, timeline.now) : () => undefined
      await change('paused', 1 + dice.below(5))
      await forAWhile(dice, name === DEFAULT_CRAWL ? 4_000 : 20_000)
      await change('running', 1 + dice.below(5))
      open(timeline.now + SECOND)
    },
    async cancel(dice) {
      const name = dice.pick(CRAWLS.short)
      const isDone = await surely(() => ledger.changeCrawl({ name, change: { state: 'cancelled' }, ...BY }))
      if (isDone && !cancelledAt.has(name)) cancelledAt.set(name, timeline.now)
    },
    configuration: (dice) => {
      const { minDelayMs } = configuration.values
      const longerMs = Math.round(minDelayMs * dice.between(1.2, 2.5))
      const steps = [{ minDelayMs: longerMs }, { minDelayMs: Math.round(longerMs * dice.between(1.2, 2)) }]
      return changing(steps.slice(0, 1 + dice.below(2)), { minDelayMs }, [undefined], dice, 15_000)
    },
    policy(dice) {
      const hosts = [...new Set(Array.from({ length: 1 + dice.below(MOST_POLICIES) }, () => dice.pick(sites).host))]
      const { policies } = configuration.values
      const hour = Math.floor((timeline.now / 3_600_000) % 24)
      const later = `${String((hour + 2) % 24).padStart(2, '0')}:00-${String((hour + 4) % 24).padStart(2, '0')}:00`
      const drawn = hosts.map((host) => [
        host,
        dice.pick([
          { delayMs: Math.round(dice.between(1_500, 4_000)) },
          { requestsPerDay: 1 + dice.below(dice.pick([10, 60])) },
          ...(isSteady ? [{ hours: later }] : []),
        ]),
      ])
      return changing([{ policies: { ...policies, ...Object.fromEntries(drawn) } }], { policies }, hosts, dice, 20_000)
    },
  }
  return {
    stops,
    cancelledAt,
    async reopen() {
      const former = ledger
      ledger = await open()
      await former.close()
    },
    excuses: ({ offence, origin, at }) =>
      (offence === 'robots-too-often' || offence === 'rules-unreachable') &&
      refetched.some((one) => one.origin === origin && one.at < at),
    act(kind, dice) {
      timeline.note(`operators: ${kind}`)
      void acts[kind](dice)
    },
  }
}
