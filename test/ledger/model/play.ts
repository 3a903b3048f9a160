/** One step of a run: drawn from a number, done by the real ledger and by the model, and compared at once. */
import type { Settlement } from '../../../packages/ledger/src/index.ts'
import { laneName, readLaneName } from '../../../packages/ledger/src/keys.ts'
import type { Outcome, ParkItem } from '../../../packages/ledger/src/types.ts'
import * as rules from './rules.ts'
import { openSite, type Site } from './site.ts'
import type { Process, World } from './world.ts'

export const LANES = rules.ORIGINS.flatMap((origin) => rules.AGENTS.map((agent) => laneName(agent, origin)))
export const IDS = Array.from({ length: 10 }, (_, i) => `u${i}`)
const GAPS = [0, 1_000, 4_000, 10_000]

/** Somebody who was handed a lane; perhaps long ago. */
type Holder = {
  lane: string
  fence: number
  version: number
  heads: string[]
  kind: 'page' | 'robots' | 'hop'
  /** as far as the holder knows: 'done' ones are kept for a while, and try again as zombies do */
  state: 'taken' | 'begun' | 'done'
  begunAt?: number
}

export type Play = {
  model: rules.Model
  world: World
  site: Site
  /** newest last; those who are done stay for a while, as zombies */
  holders: Holder[]
  questions: rules.Question[]
  known: { steady: { known: string }; other: { known: string } }
  snapshot?: rules.Model
  /** latest instant of any call: what the sites' clock shows at least */
  latest: number
  steps: number
}

export class DifferenceError extends Error {
  override readonly name = 'DifferenceError'
}

export function startPlay(world: World): Play {
  const known = { steady: { known: '' }, other: { known: '' } }
  return { model: rules.emptyModel(), world, site: openSite(), holders: [], questions: [], known, latest: 0, steps: 0 }
}

/** Draws choices out of one number, so that a smaller number means a simpler step. */
export type Dice = { (sides: number): number; pick<T>(from: readonly T[]): T }
export function diceOf(number: number): Dice {
  let left = number
  const dice = ((sides: number) => {
    const drawn = left % sides
    left = Math.floor(left / sides)
    return drawn
  }) as Dice
  dice.pick = (from) => from[dice(from.length)] as never
  return dice
}

export function same(what: string, real: unknown, expected: unknown): void {
  const a = JSON.stringify(real)
  const b = JSON.stringify(expected)
  if (a !== b) throw new DifferenceError(`${what}\n  the ledger: ${a}\n  the model:  ${b}`)
}

/** Which of the two processes calls, and what the model has to know of it. */
function caller(play: Play, dice: Dice): { process: Process; call: rules.Call } {
  const name = dice(4) === 3 ? 'other' : 'steady'
  play.latest = Math.max(play.latest, play.world.clock.now)
  play.steps++
  return { process: play.world[name], call: { caller: play.known[name], time: play.world.clock.now, run: 0 } }
}

const outcomeOf = (id: string, kind: string): Outcome => ({ id, kind }) as unknown as Outcome
/** Lengths of time are answered with three decimals. */
const rounded = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : Number(ms.toFixed(3)))

const optional = <K extends string, V>(key: K, value: V | undefined): { [key in K]?: V } =>
  (value === undefined ? {} : { [key]: value }) as { [key in K]?: V }

/** Mostly one for whom the act makes sense, now and then anybody. */
function holderOf(play: Play, dice: Dice, fits: (holder: Holder) => boolean): Holder | undefined {
  const fitting = dice(8) < 7 ? play.holders.filter(fits) : play.holders
  return fitting[dice(Math.max(1, fitting.length))]
}
const someHolders = (play: Play, dice: Dice, fits: (holder: Holder) => boolean): Holder[] => {
  const first = holderOf(play, dice, fits)
  const second = dice(3) === 2 ? holderOf(play, dice, fits) : undefined
  return [first, second].filter((one) => one !== undefined)
}
const isTaken = ({ state }: Holder): boolean => state === 'taken'
const isVisiting = ({ state, kind }: Holder): boolean => state === 'begun' && kind !== 'robots'
const isAsking = ({ state, kind }: Holder): boolean => state === 'begun' && kind === 'robots'

