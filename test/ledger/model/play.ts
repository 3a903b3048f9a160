/** A run under way: the model, the real ledger, who holds what; and how a step draws its choices and compares. */
import { LedgerUnavailableError, type NextTurn } from '@decorum/ledger'
import { laneName } from '@decorum/ledger/testing'
import type { Outcome } from '@decorum/protocol'
import * as rules from './rules.ts'
import { openSite, type Site } from './site.ts'
import type { Process, World } from './world.ts'

export const LANES = rules.ORIGINS.flatMap((origin) => rules.AGENTS.map((agent) => laneName(agent, origin)))
/** Lanes of a pace group, which hold no URLs. */
export const GROUP_LANES = rules.AGENTS.map((agent) => laneName(agent, rules.GROUP))
/** The lane of the same agent that a request holds besides its own: that of its host where it is another one, else that of a pace group. */
export function paceLaneOf(lane: string): string {
  const origin = rules.originOf(lane)
  const host = rules.hostOf(origin)
  const hasHostLane = host !== origin && rules.ORIGINS.some((one) => one === host)
  return laneName(rules.agentOf(lane), hasHostLane ? host : rules.GROUP)
}
export const IDS = [...Array.from({ length: 10 }, (_, i) => `u${i}`), '#:1.0', '#:1.1']
export const DELAYS = [0, 1_000, 4_000, 10_000]

/** Somebody who was handed a lane; perhaps long ago. */
export type Holder = {
  lane: string
  fence: number
  version: number
  urls: string[]
  crawl?: string
  kind: 'page' | 'robots' | 'robots-page' | 'hop' | 'pace-group'
  /** the lane whose request it is, where that is another one */
  of?: string | undefined
  /** its URL is a robots.txt; `over`: its exchange has ended */
  asks?: boolean
  over?: boolean
  /** reserved for a robots fetch */
  isClaimed?: true
  /** as far as the holder knows: 'done' ones are kept for a while, and try again as zombies do */
  state: 'taken' | 'started' | 'done'
  /** when its first request is sent; perhaps a little later than it was granted */
  startedAt?: number
  /** of a further request under its lease: when it is sent */
  furtherAt?: number
  /** of a further request whose turn is to come: as the ledger and as the model gave it, and what it was asked with */
  turn?: Turn
}
export type Turn = {
  real: NextTurn
  model: rules.NextTurn
  asked: Pick<rules.Next, 'kind' | 'isRobots' | 'elapsedMs' | 'delayMs'>
  holders: Holder[]
  /** when the request before it had ended in each lane that is held, on the sites' clock */
  ended: Map<Holder, number>
}
/** When the latest request of a holder was sent. */
export const sentAt = ({ startedAt, furtherAt = 0 }: Partial<Holder>, now: number): number | undefined =>
  furtherAt > 0 && furtherAt <= now ? furtherAt : startedAt

export type Play = {
  manner: rules.Manner
  model: rules.Model
  world: World
  site: Site
  /** newest last; those who are done stay for a while, as zombies */
  holders: Holder[]
  robotsFetches: rules.Question[]
  /** ends of exchanges that a process remembers, the oldest first */
  ends: rules.Ended[]
  known: { steady: { known: string }; other: { known: string } }
  snapshot?: rules.Model
  /** instant of the latest call, by the sites' clock, which never leaps */
  latest: number
  steps: number
}

export class DifferenceError extends Error {
  override readonly name = 'DifferenceError'
}

export function startPlay(world: World, manner: rules.Manner): Play {
  const known = { steady: { known: '' }, other: { known: '' } }
  return {
    manner,
    model: rules.emptyModel(manner),
    world,
    site: openSite(),
    holders: [],
    robotsFetches: [],
    ends: [],
    known,
    latest: 0,
    steps: 0,
  }
}

