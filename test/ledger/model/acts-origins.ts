/** Robots answers, reaping, the operator's hand: done by the real ledger and by the model. */
import { laneName, readLaneName } from '../../../packages/ledger/src/keys.ts'
import { type Act, caller, GAPS, type Holder, holderOf, isAsking, isFetched, same, unlessInDoubt } from './play.ts'
import * as rules from './rules.ts'

export const learn: Act = async (play, dice) => {
  const forAsker = play.questions.length > 0 && dice(3) === 2
  const asker = forAsker ? play.questions.pop() : holderOf(play, dice, isAsking)
  if (asker === undefined) return
  const { process, call } = caller(play, dice)
  const gaps = rules.AGENTS.filter(() => dice(4) < 3).map((agent): [string, number] => [agent, dice.pick(GAPS)])
  const [gapMs, restedMs, notBefore] = [dice.pick(GAPS), dice.pick([0, 400, 30_000]), dice(1_000)]
  const { agent, origin } = readLaneName(asker.lane)
  const asked = process.origins.learn({
    agent,
    origin,
    fence: asker.fence,
    ...(forAsker ? { forAsker } : {}),
    state: { notBefore },
    gaps: gaps.map(([name, gap]) => ({ agent: name, gapMs: gap })),
    gapMs,
    restedMs,
  })
  const real = await unlessInDoubt(asked)
  same(
    'learn',
    real,
    rules.learn(play.model, call, { lane: asker.lane, fence: asker.fence, forAsker, notBefore, gaps, gapMs, restedMs }),
  )
  if (real === 'doubt') {
    if (!('state' in asker)) play.questions.push(asker)
    return
  }
  if ('state' in asker) asker.state = 'done'
  if (real !== 'settled') return
  const own = gaps.find(([name]) => name === agent)?.[1] ?? 0
  for (const [name, gap] of gaps) play.site.gap(laneName(name, origin), gap, play.latest)
  const { begunAt } = asker as Partial<Holder>
  if (forAsker || begunAt === undefined) return
  const endedAt = play.latest - Math.min(restedMs, play.latest - begunAt)
  play.site.end(asker.lane, asker.fence, endedAt, Math.max(gapMs, own))
}

export const endRobotsFetch: Act = async (play, dice) => {
  const holder = play.holders.findLast(isFetched)
  if (holder === undefined) return
  const { process, call } = caller(play, dice)
  const { origin } = readLaneName(holder.lane)
  const end = { origin, fence: holder.fence, agents: [...rules.AGENTS] }
  const real = await process.origins.endRobotsFetch(end)
  same('endRobotsFetch', real, rules.endRobotsFetch(play.model, call, origin, holder.fence))
  holder.asks = false
}

export const reap: Act = async (play, dice) => {
  const { process, call } = caller(play, dice)
  const { begun, unbegun, questions } = await process.lanes.reap()
  const real = questions.map(({ agent, origin, fence, version }) => ({ lane: laneName(agent, origin), fence, version }))
  same('reap', { begun, unbegun, questions: real }, rules.reap(play.model, call))
  play.questions.push(...real)
}

export const operate: Act = async (play, dice) => {
  const { process, call } = caller(play, dice)
  const action = dice.pick(['gap', 'pause', 'gap', 'resume', 'gap', 'block', 'unblock', 'resume'] as const)
  const [origin, gapMs] = [dice.pick(rules.ORIGINS), dice.pick([30_000, 2_000, 0])]
  const until = Math.round(play.world.clock.now + play.model.shift) + dice.pick([400_000, 20_000, 0])
  const who = { origin, by: 'someone', reason: 'some' }
  const operation = action === 'gap' ? { ...who, action, gapMs, until } : { ...who, action, until }
  await process.operations.operate(operation, [...rules.AGENTS])
  rules.operate(play.model, call, { origin, action, gapMs, until })
}
