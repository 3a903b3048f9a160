/** Time, and what goes wrong: clocks, crashes of Redis and of those who use it, jobs that vanish. */
import { FOREVER } from '@decorum/protocol'
import { sayPolicies } from './acts-policies.ts'
import { check, view } from './compare.ts'
import { type Act, caller, type Dice, diceOf, move, type Play, same, unlessInDoubt } from './play.ts'
import * as rules from './rules.ts'

// --- time and faults ---------------------------------------------------------------------------------------------

export const pass: Act = async (play, dice) => {
  const now = Math.max(play.model.epoch?.now ?? 0, rules.ms(play.world.clock.now + play.model.shift))
  const lanes = [...play.model.lanes.values()]
  const ahead = [
    ...lanes.flatMap(({ due }) => (due === undefined ? [] : [due])),
    ...lanes.flatMap(({ lease }) => (lease === undefined ? [] : [lease.ends, lease.notBefore])),
    ...[...play.model.origins.values()].map(({ closedUntil }) => closedUntil),
    play.model.epoch?.hold ?? 0,
  ].filter((instant) => instant > now && instant < FOREVER) // a run does not wait for the year 2100
  const kind = dice(8)
  if (kind < 3 && ahead.length > 0) move(play, Math.min(...ahead) - now) // exactly the next thing that may happen
  else if (kind < 5 && ahead.length > 0) move(play, Math.max(0, Math.min(...ahead) - now - 0.5))
  else {
    const ms = dice.pick([1, 250.25, 1_000, 4_000, 10_000, 45_000, 55_000, 600_000, 4_000_000])
    if (ms <= 55_000 && dice(6) === 5) await slew(play, ms, dice)
    else move(play, ms)
  }
}

/** While so much passes, Redis's clock runs fast; a process has measured it, and may claim too much. Then anybody calls. */
async function slew(play: Play, ms: number, dice: Dice): Promise<void> {
  const { clock } = play.world
  play.world.excess = dice.pick([0.08, 0.5])
  await view(play, diceOf(0))
  move(play, ms)
  clock.now += Math.floor(ms / (1 - 0.08) - ms)
  await view(play, diceOf(dice.pick([0, 3])))
  play.world.excess = 0
}

/**
 * Redis's clock leaps; half of the leaps pass after one call, or some more. A process that has been there all along calls once
 * a second: so soon that nobody who has only just started can have waited for it in vain.
 */
export const leap: Act = async (play, dice) => {
  if (play.world.steady.most() === undefined) return // nobody has been there for long enough to know
  const { clock } = play.world
  const ms = dice.pick([3_600_000, -3_600_000, 86_400_000, -86_400_000, 60_000, -5_000, -1, -900])
  clock.now = Number((clock.now + ms).toFixed(3))
  if (dice(2) === 0) await view(play, diceOf(3)) // a stranger first
  await view(play, diceOf(0))
  await restore(play, dice)
  if (ms < 0 || dice(2) === 0) return
  move(play, dice.pick([0, 500, 2_500]))
  if (dice(2) === 0) await view(play, diceOf(0))
  clock.now = Number((clock.now - ms).toFixed(3))
}

/** What somebody else's restart takes is at least a second; a lost clock is not lost twice (docs/promises.md). */
const forward = (play: Play): void => move(play, 1_000)

export const snapshot: Act = async (play) => {
  if (play.model.planned) return // an announcement that was written down, and a grant after it that was not: not promised
  await play.world.snapshot()
  play.snapshot = rules.copyOf(play.model)
}

export const crash: Act = async (play, dice) => {
  const lost = dice(2) === 1 && play.snapshot !== undefined
  await play.world.crash(lost)
  if (lost && play.snapshot !== undefined) play.model = rules.copyOf(play.snapshot)
  if (play.model.epoch !== undefined) play.model.epoch.run = -1
  if (lost) play.site.lost()
  if (lost) sayPolicies(play)
  if (play.model.planned && !lost) return // as announced: nothing may be out; the next call does not hold
  forward(play)
  await restore(play, dice)
}

/** A process that has been there all along writes again what it remembers; now and then twice. */
async function restore(play: Play, dice: Dice): Promise<void> {
  const ends = play.ends.slice(-4)
  const closings = ends.map(({ lane, endedAt, delayMs, load, retryAfterMs, retryAfterAt }) => {
    const text = load === 'normal' ? load : `${load} 0 ${retryAfterMs ?? ''} ${retryAfterAt ?? ''}`
    return { lane, endedAt, delayMs, load: text }
  })
  for (let times = 1 + dice(2); times > 0; times--) {
    const { process, call } = caller(play, dice)
    const real = await unlessInDoubt(process.verbs.restore(closings))
    same('restore', real ?? 'restored', rules.restore(play.model, call, ends))
    move(play, dice.pick([0, 1_000, 4_000]))
  }
}

/**
 * Data gone as a whole; a process that has been there all along speaks up before anything is granted. Or nobody is left who
 * remembers: then it is held all the same.
 */
export const forget: Act = async (play, dice) => {
  await play.world.forgetAll()
  play.model = rules.emptyModel(play.manner)
  const alone = dice(2) === 1
  play.site.lost(alone)
  sayPolicies(play)
  forward(play)
  if (alone) {
    play.world.restartBoth()
    play.known = { steady: { known: '' }, other: { known: '' } }
    return
  }
  if (dice(2) === 0) await view(play, diceOf(3)) // a stranger first
  await view(play, diceOf(0))
}

export const restartOther: Act = async (play) => {
  play.world.restartOther()
  play.known.other = { known: '' }
}

export const announce: Act = async (play) => {
  // The promise of who announces: every lease has ended
  if ([...play.model.lanes.values()].some(({ lease }) => lease !== undefined)) return
  await play.world.announce()
  play.model.planned = true
}

export const loseHolder: Act = async (play, dice) => void play.holders.splice(dice(play.holders.length + 1), 1)

export const job: Act = async (play, dice) => {
  const there = dice(3) > 0
  const locked = dice(4) > 0
  await play.world.job('j', there, locked)
  if (!there) play.model.jobs.delete('j')
  else if (!play.model.jobs.has('j')) play.model.jobs.set('j', new Set())
  if (there && locked) play.model.lostLocks.delete('j')
  else play.model.lostLocks.add('j')
}

export const drain: Act = async (play) => {
  await check(play)
  await play.world.drain()
  play.model.outcomes = []
  play.model.outbox = []
  play.model.others.clear()
}