/** So much passes. */
export const move = ({ world: { clock } }: Play, ms: number): void => {
  clock.now = Number((clock.now + ms).toFixed(3))
  clock.steady = Number((clock.steady + ms).toFixed(3))
}
/** Who was granted a request ahead of its due time waits until then; nobody says before that what became of it. */
export function waitUntilSent(play: Play, holders: Partial<Holder>[]): void {
  const latest = Math.max(0, ...holders.map(({ startedAt = 0 }) => startedAt))
  if (latest > play.world.clock.steady) move(play, latest - play.world.clock.steady)
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

/** Instants in ms are doubles that lie 0.00024 apart: sums of the same numbers in another order differ by that. */
export function same(what: string, real: unknown, expected: unknown): void {
  const text = (value: unknown) =>
    JSON.stringify(value, (_, part) => (typeof part === 'number' ? rounded(part) : part)) as string | undefined
  const a = text(real)
  const b = text(expected)
  if (a !== b) throw new DifferenceError(`${what}\n  the ledger: ${a}\n  the model:  ${b}`)
}

/** Which of the two processes calls, and what the model has to know of it. */
export function caller(play: Play, dice: Dice): { process: Process; call: rules.Call } {
  const name = dice(4) === 3 ? 'other' : 'steady'
  const { clock } = play.world
  play.latest = clock.steady
  play.steps++
  const process = play.world[name]
  return {
    process,
    call: { caller: play.known[name], time: clock.now, most: process.most(), excess: process.excess(), run: 0 },
  }
}

export const outcomeOf = (id: string, kind: string, crawl = 'default'): Outcome =>
  ({
    id,
    kind,
    ...(kind === 'fetched' ? { bytes: 1 } : {}),
    ...(crawl === 'default' ? {} : { crawl }),
  }) as unknown as Outcome
/** Lengths of time are answered with three decimals. */
export const rounded = (ms: number | undefined): number | undefined =>
  ms === undefined ? undefined : Number(ms.toFixed(3))

export const optional = <K extends string, V>(key: K, value: V | undefined): { [key in K]?: V } =>
  (value === undefined ? {} : { [key]: value }) as { [key in K]?: V }

/** Begun under a version of the rules, and perhaps still connecting. */
export const isConnecting = ({ state, kind }: Holder): boolean =>
  state === 'started' && (kind === 'page' || kind === 'robots')

/** Mostly one for whom the act makes sense, now and then anybody. */
export function holderOf(play: Play, dice: Dice, fits: (holder: Holder) => boolean): Holder | undefined {
  const fitting = dice(8) < 7 ? play.holders.filter(fits) : play.holders
  return fitting[dice(Math.max(1, fitting.length))]
}
export const someHolders = (play: Play, dice: Dice, fits: (holder: Holder) => boolean): Holder[] => {
  const first = holderOf(play, dice, fits)
  const second = dice(3) === 2 ? holderOf(play, dice, fits) : undefined
  return [first, second].filter((one) => one !== undefined)
}
/** What the ledger answers, or that it does not while it is in doubt what time it is: whoever asked asks again. */
export async function unlessInDoubt<T>(asked: Promise<T>): Promise<T | 'doubt'> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof LedgerUnavailableError && error.message.includes('DOUBT')) return 'doubt'
    throw error
  }
}

export const isTaken = ({ state }: Holder): boolean => state === 'taken'
export const isVisiting = ({ state, kind }: Holder): boolean => state === 'started' && kind !== 'robots'
export const isUnused = ({ state, kind }: Holder): boolean =>
  state === 'started' && (kind === 'hop' || kind === 'pace-group')
/** Under which a further request may be asked for. */
export const isHeld = (holder: Holder): boolean =>
  isUnused(holder) || (holder.state === 'started' && holder.kind === 'page')
export const isAsking = ({ state, kind }: Holder): boolean => state === 'started' && kind === 'robots'

/** A page or a hop that was a robots fetch, and is over. */
export const isFetched = ({ asks, over }: Holder): boolean => asks === true && over === true

export type Act = (play: Play, dice: Dice) => Promise<void>

export const forgetOldest = ({ holders }: Play): void => void holders.splice(0, holders.length - 8)