type Act = (play: Play, dice: Dice) => Promise<void>

const park: Act = async (play, dice) => {
  const { process, call } = caller(play, dice)
  const mark = dice.pick<rules.Mark>([
    undefined,
    undefined,
    { key: 'k' },
    { job: 'j', chunk: 0 },
    { job: 'j', chunk: 1 },
    undefined,
  ])
  const real: ParkItem[] = []
  const items: rules.Item[] = []
  for (let count = dice(3); count >= 0; count--) {
    const [lane, id, own] = [dice.pick(LANES), dice.pick(IDS), dice(7) === 6 ? `m${dice(2)}` : undefined]
    if (dice(8) === 7) {
      real.push({ outcome: outcomeOf(id, 'invalid'), ...optional('mark', own) })
      items.push({ outcome: 'invalid', id, ...optional('mark', own) })
      continue
    }
    const list = dice(4) === 3 ? 'h' : 'q'
    const expiresAt = dice(4) === 3 ? Math.round(play.world.clock.now) + dice(3) * 30_000 : 9_000_000_000_000
    const priority = list === 'h' ? 'high' : 'normal'
    real.push({
      lane: readLaneName(lane),
      parked: { id, path: '/', expiresAt, hops: 0, priority },
      ...optional('mark', own),
    })
    items.push({ lane, list, id, expiresAt, ...optional('mark', own) })
  }
  same('park', await process.lanes.park(real, mark), rules.park(play.model, call, items, mark))
}

const take: Act = async (play, dice) => {
  const { process, call } = caller(play, dice)
  const ask = {
    limit: dice.pick([4, 1, 2, 4]),
    aheadMs: dice.pick([0, 0, 1_000, 60_000]),
    inFlightLimit: dice.pick([9, 9, 2]),
    peek: dice.pick([1, 3]),
  }
  const real = await process.lanes.take(ask)
  const expected = rules.take(play.model, call, ask)
  if (real.kind === 'wait')
    return same(
      'take',
      { why: real.why, waitMs: real.waitMs },
      'why' in expected ? { ...expected, waitMs: rounded(expected.waitMs) } : expected,
    )
  const lanes = real.lanes.map((one): rules.TakenLane => {
    const { question } = one.robots.state
    return {
      lane: laneName(one.agent, one.origin),
      fence: one.fence,
      notBefore: one.notBefore,
      tries: one.tries,
      list: one.heads[0]?.priority === 'high' ? 'h' : 'q',
      heads: one.heads.map(({ id }) => id),
      why: one.heldBy,
      shutUntil: one.shutUntil,
      blocked: one.blocked !== undefined,
      version: one.robots.version,
      question: question === undefined ? undefined : { fence: question.fence, until: question.until },
    }
  })
  same('take', { lanes, more: real.more }, expected)
  for (const { lane, fence, version, heads } of lanes) {
    play.site.fence(lane, fence)
    play.holders.push({ lane, fence, version, heads, kind: 'page', state: 'taken' })
  }
  forgetOldest(play)
}
const forgetOldest = ({ holders }: Play): void => void holders.splice(0, holders.length - 8)

const beginOrders: Act = async (play, dice) => {
  const holders = someHolders(play, dice, isTaken)
  if (holders.length === 0) return
  const { process, call } = caller(play, dice)
  const orders = holders.map((holder): rules.Beginning => {
    const kind = dice(3) === 2 ? 'robots' : 'page'
    const version = dice(12) === 11 ? holder.version + 1 : holder.version
    return { lane: holder.lane, fence: holder.fence, kind, version, gapMs: dice.pick(GAPS) }
  })
  const real = await Promise.all(
    orders.map(({ lane, ...order }) => process.lanes.begin({ ...readLaneName(lane), ...order })),
  )
  const answers = real.map((permit) =>
    permit.kind === 'refused' ? permit.why : permit.kind === 'early' ? `early ${permit.waitMs}` : permit.kind,
  )
  same(
    'begin',
    answers,
    rules
      .begin(play.model, call, orders)
      .map(({ kind, waitMs }) => (waitMs === undefined ? kind : `${kind} ${rounded(waitMs)}`)),
  )
  for (const [index, answer] of answers.entries()) {
    const [holder, order] = [holders[index], orders[index]]
    if (holder === undefined || order === undefined || answer?.startsWith('early')) continue
    if (answer !== 'granted') {
      if (holder.begunAt === undefined) holder.state = 'done'
      continue
    }
    Object.assign(holder, { kind: order.kind, state: 'begun', begunAt: play.latest })
    play.site.visit(holder.lane, order.kind, holder.fence, play.latest)
  }
}

