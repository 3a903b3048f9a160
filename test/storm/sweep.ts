/**
 * One half of the sweep: a small fleet that stays, and one process after the other beside it that is told to stand still at a crash
 * point, and when it has woken to die at another one. Each run has sites of its own; the next begins as soon as the last point was
 * passed, and all is judged at the end.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { judgeRecord, type Report } from '@decorum/audit'
import { openFrontier } from '@decorum/client'
import { loadPaceGroups } from '@decorum/politeness'
import { CANDIDATES, JOB_NAMES, type Outcome, partitionTags, queueOptions } from '@decorum/protocol'
import type { CrashPoint } from '@decorum/runtime'
import { Queue } from 'bullmq'
import { recordedWeb, type Site } from '../support/origins/index.ts'
import { type Again, extraRequests } from './again.ts'
import { diceOf } from './dice.ts'
import { environment, judgedBy, SCALED } from './manners.ts'
import { outlasted, type Stalls, withoutOwn } from './stalls.ts'
import { calm, untilRead } from './stored.ts'
import { Worker } from './worker.ts'

export type Role = 'gateway' | 'fetcher'
/** A frozen victim stands still until its lease and quarantine are over, and then goes on. */
export type Deed = 'kill' | 'freeze'
export type SweepOptions = {
  role: Role
  points: readonly CrashPoint[]
  /** of the kills; the freezes are done once, with the first */
  seeds: number[]
  redisUrl: string
  /** when processes were kept from running, watched since before the sweep */
  stalls: Pick<Stalls, 'seen'>
}

export type SweepRun = {
  deed: Deed
  point: CrashPoint
  seed: number
  passes: number
  passed: boolean
  batches: number
  ms: number
}

export type SweepResult = {
  runs: SweepRun[]
  /** how often a fetcher was killed or frozen, victims and others */
  hurtFetchers: number
  accepted: Set<string>
  /** id → outcomes, the same entry once */
  outcomes: Map<string, Outcome[]>
  report: Report
  extra: Again[]
  /** requests that came once more because a busy machine kept the first one waiting for longer than its lease */
  outlasted: Again[]
  requests: number
  troubles: string[]
}

const SITES = 10
const PACE_GROUPS = '{"address":{"delayMs":1}}'
const PARTITIONS = 2
/** Jobs of one batch: enough that two gateways share them. */
const JOBS = 6
/** A batch that the victim got nothing of is followed by another. */
const BATCH_MS = 2_000
const MOST_BATCHES = 8
/** After the last outcome of the last batch: by then a point that was passed has been heard of. */
const LAST_WORD_MS = 20_000
const WAKES_LATE_MS = 700
const LOOK_MS = 50
const COLD = 3
/** Of a site that a busy machine made slow, the rules are asked for again after waits that double. */
const MOST_MS = 300_000
/** Points that are passed once per origin, or seldom: more passes would wait for more than there is. */
const SELDOM: readonly CrashPoint[] = [
  'robots.fetching',
  'record.before',
  'record.after',
  'hop.acquired',
  'hop.completed',
  'outbox.after-store',
  'outbox.after-clear',
  'reap.after',
  'reap.before-record',
  'intake.done',
]
/** What is reaped must have died before. */
const AFTER_DEATHS: readonly CrashPoint[] = ['reap.after', 'reap.before-record']
/** They are passed only for an origin that was never asked: with the first batch alone, the other fetcher may ask all of its origins. */
const NEW_ORIGINS: readonly CrashPoint[] = [
  ...AFTER_DEATHS,
  'robots.fetching',
  'record.before',
  'record.after',
  'hop.acquired',
  'hop.completed',
]

/** What one of two gateways does for both of them: the other one is frozen, or it might always be first. */
const FIRST_COME: readonly CrashPoint[] = [...AFTER_DEATHS, 'outbox.after-store', 'outbox.after-clear']

const nameOf = (run: number, site: number): string => `run${run}-${site}`

const RULES = { body: 'User-agent: *\nDisallow: /no', type: 'text/plain' }

