/** Robots answers, reaping, the operator's hand, the configuration's least delays: done by the real ledger and by the model. */
import { EVERYTHING } from '@decorum/ledger'
import { laneName, readLaneName } from '@decorum/ledger/testing'
import {
  type Act,
  caller,
  DELAYS,
  holderOf,
  isAsking,
  isFetched,
  optional,
  same,
  sentAt,
  unlessInDoubt,
  waitUntilSent,
} from './play.ts'
import * as rules from './rules.ts'

export const record: Act = async (play, dice) => {
  const withPage = play.robotsFetches.length > 0 && dice(3) === 2
  const asker = withPage ? play.robotsFetches.pop() : holderOf(play, dice, isAsking)
  if (asker === undefined) return
  waitUntilSent(play, [asker])
  const { process, call } = caller(play, dice)
  const delays = rules.AGENTS.filter(() => dice(4) < 3).map((agent): [string, number] => [agent, dice.pick(DELAYS)])
  const [delayMs, elapsedMs, notBefore] = [dice.pick(DELAYS), dice.pick([0, 400, 30_000]), dice(1_000)]
  const kind = dice.pick([
    ...(['normal', 'normal', 'normal', 'asked-for-less', 'asked-to-wait', 'turned-away', 'no-answer'] as const),
  ])
  const mayAsk = kind !== 'normal' && kind !== 'no-answer'
  const retryAfterMs = mayAsk ? dice.pick([undefined, 1_000, 120_000]) : undefined
  const { agent, origin } = readLaneName(asker.lane)
  const asked = process.verbs.record({
    agent,
    origin,
    fence: asker.fence,
    ...(withPage ? { withPage } : {}),
    state: { notBefore },
    delays: delays.map(([name, delay]) => ({ agent: name, delayMs: delay })),
    delayMs,
    elapsedMs,
    load: mayAsk ? { kind, ...optional('retryAfterMs', retryAfterMs) } : { kind },
  })
  const real = await unlessInDoubt(asked)
  same(
    'record',
    real,
    rules.record(play.model, call, {
      lane: asker.lane,
      fence: asker.fence,
      withPage,
      notBefore,
      delays,
      delayMs,
      elapsedMs,
      load: kind,
      retryAfterMs,
      jitter: play.world.jitters[0] ?? 0,
    }),
  )
  if (real === 'doubt') {
    if (!('state' in asker)) play.robotsFetches.push(asker)
    return
  }
  if ('state' in asker) asker.state = 'done'
  if (real !== 'completed') return
  const own = delays.find(([name]) => name === agent)?.[1] ?? 0
  for (const [name, delay] of delays) play.site.delay(laneName(name, origin), delay, play.latest)
  const startedAt = sentAt(asker, play.latest)
  if (withPage || startedAt === undefined) return
  const endedAt = play.latest - Math.min(elapsedMs, play.latest - startedAt)
  play.site.end(asker.lane, asker.fence, endedAt, Math.max(delayMs, own))
  const shutMs = retryAfterMs ?? (kind === 'asked-for-less' ? 60_000 : 0)
  if (shutMs > 0) play.site.shut(origin, endedAt + shutMs)
}

export const endRobotsFetch: Act = async (play, dice) => {
  const holder = play.holders.findLast(isFetched)
  if (holder === undefined) return
  const { process, call } = caller(play, dice)
  const { origin } = readLaneName(holder.lane)
  const end = { origin, fence: holder.fence, agents: [...rules.AGENTS] }
  const real = await unlessInDoubt(process.verbs.endRobotsFetch(end))
  same('endRobotsFetch', real, rules.endRobotsFetch(play.model, call, origin, holder.fence))
  if (real !== 'doubt') holder.asks = false
}

export const reap: Act = async (play, dice) => {
  const { process, call } = caller(play, dice)
  const { started, unstarted, robotsFetches } = await process.verbs.reap()
  const real = robotsFetches.map(({ agent, origin, fence, version }) => ({
    lane: laneName(agent, origin),
    fence,
    version,
  }))
  same('reap', { started, unstarted, robotsFetches: real }, rules.reap(play.model, call))
  play.robotsFetches.push(...real)
}

export const operate: Act = async (play, dice) => {
  const { process, call } = caller(play, dice)
  const action = dice.pick(['delay', 'pause', 'delay', 'resume', 'refetch', 'block', 'unblock', 'resume'] as const)
  const [origin, delayMs] = [dice.pick(rules.ORIGINS), dice.pick([30_000, 2_000, 0])]
  const until = Math.round(play.world.clock.now + play.model.shift) + dice.pick([400_000, 20_000, 0])
  const who = { origin, by: 'someone', reason: 'some' }
  const operation = action === 'delay' ? { ...who, action, delayMs, until } : { ...who, action, until }
  await process.verbs.operate(operation, [...rules.AGENTS])
  rules.operate(play.model, call, { origin, action, delayMs, until })
}

/** Stops of another version, now and then of an older one: of everything, of one host, or of all; most end soon. */
export const stops: Act = async (play, dice) => {
  const { process, call } = caller(play, dice)
  const known = play.model.stops?.version ?? 0
  const version = Math.max(1, known + dice.pick([1, 1, 1, 0, -1]))
  const expected = dice(4) === 3 ? known - dice(2) : undefined
  const end = (): number =>
    dice(12) === 11 ? Number.POSITIVE_INFINITY : Math.round(play.world.clock.now) + dice.pick([2_000, 10_000, 40_000])
  const everything = dice(8) === 7 ? end() : 0
  const names = ['one.test', 'two.test', 'test']
    .filter(() => dice(6) === 5)
    .map((name): [string, number] => [name, end()])
  const listed = [...names, ...(everything === 0 ? [] : [[EVERYTHING, everything] as [string, number]])]
  const record = {
    version,
    stops: listed.map(([name, until]) => ({
      ...{ name, at: 0, by: 'someone', reason: 'some' },
      ...(Number.isFinite(until) ? { until } : {}),
    })),
  }
  const real = await unlessInDoubt(process.verbs.stops(record, 0, expected))
  const told = real === 'doubt' ? real : `${real.kind} ${real.version}`
  same('stops', told, rules.stops(play.model, call, { version, expected, everything, names }))
}