const enter: Act = async (play, dice) => {
  const { process, call } = caller(play, dice)
  const [lane, gapMs] = [dice.pick(LANES), dice.pick(GAPS)]
  const real = await process.lanes.enter(readLaneName(lane), gapMs)
  const expected = rules.enter(play.model, call, lane, gapMs)
  if (real.kind === 'wait')
    return same(
      'enter',
      { waitMs: real.waitMs },
      'waitMs' in expected ? { waitMs: rounded(expected.waitMs) } : expected,
    )
  same('enter', { fence: real.fence, gapMs: real.gapMs }, expected)
  play.site.fence(lane, real.fence)
  play.site.visit(lane, 'hop', real.fence, play.latest)
  play.holders.push({
    lane,
    fence: real.fence,
    version: 0,
    heads: [],
    kind: 'hop',
    state: 'begun',
    begunAt: play.latest,
  })
  forgetOldest(play)
}

const settle: Act = async (play, dice) => {
  const holders = someHolders(play, dice, isVisiting)
  if (holders.length === 0) return
  const { process, call } = caller(play, dice)
  const endings = holders.map((holder): Omit<rules.Ending, 'jitter'> => {
    const entered = holder.kind === 'hop'
    const [id] = holder.heads
    const stays = entered || id === undefined || dice(3) === 2
    const mood = dice.pick(['fine', 'fine', 'fine', 'too-fast', 'no-answer'] as const)
    return {
      lane: holder.lane,
      fence: holder.fence,
      gapMs: dice.pick(GAPS),
      restedMs: dice.pick([0, 0, 400, 30_000]),
      mood,
      retryAfterMs: mood === 'too-fast' ? dice.pick([undefined, undefined, 1_000, 120_000]) : undefined,
      outcome: stays ? undefined : dice.pick(['fetched', 'failed']),
      entered,
      candidate: !stays && dice(5) === 4 ? `${id}>` : undefined,
    }
  })
  const real = await Promise.all(
    endings.map(({ lane, fence, gapMs, restedMs, mood, retryAfterMs, outcome, entered, candidate }, index) => {
      const settlement: Settlement = {
        ...readLaneName(lane),
        fence,
        gapMs,
        restedMs,
        mood: mood === 'too-fast' ? { kind: mood, ...optional('retryAfterMs', retryAfterMs) } : { kind: mood },
        ...(outcome === undefined ? {} : { outcome: outcomeOf(holders[index]?.heads[0] ?? '', outcome) }),
        ...(entered ? { entered } : {}),
        ...(candidate === undefined ? {} : { candidate: { id: candidate, url: 'http://elsewhere.test/' } }),
      }
      return process.lanes.settle(settlement)
    }),
  )
  const drawn = endings.map((end, index) => ({ ...end, jitter: play.world.jitters[index] ?? 0 }))
  same('settle', real, rules.settle(play.model, call, drawn))
  for (const [index, answer] of real.entries()) {
    const end = endings[index]
    const begunAt = holders[index]?.begunAt
    if (holders[index] !== undefined) holders[index].state = 'done'
    if (answer !== 'settled' || end === undefined || begunAt === undefined) continue
    const endedAt = play.latest - Math.min(end.restedMs, play.latest - begunAt)
    play.site.end(end.lane, end.fence, endedAt, end.gapMs)
    if (end.mood === 'too-fast') play.site.shut(rules.originOf(end.lane), endedAt + (end.retryAfterMs ?? 60_000))
  }
}