function sitesOf(run: number, point: CrashPoint): Site[] {
  const pages = { delayMs: 15 }
  const cold = NEW_ORIGINS.includes(point) ? MOST_BATCHES * COLD : 0 // each batch brings some
  const extra = Array.from({ length: cold }, (_, n) => `-${SITES + n}`)
  return Array.from({ length: SITES + cold }, (_, site): Site => {
    const name = nameOf(run, site)
    switch (site) {
      case 0: // slow to say its rules, so that a fetcher can be killed while it asks
        return { name, robots: { body: '', delayMs: 60 }, pages, announce: true }
      case 6:
      case 7: {
        const go = Array.from({ length: MOST_BATCHES }, (_, batch) => [
          `/go-${batch}`,
          { status: 302, location: `{origin:${nameOf(run, 13 - site)}}/landed-${batch}` },
        ])
        return { name, robots: { status: 404 }, paths: Object.fromEntries(go), pages }
      }
      case 8:
        return { name, robots: { status: 302, location: `{origin:${nameOf(run, 9)}}/rules.txt` }, pages }
      case 9:
        return {
          name,
          robots: { status: 302, location: `{origin:${nameOf(run, 5)}}/rules.txt` },
          // One URL for each that leads here: of two that shared one, no record could tell whose hop it was.
          paths: Object.fromEntries(['', ...extra].map((n) => [`/rules${n}.txt`, RULES])),
          pages: { ...pages, dribbleMs: 15 },
        }
      default:
        if (site < SITES) return { name, robots: { body: 'User-agent: *\nDisallow: /*-1$' }, pages }
        return point.startsWith('hop.')
          ? { name, robots: { status: 302, location: `{origin:${nameOf(run, 9)}}/rules-${site}.txt` }, pages }
          : { name, robots: { body: '', delayMs: 60 }, pages, announce: true }
    }
  })
}

/** Redirects on both sides of a partition's border, forbidden paths, pages. */
function candidatesOf(origins: Record<string, string>, run: number, batch: number) {
  const cold = Array.from({ length: COLD }, (_, n) => SITES + batch * COLD + n)
  return [...Array(SITES).keys(), ...cold].flatMap((site) => {
    const origin = origins[nameOf(run, site)]
    if (origin === undefined) return []
    const paths = [`/b${batch}-1`, `/b${batch}-2`, ...(site === 6 || site === 7 ? [`/go-${batch}`] : [])]
    return paths.map((path) => ({ id: `${run}.${site}${path}`, url: `${origin}${path}` }))
  })
}

/** One victim: where it stands still, if it does, and where it dies afterwards. */
type Step = { deed: Deed; point: CrashPoint; seed: number; passes: number; victim: number }

/**
 * While a victim sleeps the next one is frozen, so nobody waits for it. Each dies far away in the list from where it stood still.
 * Kills with further seeds have victims that only die.
 */
function planOf(points: readonly CrashPoint[], seeds: number[]): Step[] {
  const [first = 0, ...further] = seeds
  const step = (deed: Deed, at: number, seed: number, victim: number): Step => {
    const point = points[at % points.length] as CrashPoint
    const passes = diceOf(seed * 1_009 + victim).whole(1, SELDOM.includes(point) ? 1 : 3)
    return { deed, point, seed, passes, victim }
  }
  const apart = Math.ceil(points.length / 2)
  const both = Array.from({ length: points.length + 1 }, (_, n) => [
    ...(n < points.length ? [step('freeze', n, first, n)] : []),
    ...(n > 0 ? [step('kill', n - 1 + apart, first, n - 1)] : []),
  ]).flat()
  const only = further.flatMap((seed, n) => points.map((_, at) => step('kill', at, seed, (n + 1) * points.length + at)))
  return [...both, ...only]
}

const SIGNAL: Record<Deed, string> = { kill: 'SIGKILL', freeze: 'SIGSTOP' }
const SETTING: Record<Deed, string> = { kill: 'DECORUM_CRASH_AT', freeze: 'DECORUM_FREEZE_AT' }

type Victim = { worker: Worker; passed: Record<Deed, Promise<true>>; awake: Promise<void> }

