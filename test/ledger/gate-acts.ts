/** For each kind of request, how it comes to each moment at which a script looks at the gates, and what the ledger answers. */
import type { LeasedLane, NextRequest } from '@decorum/ledger'
import { listOf, type Verb } from '@decorum/ledger/testing'
import { type LedgerGate, type Moment, READ_GATES, type What } from '@decorum/protocol/gates'
import { CRAWL, SITE } from './gate-closers.ts'
import type { Caller, Lane, World } from './gate-world.ts'
import { AGENT, url } from './ledger-for-test.ts'

/** gate: the one that the answer names, or whatever else it says; absent: nothing holds the request. */
export type Answer = { gate?: string; until?: number }
export type Act = {
  what: What
  moment: Moment
  verb: Verb
  /** another way to the same moment: how it differs */
  variant?: string
  /** of the lane that is looked at */
  origin: string
  /** these gates alone: any other answers before the lane is looked at, or cannot be closed on this way */
  gates?: readonly LedgerGate[]
  /** brings a request there; @returns what asks for it */
  prepare(w: World): Promise<(by: Caller) => Promise<Answer>>
}

const PORT = 'http://site.test:8080'
export const GROUP = 'address://192.0.2.1'
const laneOf = (origin: string): Lane => ({ agent: AGENT, origin })
export const site = laneOf(SITE)
export const port = laneOf(PORT)
export const group = laneOf(GROUP)
const ofGrant = { version: 0, delayMs: 0, leaseMs: 86_400_000, by: { agent: 'one:bot', origin: SITE } }
export const EVERYTHING_DUE = { limit: 10, aheadMs: 0, inFlightLimit: 1_000, peek: 1 }

function granted<T extends { kind: string }>(answer: T): Extract<T, { kind: 'granted' }> {
  if (answer.kind !== 'granted') throw new Error(`not granted: ${JSON.stringify(answer)}`)
  return answer as Extract<T, { kind: 'granted' }>
}

/** What an answer with `wait` says; a blocked lane has no instant. */
function toAnswer(w: World, answer: { kind: string; waitMs?: number; gate?: string }): Answer {
  if (answer.kind === 'granted' || answer.kind === 'claimed') return {}
  if (answer.kind !== 'wait') return { gate: answer.kind }
  return { gate: answer.gate as string, until: w.clock.now + (answer.waitMs ?? 0) }
}

/** A URL is stored, and its lane reserved; @returns the fence. */
export async function reserveOne(w: World, lane: Lane): Promise<number> {
  await w.own.store([url('a', { ...lane, crawl: CRAWL })])
  const found = await w.own.reserve(EVERYTHING_DUE)
  const [reserved] = found.kind === 'reserved' ? found.lanes : []
  if (reserved === undefined) throw new Error(`nothing is reserved: ${JSON.stringify(found)}`)
  return reserved.fence
}

type Starting = { kind?: 'page' | 'robots' | 'robots-page'; paceLane?: Lane }
export const start = (by: Caller, lane: Lane, fence: number, { kind = 'page', paceLane }: Starting = {}) =>
  by.start({ ...lane, fence, kind, version: 0, delayMs: 0, ...(paceLane === undefined ? {} : { paceLane }) })

/** A page that is started; @returns what is held of its lane, and of its pace lane. */
async function startOne(w: World, lane: Lane, starting: Starting = {}) {
  const fence = await reserveOne(w, lane)
  const { paceLane } = granted(await start(w.own, lane, fence, starting))
  const own = { ...lane, fence, version: 0 }
  return starting.paceLane === undefined ? [own] : [own, { ...starting.paceLane, fence: paceLane?.fence ?? 0 }]
}
const acquire = (by: Caller, lane: Lane, kind: 'hop' | 'pace-group') => by.acquire({ lanes: [lane], kind, delayMs: 0 })
async function acquireOne(w: World, lane: Lane, kind: 'hop' | 'pace-group') {
  const { fence } = granted(await acquire(w.own, lane, kind))
  return { ...lane, fence }
}