const resolve: Act = async (play, dice) => {
  const holders = [...new Set(someHolders(play, dice, isTaken))] // a gateway has one word on a lane
  if (holders.length === 0) return
  const { process, call } = caller(play, dice)
  const words = holders.map((holder): rules.Word => {
    const kind = dice.pick(['keep', 'release', 'defer', 'defer'] as const)
    const most = kind === 'keep' ? holder.heads.length - 1 : holder.heads.length
    const dropped = holder.heads.slice(0, dice(Math.max(0, most) + 1)).map(() => dice.pick(['disallowed', 'expired']))
    const until = play.world.clock.now + dice.pick([0, 5_000, 100_000, 1_000_000])
    return {
      lane: holder.lane,
      fence: holder.fence,
      dropped,
      next: kind === 'defer' ? { kind, until, why: dice.pick(['robots-unreachable', 'robots-being-asked']) } : { kind },
    }
  })
  const real = await process.lanes.resolve(
    words.map(({ lane, fence, dropped, next }, index) => ({
      ...readLaneName(lane),
      fence,
      dropped: dropped.map((kind, at) => outcomeOf(holders[index]?.heads[at] ?? '', kind)),
      next: next as { kind: 'keep' },
    })),
  )
  const expected = rules.resolve(play.model, call, words)
  same('resolve', real, expected)
  for (const [index, answer] of real.entries()) {
    const [holder, word] = [holders[index], words[index]]
    if (holder === undefined || word === undefined) continue
    if (answer === 'settled') holder.heads.splice(0, word.dropped.length)
    if (word.next.kind !== 'keep') holder.state = 'done'
  }
}

const learn: Act = async (play, dice) => {
  const forAsker = play.questions.length > 0 && dice(3) === 2
  const asker = forAsker ? play.questions.pop() : holderOf(play, dice, isAsking)
  if (asker === undefined) return
  const { process, call } = caller(play, dice)
  const gaps = rules.AGENTS.filter(() => dice(4) < 3).map((agent): [string, number] => [agent, dice.pick(GAPS)])
  const [gapMs, restedMs, notBefore] = [dice.pick(GAPS), dice.pick([0, 400, 30_000]), dice(1_000)]
  const { agent, origin } = readLaneName(asker.lane)
  const real = await process.origins.learn({
    agent,
    origin,
    fence: asker.fence,
    ...(forAsker ? { forAsker } : {}),
    state: { notBefore },
    gaps: gaps.map(([name, gap]) => ({ agent: name, gapMs: gap })),
    gapMs,
    restedMs,
  })
  same(
    'learn',
    real,
    rules.learn(play.model, call, { lane: asker.lane, fence: asker.fence, forAsker, notBefore, gaps, gapMs, restedMs }),
  )
  if ('state' in asker) asker.state = 'done'
  if (real !== 'settled') return
  const own = gaps.find(([name]) => name === agent)?.[1] ?? 0
  for (const [name, gap] of gaps) play.site.gap(laneName(name, origin), gap, play.latest)
  const { begunAt } = asker as Partial<Holder>
  if (forAsker || begunAt === undefined) return
  const endedAt = play.latest - Math.min(restedMs, play.latest - begunAt)
  play.site.end(asker.lane, asker.fence, endedAt, Math.max(gapMs, own))
}

const reap: Act = async (play, dice) => {
  const { process, call } = caller(play, dice)
  const { begun, unbegun, questions } = await process.lanes.reap()
  const real = questions.map(({ agent, origin, fence, version }) => ({ lane: laneName(agent, origin), fence, version }))
  same('reap', { begun, unbegun, questions: real }, rules.reap(play.model, call))
  play.questions.push(...real)
}

// --- time and faults ---------------------------------------------------------------------------------------------

const setClock = (play: Play, instant: number): void => {
  play.world.clock.now = Number(instant.toFixed(3))
}