export async function sweep({ role, points, seeds, redisUrl, stalls }: SweepOptions): Promise<SweepResult> {
  const plan = planOf(points, seeds)
  const web = await recordedWeb(plan.flatMap(({ point }, run) => sitesOf(run, point)))
  const troubles: string[] = []
  const onTrouble = (name: string, text: string): void => void troubles.push(`${name}: ${text}`)
  const env = environment(redisUrl, SCALED, {
    DECORUM_PARTITIONS: String(PARTITIONS),
    FETCH_CONCURRENCY: '1',
    PACE_GROUPS, // of one site each: so that there are clocks to die under
  })
  const steady = (one: Role, n: number): Worker =>
    new Worker({ role: one, name: `${one}-${n}-${role}s`, env, onTrouble })
  const staying = [
    ...Array.from({ length: role === 'gateway' ? 1 : 2 }, (_, n) => steady('gateway', n + 1)),
    ...Array.from({ length: role === 'fetcher' ? 1 : 2 }, (_, n) => steady('fetcher', n + 1)),
  ]
  let hurtFetchers = 0
  const accepted = new Set<string>()
  const outcomes = new Map<string, Outcome[]>()
  const book = { waiting: () => waitingIn(accepted, outcomes) }
  const untilAll = (): Promise<void> => calm(book, redisUrl, PARTITIONS, MOST_MS)
  const runs: SweepRun[] = []
  const victims = new Map<number, Victim>()
  const startVictim = async (number: number): Promise<Victim> => {
    const steps = plan.filter(({ victim }) => victim === number)
    const said = { kill: Promise.withResolvers<true>(), freeze: Promise.withResolvers<true>() }
    const words = new Map(steps.map(({ deed, point }) => [`${SIGNAL[deed]} at ${point}`, said[deed].resolve]))
    const worker = new Worker({
      role,
      name: `${role}-victim-${number}`,
      env: {
        ...env,
        ...Object.fromEntries(steps.map(({ deed, point, passes }) => [SETTING[deed], `${point}:${passes}`])),
      },
      once: true,
      onTrouble: (name, text) => words.get(text)?.(true) ?? onTrouble(name, text),
    })
    const passed = { kill: said.kill.promise, freeze: said.freeze.promise }
    const sleeps = steps.some(({ deed }) => deed === 'freeze')
    const victim = { worker, passed, awake: sleeps ? passed.freeze.then(() => sleepOn(worker)) : Promise.resolve() }
    victims.set(number, victim)
    // It may pass a point before it has said that it is ready.
    const started = worker.start().catch((error: Error) => {
      if (!error.message.includes('SIGKILL')) throw error
    })
    await Promise.race([started, ...Object.values(passed)])
    return victim
  }
  try {
    await Promise.all(staying.map((worker) => worker.startUntilReady()))
    const frontier = await openFrontier({ redis: redisUrl })
    const [tag = ''] = partitionTags(PARTITIONS)
    // Each job is for both partitions: what belongs to the other one is marked there.
    const queue = new Queue(CANDIDATES, { connection: { url: redisUrl }, ...queueOptions(tag) })
    const collecting = collect(frontier.outcomes({ group: 'sweep' }), outcomes)
    for (const [run, { deed, point, seed, passes, victim: number }] of plan.entries()) {
      const began = performance.now()
      const victim = victims.get(number) ?? (await startVictim(number))
      if (deed === 'kill') await victim.awake
      const passed = victim.passed[deed]
      const rivals = [...staying, ...[...victims.values()].map(({ worker }) => worker)].filter(
        (worker) => worker !== victim.worker && worker.role === role && FIRST_COME.includes(point),
      )
      // Who sleeps until its lease is over is not woken early.
      if (rivals.length > 0)
        await Promise.all([...victims.values()].filter((one) => one !== victim).map(({ awake }) => awake))
      const others = rivals.filter(({ state }) => state === 'running')
      for (const worker of others) worker.freeze()
      let ended: true | undefined
      let batch = 0
      for (; batch < MOST_BATCHES && ended === undefined; batch++) {
        const candidates = candidatesOf(web.origins, run, batch)
        await queue.addBulk(
          Array.from({ length: JOBS }, (_, job) => ({
            name: JOB_NAMES.candidates,
            data: { candidates: candidates.filter((_, n) => n % JOBS === job) },
            opts: { jobId: `${run}-${batch}-${job}`, removeOnComplete: true },
          })),
        )
        for (const { id } of candidates) accepted.add(id)
        if (AFTER_DEATHS.includes(point)) {
          const asked = Array.from({ length: COLD }, (_, n) => nameOf(run, SITES + batch * COLD + n))
          const asking = web.heard(
            ({ kind, site, path }) => kind === 'began' && asked.includes(site) && path === '/robots.txt',
          )
          // A victim that finds leases of an earlier run to reap is dead before it has handed out anything.
          const early = await Promise.race([asking.then(() => undefined), passed])
          for (const worker of staying) {
            if (worker.role !== 'fetcher' || early !== undefined) continue
            worker.kill()
            hurtFetchers++
          }
        }
        const batchMs = AFTER_DEATHS.includes(point) ? BATCH_MS * 4 : BATCH_MS
        ended = await within(batchMs, passed)
      }
      // On a busy machine it may take long, but nobody passes a point when there is nothing left to do.
      ended ??= await Promise.race([passed, untilAll().then(() => within(LAST_WORD_MS, passed))])
      for (const worker of others) worker.thaw()
      if (role === 'fetcher') hurtFetchers++
      if (deed === 'kill') {
        victim.worker.end()
        victims.delete(number)
      }
      runs.push({ deed, point, seed, passes, passed: ended === true, batches: batch, ms: performance.now() - began })
      if (ended === undefined) break // the test has failed, and this victim would never wake
    }
    await untilAll()
    await untilRead(redisUrl, PARTITIONS, MOST_MS)
    await queue.close()
    await frontier.close()
    await collecting
    await Promise.all(staying.map((worker) => worker.stop(5_000)))
    const evidence = await web.evidence()
    const isHop = (path: string): boolean => path.startsWith('/rules')
    const again = extraRequests(evidence.requests, SCALED.deadlineMs, ({ path }) => isHop(path))
    // The victims are told of as such; the processes of another sweep beside this one have no part in it.
    const others = stalls.seen().filter(({ who }) => !/^(gateway|fetcher)-/.test(who) || who.endsWith(`-${role}s`))
    const kept = withoutOwn(
      others,
      staying.flatMap(({ starts }) => starts),
    )
    const isOutlasted = ({ first }: Again): boolean => outlasted(first, SCALED, kept)
    return {
      runs,
      hurtFetchers,
      accepted,
      outcomes,
      report: judgeRecord(evidence, { ...judgedBy(SCALED), paceGroups: loadPaceGroups(PACE_GROUPS) }),
      extra: again.filter((one) => !isOutlasted(one)),
      outlasted: again.filter(isOutlasted),
      requests: evidence.requests.length,
      troubles,
    }
  } finally {
    for (const worker of [...staying, ...[...victims.values()].map(({ worker }) => worker)]) worker.end()
    await web.close()
  }
}

/** Somebody else has long been where it was when it wakes. */
async function sleepOn(worker: Worker): Promise<void> {
  while (worker.runsStill()) await sleep(LOOK_MS) // it says so before it stops
  await sleep(SCALED.leaseMs + SCALED.quarantineMs + WAKES_LATE_MS)
  worker.freeze() // it is already: so that thaw() has whom to wake; earlier, its own signal might come after ours
  worker.thaw()
}

async function collect(
  deliveries: AsyncIterable<{ outcome: Outcome; ack: () => Promise<void> }>,
  outcomes: Map<string, Outcome[]>,
): Promise<void> {
  for await (const { outcome, ack } of deliveries) {
    outcomes.set(outcome.id, [...(outcomes.get(outcome.id) ?? []), outcome])
    await ack().catch(() => undefined)
  }
}

/** Accepted ids and targets of redirects without an outcome. */
function waitingIn(accepted: Set<string>, outcomes: Map<string, Outcome[]>): string[] {
  for (const [outcome] of outcomes.values()) if (outcome?.kind === 'redirected') accepted.add(outcome.candidate)
  return [...accepted].filter((id) => !outcomes.has(id))
}

function within<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}