/** What becomes of an order: a refused one has given its lane back, which is due when the gate opens. */
export async function startAnswer(w: World, lane: Lane, answer: Awaited<ReturnType<Caller['start']>>): Promise<Answer> {
  if (answer.kind === 'granted') return {}
  if (answer.kind === 'early') return { gate: 'early' }
  const due = await w.dueOf(lane)
  return { gate: answer.why, ...(due === undefined || due <= w.clock.now ? {} : { until: due }) }
}
const starting =
  (lane: Lane, how: Starting = {}): Act['prepare'] =>
  async (w) => {
    const fence = await reserveOne(w, lane)
    return async (by) => startAnswer(w, lane, await start(by, lane, fence, how))
  }

const listOfCrawl = listOf('normal', CRAWL)
/** The lane is reserved after the gate was closed, as an operator reserves it who drops what is pending there. */
const startingLate =
  (lane: Lane, how: Starting = {}): Act['prepare'] =>
  async (w) => {
    await w.own.store([url('a', { ...lane, crawl: CRAWL })])
    return async (by) => {
      const found = await w.own.reserve({ ...EVERYTHING_DUE, lane, list: listOfCrawl })
      const fence = found.kind === 'reserved' ? (found.lanes[0]?.fence ?? 0) : 0
      return startAnswer(w, lane, await start(by, lane, fence, how))
    }
  }

const asking =
  (ask: (by: Caller) => Promise<{ kind: string; waitMs?: number; gate?: string }>): Act['prepare'] =>
  async (w) =>
  async (by) =>
    toAnswer(w, await ask(by))
const goingOn =
  (kind: NextRequest['kind'], lane: Lane, hold: (w: World) => Promise<NextRequest['held']>): Act['prepare'] =>
  async (w) => {
    const held = await hold(w)
    return async (by) => toAnswer(w, await by.next({ kind, lane, held, elapsedMs: 0, delayMs: 0 }))
  }

type Hold = (w: World) => Promise<NextRequest['held']>
const confirming =
  (hold: Hold): Act['prepare'] =>
  async (w) => {
    const held = await hold(w)
    return async (by) => {
      const answer = await by.confirm(held)
      return answer === 'granted' ? {} : { gate: answer }
    }
  }
/** What a request holds that was granted. */
const HELD = {
  page: (w: World) => startOne(w, site),
  // A page whose URL is a robots.txt: its lease may outlast its robots fetch, so that another one may begin.
  async robots(w: World) {
    const held = await startOne(w, site, { kind: 'robots-page' })
    w.fetch = { origin: SITE, fence: held[0]?.fence ?? 0 }
    return held
  },
  hop: async (w: World) => [{ ...(await acquireOne(w, site, 'hop')), version: 0 }],
  permit: async (w: World) => [
    { ...site, fence: granted(await w.own.grant({ ...site, ...ofGrant })).fence, version: 0 },
  ],
  host: async (w: World): Promise<[LeasedLane]> => [await acquireOne(w, site, 'pace-group')],
  group: async (w: World) => [await acquireOne(w, group, 'pace-group')],
} satisfies Partial<Record<What, Hold>>
const ALL_BUT = (...without: LedgerGate[]): LedgerGate[] => READ_GATES.filter((gate) => !without.includes(gate))
const LATE = { variant: 'reserved while the gate is closed', gates: ALL_BUT('startup-hold') }
type More = Partial<Pick<Act, 'variant' | 'gates'>>
const act = (what: What, moment: Moment, verb: Verb, prepare: Act['prepare'], more: More = {}): Act => ({
  ...{ what, moment, verb, prepare, origin: what === 'group' ? GROUP : SITE },
  ...more,
})
/** Of a lane of which nothing is known, less is read. */
const WITH_URLS = { variant: 'of a lane with URLs' }
const withUrls =
  (lane: Lane, prepare: Act['prepare']): Act['prepare'] =>
  async (w) => {
    await w.own.store([url('z', lane)])
    return prepare(w)
  }

