/** What gateways and fetchers do to lanes, done by the real ledger and by the model. */
import type { Completion, StoreItem } from '@decorum/ledger'
import { laneName, readLaneName } from '@decorum/ledger/testing'
import {
  type Act,
  caller,
  DELAYS,
  type Dice,
  forgetOldest,
  GROUP_LANES,
  holderOf,
  IDS,
  isConnecting,
  isTaken,
  isUnused,
  isVisiting,
  LANES,
  optional,
  outcomeOf,
  type Play,
  paceLaneOf,
  rounded,
  same,
  sentAt,
  someHolders,
  unlessInDoubt,
  waitUntilSent,
} from './play.ts'
import * as rules from './rules.ts'
import { JOB_TOKEN } from './world.ts'

export const store: Act = async (play, dice) => {
  const { process, call } = caller(play, dice)
  const mark = dice.pick<rules.Mark>([
    undefined,
    undefined,
    { key: 'k' },
    { job: 'j', token: JOB_TOKEN, chunk: 0 },
    { job: 'j', token: JOB_TOKEN, chunk: 1 },
    undefined,
  ])
  const real: StoreItem[] = []
  const items: rules.Item[] = []
  for (let count = dice(3); count >= 0; count--) {
    const [lane, id, own] = [dice.pick(LANES), dice.pick(IDS), dice(7) === 6 ? `m${dice(2)}` : undefined]
    if (dice(8) === 7) {
      const crawl = crawlDrawn(play, dice)
      real.push({ outcome: outcomeOf(id, 'invalid', crawl), ...optional('mark', own) })
      items.push({ outcome: 'invalid', id, crawl, ...optional('mark', own) })
      continue
    }
    const base = dice(4) === 3 ? 'h' : 'q'
    const expiresAt = dice(4) === 3 ? Math.round(play.world.clock.now) + dice(3) * 30_000 : 9_000_000_000_000
    const priority = base === 'h' ? 'high' : 'normal'
    const crawl = crawlDrawn(play, dice)
    const list = rules.listIn(base, crawl)
    real.push({
      lane: readLaneName(lane),
      pending: { id, path: '/', expiresAt, hops: 0, priority, ...(crawl === 'default' ? {} : { crawl }) },
      ...optional('mark', own),
    })
    items.push({ lane, list, id, expiresAt, ...optional('mark', own) })
  }
  same('store', await process.verbs.store(real, mark), rules.store(play.model, call, items, mark))
}

/** Drawn only where several are played: other runs stay what they were. */
const crawlDrawn = (play: Play, dice: Dice): string => (play.manner.crawls ? dice.pick(rules.CRAWLS) : 'default')

export const reserve: Act = async (play, dice) => {
  const { process, call } = caller(play, dice)
  const ask = {
    limit: dice.pick([4, 1, 2, 4]),
    aheadMs: dice.pick([0, 0, 1_000, 60_000]),
    inFlightLimit: dice.pick([9, 9, 2]),
    peek: dice.pick([1, 3]),
  }
  const real = await process.verbs.reserve(ask)
  const expected = rules.reserve(play.model, call, ask)
  if (real.kind === 'wait')
    return same(
      'reserve',
      { why: real.why, waitMs: real.waitMs },
      'why' in expected ? { ...expected, waitMs: rounded(expected.waitMs) } : expected,
    )
  const lanes = real.lanes.map((one): rules.ReservedLane => {
    const { question } = one.robots.state
    return {
      lane: laneName(one.agent, one.origin),
      fence: one.fence,
      notBefore: one.notBefore,
      tries: one.tries,
      list: rules.listIn(one.urls[0]?.priority === 'high' ? 'h' : 'q', one.urls[0]?.crawl ?? 'default'),
      urls: one.urls.map(({ id }) => id),
      why: one.heldBy,
      closedUntil: one.closedUntil,
      blocked: one.blocked !== undefined,
      refetch: one.refetch === true,
      delayMs: one.delayMs,
      version: one.robots.version,
      question: question === undefined ? undefined : { fence: question.fence, until: question.until },
    }
  })
  same('reserve', { lanes, more: real.more }, expected)
  for (const { lane, fence, version, urls, list } of lanes) {
    play.site.fence(lane, fence)
    const crawl = rules.crawlOf(list)
    play.holders.push({ lane, fence, version, urls, crawl, kind: 'page', state: 'taken' })
  }
  forgetOldest(play)
}

