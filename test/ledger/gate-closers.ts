/** Ways to close each gate of the ledger, by the verbs that close it in a fleet. */
import type { SitePolicyRecord } from '@decorum/ledger'
import { EPOCH, withoutStops, withStops } from '@decorum/ledger/testing'
import { hostOf } from '@decorum/protocol'
import type { LedgerGate } from '@decorum/protocol/gates'
import { HOLD, type World } from './gate-world.ts'
import { AGENT } from './ledger-for-test.ts'

export const SITE = 'https://site.test'
/** Another port of the host, through which its gates are closed. */
const ANOTHER_PORT = 'http://site.test:8081'
/** The crawl of every request under test that can be one of a crawl. */
export const CRAWL = 'news'
const LENGTH = 600_000
const by = { by: 'ann', reason: 'they wrote to us' }

/** A gate that is closed. */
export type Closed = {
  /** what answers say of it; undefined: no instant, the request is judged again at once */
  until?: number
  /** how the gate opens before that; absent: nothing opens it */
  open?(): Promise<unknown>
}
export type Closer = {
  gate: LedgerGate
  /** of a second way: how it differs */
  through?: string
  close(w: World, origin: string): Promise<Closed>
}

/** A robots fetch of another agent begins. */
async function requestRobotsOf(w: World, origin: string): Promise<(agents: string[]) => Promise<unknown>> {
  if (w.fetch !== undefined) await w.own.endRobotsFetch({ ...w.fetch, agents: [] })
  const asker = { agent: 'asker', origin }
  const claimed = await w.others.claim(asker)
  if (claimed.kind !== 'claimed') throw new Error(`the asking lane is not free: ${JSON.stringify(claimed)}`)
  const { fence, version } = claimed
  const started = await w.others.start({ ...asker, fence, kind: 'robots', version, delayMs: 0 })
  if (started.kind !== 'granted') throw new Error(`the robots fetch is not started: ${JSON.stringify(started)}`)
  return (agents) =>
    w.others.record({
      ...{ ...asker, fence, state: {}, delayMs: LENGTH, elapsedMs: 0 },
      delays: agents.map((agent) => ({ agent })),
    })
}

/** One request of another agent under a permit; @returns its leases: of its lane, and of the host where the lane is another one. */
async function visit(w: World, origin: string): Promise<{ agent: string; origin: string; fence: number }[]> {
  const [lane, host] = [origin, SITE].map((one) => ({ agent: 'other', origin: one }))
  if (lane === undefined || host === undefined) throw new Error('no lane')
  const paceLane = origin === ANOTHER_PORT ? { paceLane: host } : {}
  const asked = { ...lane, ...paceLane, version: 0, delayMs: 0, leaseMs: LENGTH, by: { agent: 'one:other', origin } }
  const permit = await w.others.grant(asked)
  if (permit.kind !== 'granted') throw new Error(`no permit: ${JSON.stringify(permit)}`)
  const more = permit.paceLane === undefined ? [] : [{ ...host, fence: permit.paceLane.fence }]
  return [{ ...lane, fence: permit.fence }, ...more]
}

let version = 1
async function setPolicy(w: World, policy: Partial<SitePolicyRecord> | undefined): Promise<void> {
  const sitePolicies = policy === undefined ? [] : [{ site: 'site.test', hasConsent: false, shown: {}, ...policy }]
  await w.others.rates({ version: version++, leastDelays: [], sitePolicies })
}

async function pause(w: World, origin: string): Promise<Closed> {
  const until = w.clock.now + LENGTH
  await w.others.operate({ ...by, origin, action: 'pause', until }, [AGENT])
  return { until, open: () => w.others.operate({ ...by, origin, action: 'resume' }, [AGENT]) }
}

async function backOff(w: World, origin: string): Promise<Closed> {
  const common = { delayMs: 0, elapsedMs: 0, load: { kind: 'asked-for-less', retryAfterMs: LENGTH } as const }
  for (const lease of await visit(w, origin)) await w.others.complete({ ...lease, ...common, secondary: true })
  return { until: w.clock.now + LENGTH }
}

const DAY = 86_400_000
async function spend(w: World, origin: string): Promise<Closed> {
  await setPolicy(w, { requestsPerDay: 1 })
  await visit(w, origin)
  const until = w.clock.now - (w.clock.now % DAY) + DAY
  return { until, open: () => setPolicy(w, undefined) }
}

const THROUGH = 'through another port'
export const CLOSERS: Closer[] = [
  {
    gate: 'startup-hold',
    async close({ raw, keys, clock, others }) {
      await raw.hset(keys.epoch, EPOCH.run, `another-${clock.now}`)
      await others.reap()
      return { until: clock.now + HOLD }
    },
  },
  {
    gate: 'stopped',
    async close({ clock, others }, origin) {
      const [until, names] = [clock.now + LENGTH, [hostOf(origin)]]
      const record = withStops({ version: 0, stops: [] }, { ...by, names, until }, clock.now)
      await others.stops(record, clock.now)
      return { until, open: () => others.stops(withoutStops(record, { ...by, names }, clock.now), clock.now) }
    },
  },
  { gate: 'paused', close: pause },
  { gate: 'paused', through: THROUGH, close: (w) => pause(w, ANOTHER_PORT) },
  { gate: 'back-off', close: backOff },
  { gate: 'back-off', through: THROUGH, close: (w) => backOff(w, ANOTHER_PORT) },
  {
    gate: 'visiting-hours',
    async close(w) {
      const minute = Math.floor((w.clock.now % DAY) / 60_000)
      await setPolicy(w, { hours: { from: minute + LENGTH / 60_000, to: minute + 2 * (LENGTH / 60_000) } })
      return { until: w.clock.now + LENGTH, open: () => setPolicy(w, undefined) }
    },
  },
  { gate: 'budget', close: (w) => spend(w, SITE) },
  { gate: 'budget', through: THROUGH, close: (w) => spend(w, ANOTHER_PORT) },
  {
    gate: 'crawl-held',
    async close({ clock, others }) {
      const set = (state: 'paused' | 'running', at: number) =>
        others.crawl(CRAWL, { version: clock.now + at, weight: 1, state, at: clock.now, ...by })
      await set('paused', 0)
      return { until: clock.now + 500, open: () => set('running', 1) }
    },
  },
  {
    gate: 'robots-in-flight',
    async close(w, origin) {
      const answer = await requestRobotsOf(w, origin)
      return { until: w.clock.now + HOLD, open: () => answer([AGENT]) }
    },
  },
  {
    gate: 'blocked',
    async close({ clock, others }, origin) {
      const until = clock.now + LENGTH
      await others.operate({ ...by, origin, action: 'block', until }, [AGENT])
      return { until, open: () => others.operate({ ...by, origin, action: 'unblock' }, [AGENT]) }
    },
  },
  {
    gate: 'rules-changed',
    async close(w, origin) {
      const answer = await requestRobotsOf(w, origin)
      await answer([])
      return {}
    },
  },
  {
    gate: 'refetch',
    async close({ others }, origin) {
      await others.operate({ ...by, origin, action: 'refetch' }, [AGENT])
      return {}
    },
  },
]
