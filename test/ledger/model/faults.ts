/** Time, and what goes wrong: clocks, crashes of Redis and of those who use it, jobs that vanish. */
import { check, view } from './compare.ts'
import { type Act, diceOf, type Play } from './play.ts'
import * as rules from './rules.ts'

// --- time and faults ---------------------------------------------------------------------------------------------

const setClock = (play: Play, instant: number): void => {
  play.world.clock.now = Number(instant.toFixed(3))
}

export const pass: Act = async (play, dice) => {
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

export const backwards: Act = async (play, dice) =>
  setClock(play, play.world.clock.now - dice.pick([1, 5_000, 3_600_000]))

/** What somebody else's restart takes is at least a second; a lost clock is not lost twice (docs/promises.md). */
const forward = (play: Play): void => setClock(play, Math.max(play.latest, play.world.clock.now) + 1_000)

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
  if (play.model.planned && !lost) return // as announced: nothing may be out; the next call does not hold
  forward(play)
}

/** Data gone as a whole; the process that has been there all along speaks up within the first hold. */
export const forget: Act = async (play, dice) => {
  await play.world.forgetAll()
  play.model = rules.emptyModel()
  play.site.lost()
  forward(play)
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
}