export const startOrders: Act = async (play, dice) => {
  const holders = someHolders(play, dice, isTaken)
  if (holders.length === 0) return
  const { process, call } = caller(play, dice)
  const orders = holders.map((holder): rules.Starting => {
    const drawn = dice.pick(['page', 'page', 'robots', 'page', 'page', 'robots-page'] as const)
    const kind = holder.isClaimed === true ? 'robots' : drawn
    const version = dice(12) === 11 ? holder.version + 1 : holder.version
    const paceLane = dice(3) < 2 ? paceLaneOf(holder.lane) : undefined
    return { lane: holder.lane, fence: holder.fence, kind, version, delayMs: dice.pick(DELAYS), paceLane }
  })
  const real = await Promise.all(
    orders.map(({ lane, paceLane, ...order }) =>
      process.verbs.start({
        ...readLaneName(lane),
        ...order,
        ...(paceLane === undefined ? {} : { paceLane: readLaneName(paceLane) }),
      }),
    ),
  )
  const answers = real.map((permit) =>
    permit.kind === 'refused' ? permit.why : permit.kind === 'early' ? `early ${permit.waitMs}` : permit.kind,
  )
  const waits = real.map((permit) => (permit.kind === 'granted' ? (permit.waitMs ?? 0) : 0))
  const paceLeases = real.map((permit) => (permit.kind === 'granted' ? permit.paceLane : undefined))
  const expected = rules.start(play.model, call, orders)
  same(
    'start',
    [answers, waits, paceLeases],
    [
      expected.map(({ kind, waitMs }) => (kind === 'early' ? `${kind} ${rounded(waitMs)}` : kind)),
      expected.map(({ kind, waitMs = 0 }) => (kind === 'granted' ? rounded(waitMs) : 0)),
      expected.map(({ paceLane }) => paceLane),
    ],
  )
  for (const [index, answer] of answers.entries()) {
    const [holder, order] = [holders[index], orders[index]]
    if (holder === undefined || order === undefined || answer?.startsWith('early')) continue
    if (answer !== 'granted') {
      if (holder.startedAt === undefined) holder.state = 'done'
      continue
    }
    const [waitMs, asks] = [waits[index] ?? 0, order.kind === 'robots-page']
    const startedAt = play.latest + waitMs
    Object.assign(holder, { kind: order.kind, asks, state: 'started', startedAt })
    play.site.visit(holder.lane, order.kind, holder.fence, startedAt, order.kind !== 'page')
    const pace = paceLeases[index]
    if (pace !== undefined && order.paceLane !== undefined)
      visited(play, order.paceLane, 'pace-group', pace.fence, { of: order.lane, waitMs })
  }
}

/** Somebody holds a lane by a visit. */
export function visited(
  play: Play,
  lane: string,
  kind: 'hop' | 'pace-group',
  fence: number,
  { asks = false, of, waitMs = 0 }: { asks?: boolean; of?: string | undefined; waitMs?: number | undefined } = {},
): void {
  const startedAt = play.latest + waitMs
  play.site.fence(lane, fence)
  play.site.visit(lane, kind, fence, startedAt, asks)
  play.holders.push({ lane, fence, version: 0, urls: [], kind, asks, of, state: 'started', startedAt })
  forgetOldest(play)
}

export const acquire: Act = async (play, dice) => {
  const { process, call } = caller(play, dice)
  const kind = dice.pick(['hop', 'pace-group'] as const)
  const drawn = dice(3)
  const lanes =
    kind === 'hop' || drawn === 0
      ? [dice.pick(LANES)]
      : drawn === 1
        ? [dice.pick(GROUP_LANES), dice.pick(GROUP_LANES)]
        : [dice.pick(LANES), dice.pick(LANES)]
  const isRobots = kind === 'hop' && dice(2) === 1
  const delayMs = dice.pick(DELAYS)
  const asker = dice(4) === 3 ? undefined : dice.pick(LANES)
  const by = asker === undefined || lanes.includes(asker) ? undefined : asker
  const of = dice(2) === 1 ? by : undefined
  const paceLane = kind === 'hop' && dice(2) === 1 ? paceLaneOf(lanes[0] as string) : undefined
  const asked = {
    lanes: lanes.map(readLaneName),
    kind,
    delayMs,
    isRobots,
    ...optional('by', by === undefined ? by : readLaneName(by)),
    ...optional('of', of === undefined ? of : readLaneName(of)),
    ...optional('paceLane', paceLane === undefined ? undefined : readLaneName(paceLane)),
  }
  const real = await process.verbs.acquire(asked)
  const expected = rules.acquire(play.model, call, { lanes, kind, delayMs, by, of, isRobots, paceLane })
  if (real.kind === 'wait')
    return same(
      'acquire',
      { waitMs: real.waitMs, gate: real.gate },
      'waitMs' in expected ? { ...expected, waitMs: rounded(expected.waitMs) } : expected,
    )
  if (real.kind === 'blocked') return same('acquire', real, expected)
  const { agent, origin } = real.lane
  const lane = laneName(agent, origin)
  const pace = real.paceLane
  const lease = { fence: real.fence, delayMs: real.delayMs }
  same('acquire', { lane, lease, ...optional('pace', pace) }, expected)
  visited(play, lane, kind, real.fence, { asks: isRobots, of })
  if (pace !== undefined && paceLane !== undefined) visited(play, paceLane, 'pace-group', pace.fence, { of: lane })
}

