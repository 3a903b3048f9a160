/** What permits do to lanes, done by the real ledger and by the model. */
import { readLaneName } from '@decorum/ledger/testing'
import { visited } from './acts.ts'
import {
  type Act,
  caller,
  DELAYS,
  type Dice,
  forgetOldest,
  type Holder,
  isHeld,
  isUnused,
  LANES,
  optional,
  type Play,
  paceLaneOf,
  rounded,
  same,
  sentAt,
  someHolders,
  type Turn,
  unlessInDoubt,
  waitUntilSent,
} from './play.ts'
import * as rules from './rules.ts'

const LEASES = [20_000, 45_000]

/** Mostly asks by the rules in force. */
function wish(play: Play, dice: Dice): rules.Granting {
  const lane = dice.pick(LANES)
  const { version } = rules.originAt(play.model, rules.originOf(lane))
  return {
    lane,
    paceLane: dice(2) === 1 ? paceLaneOf(lane) : undefined,
    version: dice(6) === 5 ? version + 1 : version,
    delayMs: dice.pick(DELAYS),
    leaseMs: dice.pick(LEASES),
    by: `p${dice(2)}:${lane}`,
    // drawn only where several are played: other runs stay what they were
    crawl: play.manner.crawls && dice(4) > 0 ? dice.pick(rules.CRAWLS) : undefined,
  }
}

export const grant: Act = async (play, dice) => {
  const { process, call } = caller(play, dice)
  const wishes = dice(3) === 2 ? [wish(play, dice), wish(play, dice)] : [wish(play, dice)]
  const real = await Promise.all(
    wishes.map(({ lane, paceLane, by, crawl, ...asked }) =>
      process.verbs.grant({
        ...readLaneName(lane),
        ...asked,
        by: readLaneName(by),
        ...optional('paceLane', paceLane === undefined ? undefined : readLaneName(paceLane)),
        ...optional('crawl', crawl),
      }),
    ),
  )
  const told = real.map((answer): rules.Granted => {
    if (answer.kind === 'crawl-held') return { kind: answer.kind, version: answer.record.version }
    if (answer.kind !== 'granted') return answer
    return {
      kind: answer.kind,
      waitMs: answer.waitMs,
      own: { fence: answer.fence, delayMs: answer.delayMs },
      ...optional('pace', answer.paceLane),
    }
  })
  const expected = rules.grant(play.model, call, wishes)
  same(
    'grant',
    told,
    expected.map((one) => (one.waitMs === undefined ? one : { ...one, waitMs: rounded(one.waitMs) })),
  )
  for (const [index, { own, pace, waitMs }] of told.entries()) {
    const { lane, paceLane, leaseMs } = wishes[index] as rules.Granting
    if (own === undefined) continue
    visited(play, lane, 'hop', own.fence, { waitMs })
    play.site.lasts(lane, own.fence, play.latest + leaseMs)
    if (pace === undefined || paceLane === undefined) continue
    visited(play, paceLane, 'pace-group', pace.fence, { of: lane, waitMs })
    play.site.lasts(paceLane, pace.fence, play.latest + leaseMs)
  }
}

export const extend: Act = async (play, dice) => {
  const holders = someHolders(play, dice, isUnused)
  if (holders.length === 0) return
  const { process, call } = caller(play, dice)
  const leaseMs = dice.pick(LEASES)
  const held = holders.map(({ lane, fence, version, kind }) => ({
    lane,
    fence,
    version: kind === 'page' ? version : undefined,
  }))
  const asked = held.map(({ lane, fence, version }) => ({
    ...readLaneName(lane),
    fence,
    ...optional('version', version),
  }))
  const real = await unlessInDoubt(process.verbs.extend(asked, leaseMs))
  same('extend', real, rules.extend(play.model, call, held, leaseMs))
  if (real === 'doubt' || real.kind === 'stale') return
  for (const { lane, fence } of held) play.site.lasts(lane, fence, play.latest + leaseMs)
}