const pass: Act = async (play, dice) => {
  const { now } = play.world.clock
  const lanes = [...play.model.lanes.values()]
  const ahead = [
    ...lanes.flatMap(({ due }) => (due === undefined ? [] : [due])),
    ...lanes.flatMap(({ lease }) => (lease === undefined ? [] : [lease.ends, lease.notBefore])),
    ...[...play.model.origins.values()].map(({ shutUntil }) => shutUntil),
    play.model.epoch?.hold ?? 0,
  ].filter((instant) => instant > now)
  const kind = dice(8)
  if (kind < 3 && ahead.length > 0)
    setClock(play, Math.min(...ahead)) // exactly the next thing that may happen
  else if (kind < 5 && ahead.length > 0) setClock(play, Math.min(...ahead) - 0.5)
  else setClock(play, now + dice.pick([1, 250.25, 1_000, 4_000, 10_000, 45_000, 55_000, 600_000, 4_000_000]))
}

const backwards: Act = async (play, dice) => setClock(play, play.world.clock.now - dice.pick([1, 5_000, 3_600_000]))

/** What somebody else's restart takes is at least a second; a lost clock is not lost twice (docs/promises.md). */
const forward = (play: Play): void => setClock(play, Math.max(play.latest, play.world.clock.now) + 1_000)

const snapshot: Act = async (play) => {
  if (play.model.planned) return // an announcement that was written down, and a grant after it that was not: not promised
  await play.world.snapshot()
  play.snapshot = rules.copyOf(play.model)
}

const crash: Act = async (play, dice) => {
  const lost = dice(2) === 1 && play.snapshot !== undefined
  await play.world.crash(lost)
  if (lost && play.snapshot !== undefined) play.model = rules.copyOf(play.snapshot)
  if (play.model.epoch !== undefined) play.model.epoch.run = -1
  if (lost) play.site.lost()
  if (play.model.planned && !lost) return // as announced: nothing may be out; the next call does not hold
  forward(play)
}

/** Data gone as a whole; the process that has been there all along speaks up within the first hold. */
const forget: Act = async (play, dice) => {
  await play.world.forgetAll()
  play.model = rules.emptyModel()
  play.site.lost()
  forward(play)
  if (dice(2) === 0) await view(play, diceOf(3)) // a stranger first
  await view(play, diceOf(0))
}

const restartOther: Act = async (play) => {
  play.world.restartOther()
  play.known.other = { known: '' }
}

const announce: Act = async (play) => {
  // The promise of who announces: every lease has ended
  if ([...play.model.lanes.values()].some(({ lease }) => lease !== undefined)) return
  await play.world.announce()
  play.model.planned = true
}

const loseHolder: Act = async (play, dice) => void play.holders.splice(dice(play.holders.length + 1), 1)

const operate: Act = async (play, dice) => {
  const { process, call } = caller(play, dice)
  const action = dice.pick(['gap', 'pause', 'gap', 'resume', 'gap', 'block', 'unblock', 'resume'] as const)
  const [origin, gapMs] = [dice.pick(rules.ORIGINS), dice.pick([30_000, 2_000, 0])]
  const until = Math.round(play.world.clock.now) + dice.pick([400_000, 20_000, 0])
  const who = { origin, by: 'someone', reason: 'some' }
  const operation = action === 'gap' ? { ...who, action, gapMs, until } : { ...who, action, until }
  await process.operations.operate(operation, [...rules.AGENTS])
  rules.operate(play.model, call, { origin, action, gapMs, until })
}

const job: Act = async (play, dice) => {
  const there = dice(3) > 0
  await play.world.job('j', there)
  if (!there) play.model.jobs.delete('j')
  else if (!play.model.jobs.has('j')) play.model.jobs.set('j', new Set())
}

const drain: Act = async (play) => {
  await check(play)
  await play.world.drain()
  play.model.outcomes = []
  play.model.outbox = []
}

// --- looking -----------------------------------------------------------------------------------------------------