/** A visit that is not used after all. */
export const release: Act = async (play, dice) => {
  const holder = holderOf(play, dice, isUnused)
  if (holder === undefined) return
  const { process, call } = caller(play, dice)
  const { lane, fence } = holder
  const word = { lane, fence, dropped: [], next: { kind: 'release' as const } }
  const resolution = { ...readLaneName(lane), fence, dropped: [], next: word.next }
  const real = await unlessInDoubt(process.verbs.resolve([resolution]))
  same('release', real, rules.resolve(play.model, call, [word]))
  if (real === 'doubt') return
  if (real[0] === 'completed') play.site.unused(lane, fence)
  holder.state = 'done'
}

/** Connecting took long: the permit is asked for again. What is refused, and some that is not, is given back unused. */
export const confirm: Act = async (play, dice) => {
  const holder = holderOf(play, dice, isConnecting)
  if (holder === undefined) return
  const { process, call } = caller(play, dice)
  const { lane, fence } = holder
  const version = holder.kind === 'page' || holder.kind === 'robots' ? holder.version : undefined
  const asked = [{ ...readLaneName(lane), fence, ...optional('version', version) }]
  const answer = await process.verbs.confirm(asked)
  same('confirm', answer, rules.confirm(play.model, call, [{ lane, fence, version }]))
  // Who has given it back sends nothing, even if Redis has forgotten that.
  if (answer === 'granted' && holder.startedAt !== undefined && holder.state !== 'done')
    play.site.sent(lane, fence, play.latest)
  if (answer === 'granted' && dice(3) > 0) return
  const other = caller(play, dice)
  const word = { lane, fence, dropped: [], next: { kind: 'unused' as const } }
  const resolution = { ...readLaneName(lane), fence, dropped: [], next: word.next }
  const real = await unlessInDoubt(other.process.verbs.resolve([resolution]))
  same('unused', real, rules.resolve(play.model, other.call, [word]))
  if (real === 'doubt') return
  if (real[0] === 'completed') play.site.unused(lane, fence)
  holder.state = 'done'
}

/** What a redirect asks to wait: mostly nothing. */
function someWait(play: Play, dice: Dice): rules.Wait | undefined {
  const ms = dice.pick([undefined, 1_000, 120_000])
  if (ms === undefined) return undefined
  const { now } = play.world.clock
  const asked = dice(2) === 1 ? { retryAfterMs: ms } : { retryAfterAt: now + ms }
  return { ...asked, ...(dice(2) === 1 ? { expiresAt: now + 30_000 } : {}) }
}