/** One more request under what is held: a further one of an order or a permit, or a hop in its lane. Now and then it is asked for twice. */
export const next: Act = async (play, dice) => {
  const holders = [...new Set(someHolders(play, dice, isHeld))]
  const [first] = holders
  if (first === undefined) return
  if (first.turn !== undefined && dice(3) > 0)
    return askNext(play, dice, first.turn.holders, first.turn.asked, first.turn)
  const kind = dice.pick(['further', 'hop'] as const)
  const isRobots = kind === 'hop' && dice(2) === 1
  const [elapsedMs, delayMs] = [dice.pick([0, 400, 30_000]), dice.pick(DELAYS)]
  waitUntilSent(play, holders)
  for (let asks = dice(3) === 2 ? 2 : 1; asks > 0; asks--)
    await askNext(play, dice, holders, { kind, isRobots, elapsedMs, delayMs })
}

type Further = Pick<rules.Next, 'kind' | 'isRobots' | 'elapsedMs' | 'delayMs'>
async function askNext(play: Play, dice: Dice, holders: Holder[], asked: Further, turn?: Turn): Promise<void> {
  const { process, call } = caller(play, dice)
  const { lane } = holders[0] as Holder
  const held = holders.map(({ lane, fence, version }) => ({ lane, fence, version }))
  const real = await unlessInDoubt(
    process.verbs.next({
      ...asked,
      lane: readLaneName(lane),
      held: held.map(({ lane, fence, version }) => ({ ...readLaneName(lane), fence, version })),
      turn: turn?.real,
    }),
  )
  const expected = rules.next(play.model, call, { ...asked, lane, held, turn: turn?.model })
  const answer = (of: { kind: string; waitMs?: number; gate?: string } | 'doubt') =>
    of === 'doubt' ? of : [of.kind, of.waitMs === undefined ? undefined : rounded(of.waitMs), of.gate]
  same('next', answer(real), answer(expected))
  if (real === 'doubt' || !('turn' in real) || expected === 'doubt' || expected.turn === undefined) return
  const [first] = holders as [Holder]
  const ended = turn?.ended ?? endsBefore(play, holders, asked)
  if (real.kind === 'turn') {
    first.turn = { real: real.turn, model: expected.turn, asked, holders, ended }
    return
  }
  delete first.turn
  const at = play.latest + real.waitMs
  for (const [holder, endedAt] of ended) {
    if (holder.state !== 'done') play.site.further(holder.lane, holder.fence, at, endedAt, asked.delayMs, holder.of)
    if (holder === first) holder.furtherAt = at
  }
}

/** When the request before a further one has ended in each lane, on the sites' clock. */
function endsBefore(play: Play, holders: Holder[], { elapsedMs }: Further): Map<Holder, number> {
  return new Map(
    holders.flatMap((holder): [Holder, number][] => {
      const began = sentAt(holder, play.latest)
      if (began === undefined || holder.state === 'done') return []
      return [[holder, play.latest - Math.min(elapsedMs, play.latest - began)]]
    }),
  )
}

export const claim: Act = async (play, dice) => {
  const { process, call } = caller(play, dice)
  const lane = dice.pick(LANES)
  const paceLane = dice(2) === 1 ? paceLaneOf(lane) : undefined
  const crawl = play.manner.crawls && dice(2) === 1 ? dice.pick(rules.CRAWLS.slice(1)) : undefined
  const real = await process.verbs.claim({
    ...readLaneName(lane),
    ...optional('paceLane', paceLane === undefined ? undefined : readLaneName(paceLane)),
    ...optional('crawl', crawl),
  })
  const list = crawl === undefined ? undefined : rules.listIn('q', crawl)
  const expected = rules.claim(play.model, call, { lane, paceLane, list })
  if (real.kind === 'wait') {
    const told = { waitMs: real.waitMs, gate: real.gate }
    return same('claim', told, 'waitMs' in expected ? { ...expected, waitMs: rounded(expected.waitMs) } : expected)
  }
  if (real.kind === 'blocked') return same('claim', real, expected)
  if (real.kind === 'crawl-held') return same('claim', { kind: real.kind, version: real.record.version }, expected)
  const { fence, notBefore, version } = real
  same(
    'claim',
    { fence, notBefore, version },
    'fence' in expected ? { ...expected, notBefore: rounded(expected.notBefore) } : expected,
  )
  play.site.fence(lane, fence)
  play.holders.push({ lane, fence, version, urls: [], kind: 'robots', isClaimed: true, state: 'taken' })
  forgetOldest(play)
}