const view: Act = async (play, dice) => {
  const { process, call } = caller(play, dice)
  const origin = dice.pick(rules.ORIGINS)
  const real = await process.origins.view(origin, [...rules.AGENTS])
  rules.see(play.model, call)
  const expected = rules.originAt(play.model, origin)
  const { now } = real
  same(
    'view',
    {
      version: real.version,
      notBefore: real.state.notBefore,
      question: real.state.question?.fence,
      backOff: real.backOff,
      paused: real.paused?.until,
      blocked: real.blocked?.until,
      override: real.override?.gapMs,
      gaps: Object.fromEntries(
        rules.AGENTS.map((name) => [name, real.gaps.find(({ agent }) => agent === name)?.gapMs]),
      ),
      lanes: real.lanes.map(({ waiting, due, state, tries, head }) => [waiting, due, state, tries, head?.id]),
    },
    {
      version: expected.version,
      notBefore: expected.notBefore,
      question: expected.question?.fence,
      backOff: expected.shutUntil > now ? { until: expected.shutUntil, incidents: expected.incidents } : undefined,
      paused: expected.pausedUntil > now ? expected.pausedUntil : undefined,
      blocked: expected.blockedUntil > now ? expected.blockedUntil : undefined,
      override: expected.override !== undefined && expected.override.until > now ? expected.override.gapMs : undefined,
      gaps: Object.fromEntries(rules.AGENTS.map((name) => [name, expected.gaps.get(name)])),
      lanes: rules.AGENTS.map((agent) => rules.look(play.model, laneName(agent, origin))),
    },
  )
}

/** All that is stored against all that the model holds, and what must hold whatever the model says. */
export async function check(play: Play): Promise<void> {
  const real = await play.world.inspect(LANES, IDS)
  const { lanes, ids, outcomes, outbox } = play.model
  const sorted = (entries: [string, number][]): [string, number][] =>
    entries.sort(([a, x], [b, y]) => x - y || (a < b ? -1 : 1))
  same(
    'due',
    real.due,
    sorted([...lanes].flatMap(([name, { due }]) => (due === undefined ? [] : [[name, due] as [string, number]]))),
  )
  same(
    'in flight',
    real.inFlight,
    sorted(
      [...lanes].flatMap(([name, { lease }]) => (lease === undefined ? [] : [[name, lease.ends] as [string, number]])),
    ),
  )
  same('outcomes', real.outcomes, outcomes)
  same('outbox', real.outbox, outbox)
  const due = new Set(real.due.map(([name]) => name))
  const inFlight = new Set(real.inFlight.map(([name]) => name))
  const stored: string[] = []
  for (const name of LANES) {
    const both = (['h', 'q'] as const).map((list) =>
      (real.lists[`${list} ${name}`] ?? []).map((entry) => entry.split(' ')[3] ?? ''),
    )
    same(
      `URLs of ${name}`,
      both,
      (['h', 'q'] as const).map((list) => (lanes.get(name)?.[list] ?? []).map(({ id }) => id)),
    )
    stored.push(...both.flat())
    if (due.has(name) && inFlight.has(name)) throw new DifferenceError(`${name} is due and in flight`)
    if (both.flat().length > 0 && !due.has(name) && !inFlight.has(name))
      throw new DifferenceError(`${name} has work and is nowhere`)
  }
  same('each stored id is in one list, once', stored.sort(), real.ids.sort())
  same('ids', real.ids, [...ids].sort())
}

const look: Act = (play) => check(play)

/** How often each act comes, of a thousand. */
const ACTS: [number, Act][] = [
  [150, park],
  [190, take],
  [160, beginOrders],
  [130, settle],
  [50, resolve],
  [50, learn],
  [25, enter],
  [50, reap],
  [140, pass],
  [12, view],
  [8, look],
  [12, drain],
  [6, loseHolder],
  [14, operate],
  [3, job],
  [2, snapshot],
  [2, crash],
  [1, forget],
  [2, restartOther],
  [1, announce],
  [2, backwards],
]
export const ALL = ACTS.reduce((sum, [weight]) => sum + weight, 0)

/** An empty ledger whose first hold is over. */
export async function begin(play: Play): Promise<void> {
  await view(play, diceOf(0))
  play.world.clock.now += rules.FIRST_HOLD_MS
}

/** @param act  0 … ALL − 1 · @param number  what the step is made of */
export async function step(play: Play, act: number, number: number): Promise<string> {
  let left = act
  for (const [weight, does] of ACTS) {
    if (left < weight) {
      await does(play, diceOf(number))
      return does.name
    }
    left -= weight
  }
  throw new RangeError(`there is no act ${act}`)
}