export const complete: Act = async (play, dice) => {
  const holders = someHolders(play, dice, isVisiting)
  if (holders.length === 0) return
  waitUntilSent(play, holders)
  const { process, call } = caller(play, dice)
  const endings = holders.map((holder): Omit<rules.Ending, 'jitter'> => {
    // A fetcher ends the order of a claimed lane like a secondary lease: no URL of the lane was asked for.
    const entered = holder.kind === 'hop' || holder.kind === 'pace-group' || holder.isClaimed === true
    const [id] = holder.urls
    const stays = entered || id === undefined || dice(3) === 2
    const load = dice.pick([
      'normal',
      'normal',
      'normal',
      'asked-for-less',
      'asked-to-wait',
      'turned-away',
      'no-answer',
      'no-answer',
    ] as const)
    const [delayMs, elapsedMs] = [dice.pick(DELAYS), dice.pick([0, 0, 400, 30_000])]
    const mayAsk = load !== 'normal' && load !== 'no-answer'
    const askedMs = mayAsk ? dice.pick([undefined, undefined, 1_000, 120_000]) : undefined
    const isCandidate = !stays && dice(5) === 4
    const asDate = askedMs !== undefined && holder.fence % 2 === 0
    return {
      lane: holder.lane,
      fence: holder.fence,
      delayMs,
      elapsedMs,
      load,
      retryAfterMs: asDate ? undefined : askedMs,
      retryAfterAt: asDate ? play.world.clock.now + askedMs : undefined,
      outcome: stays ? undefined : dice.pick(['fetched', 'failed']),
      entered,
      candidate: isCandidate ? `${id}>` : undefined,
      wait: isCandidate ? someWait(play, dice) : undefined,
    }
  })
  const asked = Promise.all(
    endings.map((end, index) => {
      const { lane, fence, delayMs, elapsedMs, load, retryAfterMs, retryAfterAt, outcome, entered, candidate, wait } =
        end
      const { expiresAt, ...candidateAfter } = wait ?? {}
      const completion: Completion = {
        ...readLaneName(lane),
        fence,
        delayMs,
        elapsedMs,
        load:
          load === 'asked-for-less' || load === 'asked-to-wait' || load === 'turned-away'
            ? { kind: load, ...optional('retryAfterMs', retryAfterMs), ...optional('retryAfterAt', retryAfterAt) }
            : { kind: load },
        ...(outcome === undefined
          ? {}
          : { outcome: outcomeOf(holders[index]?.urls[0] ?? '', outcome, holders[index]?.crawl) }),
        ...(entered ? { secondary: true as const } : {}),
        ...(candidate === undefined
          ? {}
          : {
              candidate: { id: candidate, url: 'http://elsewhere.test/', ...optional('expiresAt', expiresAt) },
              candidateAfter,
            }),
      }
      return process.verbs.complete(completion)
    }),
  )
  const real = await unlessInDoubt(asked)
  const drawn = endings.map((end, index) => ({ ...end, jitter: play.world.jitters[index] ?? 0 }))
  same('complete', real, rules.complete(play.model, call, drawn))
  if (real === 'doubt') return
  for (const [index, answer] of real.entries()) {
    const end = endings[index]
    const startedAt = sentAt(holders[index] ?? {}, play.latest)
    if (holders[index] !== undefined) Object.assign(holders[index], { state: 'done', over: answer === 'completed' })
    if (answer !== 'completed' || end === undefined || startedAt === undefined) continue
    const endedAt = play.latest - Math.min(end.elapsedMs, play.latest - startedAt)
    play.site.end(end.lane, end.fence, endedAt, end.delayMs, holders[index]?.of)
    const { lane, delayMs, load, retryAfterMs, retryAfterAt } = end
    const ended = rules.ms((play.model.epoch?.now ?? 0) - Math.min(end.elapsedMs, play.latest - startedAt))
    play.ends.push({ lane, delayMs, load, retryAfterMs, retryAfterAt, endedAt: ended })
    const isSite = rules.originOf(end.lane) !== rules.GROUP
    const asked = retryAfterMs ?? (retryAfterAt === undefined ? undefined : retryAfterAt - play.world.clock.now)
    const shutMs = asked ?? (end.load === 'asked-for-less' ? 60_000 : 0)
    if (shutMs > 0 && isSite) play.site.shut(rules.originOf(end.lane), endedAt + shutMs)
  }
}

/** They may hold one crawl of a lane alone. */
const NO_SLOT = ['share', 'pool']

export const resolve: Act = async (play, dice) => {
  const holders = [...new Set(someHolders(play, dice, isTaken))] // a gateway has one word on a lane
  if (holders.length === 0) return
  const { process, call } = caller(play, dice)
  const words = holders.map((holder): rules.Word => {
    const kind = dice.pick(['keep', 'pool', 'release', 'defer', 'defer'] as const)
    const most = kind === 'keep' || kind === 'pool' ? holder.urls.length - 1 : holder.urls.length
    const dropped = holder.urls.slice(0, dice(Math.max(0, most) + 1)).map(() => dice.pick(['disallowed', 'expired']))
    const until = play.world.clock.now + play.model.shift + dice.pick([0, 5_000, 100_000, 1_000_000])
    return {
      lane: holder.lane,
      fence: holder.fence,
      dropped,
      next:
        kind === 'defer'
          ? { kind, until, why: dice.pick(['robots-unreachable', 'robots-in-flight', ...NO_SLOT]) }
          : { kind },
    }
  })
  const asked = process.verbs.resolve(
    words.map(({ lane, fence, dropped, next }, index) => ({
      ...readLaneName(lane),
      fence,
      dropped: dropped.map((kind, at) => outcomeOf(holders[index]?.urls[at] ?? '', kind, holders[index]?.crawl)),
      next: next as { kind: 'keep' },
    })),
  )
  const real = await unlessInDoubt(asked)
  same('resolve', real, rules.resolve(play.model, call, words))
  if (real === 'doubt') return
  for (const [index, answer] of real.entries()) {
    const [holder, word] = [holders[index], words[index]]
    if (holder === undefined || word === undefined) continue
    if (answer === 'completed') holder.urls.splice(0, word.dropped.length)
    if (answer === 'completed' && holder.startedAt !== undefined) play.site.unused(holder.lane, holder.fence)
    if (word.next.kind !== 'keep' && word.next.kind !== 'pool') holder.state = 'done'
  }
}