const RESERVATIONS: Act[] = [
  act('page', 'reserve', 'reserve', async (w) => {
    await w.own.store([url('a', { ...site, crawl: CRAWL })])
    return async (by) => {
      const found = await by.reserve(EVERYTHING_DUE)
      if (found.kind === 'reserved') {
        const { heldBy } = found.lanes[0] ?? {} // a gate that is named all the same
        return heldBy === undefined ? {} : { gate: heldBy }
      }
      const until = w.clock.now + (found.waitMs ?? 0)
      return { gate: found.why === 'nothing-due' ? ((await w.heldBy(site)) ?? found.why) : found.why, until }
    }
  }),
  act(
    'permitRobots',
    'reserve',
    'claim',
    asking((by) => by.claim({ ...site, crawl: CRAWL })),
  ),
]

const permit = (more: { crawl?: string } = {}) => asking((by) => by.grant({ ...site, ...ofGrant, ...more }))
const hop = asking((by) => acquire(by, site, 'hop'))
const GRANTS: Act[] = [
  act('page', 'grant', 'start', starting(site)),
  act('page', 'grant', 'start', startingLate(site), LATE),
  act('robots', 'grant', 'start', starting(site, { kind: 'robots' })),
  act('robots', 'grant', 'start', startingLate(site, { kind: 'robots' }), LATE),
  act('robots', 'grant', 'start', starting(site, { kind: 'robots-page' }), {
    variant: 'a page whose URL is a robots.txt',
  }),
  act('permit', 'grant', 'grant', permit({ crawl: CRAWL })),
  act('permit', 'grant', 'grant', withUrls(site, permit()), { ...WITH_URLS, gates: ALL_BUT('crawl-held') }),
  act('hop', 'grant', 'acquire', hop),
  act('hop', 'grant', 'acquire', withUrls(site, hop), WITH_URLS),
  act(
    'heldHop',
    'grant',
    'next',
    goingOn('hop', site, async (w) => [{ ...(await HELD.host(w))[0], version: 0 }]),
  ),
  act('further', 'grant', 'next', goingOn('further', site, HELD.page)),
]

/** A request of one lane holds another one besides. */
const grantsBeside = (what: 'host' | 'group', lane: Lane, paceLane: Lane): Act[] => {
  // Any other gate holds the request's own lane as well, which answers first.
  const ofPaceLane: LedgerGate[] = ['paused', 'back-off', 'robots-in-flight', 'blocked', 'refetch']
  const gates = what === 'group' ? [...ofPaceLane, 'stopped' as const] : ofPaceLane
  const alone = asking((by) => acquire(by, paceLane, 'pace-group'))
  const beside = (verb: Verb, prepare: Act['prepare']): Act => act(what, 'grant', verb, prepare, { gates })
  return [
    act(what, 'grant', 'acquire', alone),
    act(what, 'grant', 'acquire', withUrls(paceLane, alone), WITH_URLS),
    beside('start', starting(lane, { paceLane })),
    beside(
      'grant',
      asking((by) => by.grant({ ...lane, ...ofGrant, paceLane })),
    ),
    beside(
      'claim',
      asking((by) => by.claim({ ...lane, paceLane })),
    ),
    beside(
      'next',
      goingOn('further', lane, (w) => startOne(w, lane, { paceLane })),
    ),
  ]
}

const holders = Object.entries(HELD) as [keyof typeof HELD, Hold][]
const SENDS: Act[] = [
  ...holders.map(([what, hold]) => act(what, 'send', 'confirm', confirming(hold))),
  act(
    'robots',
    'send',
    'confirm',
    confirming((w) => startOne(w, site, { kind: 'robots' })),
    {
      // Its lease is stale once its robots fetch has ended.
      ...{ variant: 'an order for the rules', gates: ALL_BUT('robots-in-flight', 'rules-changed') },
    },
  ),
]
const EXTENSIONS: Act[] = (['page', 'permit', 'host'] as const).map((what) =>
  act(what, 'underWay', 'extend', async (w) => {
    const held = await HELD[what](w)
    return async (by) => {
      const answer = await by.extend(held, 0)
      if (answer.kind === 'stale') return { gate: 'stale' }
      return answer.stop === undefined ? {} : { gate: answer.stop }
    }
  }),
)

export const ACTS: Act[] = [
  ...[...RESERVATIONS, ...GRANTS],
  ...[...grantsBeside('host', port, site), ...grantsBeside('group', site, group)],
  ...[...SENDS, ...EXTENSIONS],
]
