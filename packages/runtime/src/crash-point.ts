/**
 * Named places where a process may be told to die or to stand still, so that a test can ask at each step of the journey what
 * the rest of the fleet makes of it. `DECORUM_CRASH_AT=<name>:<n>` is SIGKILL of oneself at the n-th pass,
 * `DECORUM_FREEZE_AT` SIGSTOP; both say so on stderr. Unset, a pass is one comparison.
 */
import { writeSync } from 'node:fs'

export const CRASH_POINTS = {
  gateway: [
    'intake.before-park',
    'intake.after-park', //    one chunk is stored, others may follow
    'intake.done', //          all is stored, the job is not finished yet
    'reserve.after',
    'resolve.after', //        heads have left, the order behind them is not handed out
    'orders.before-add',
    'orders.after-add',
    'reap.after', //           leases have ended
    'reap.before-record', //    an asker is known to be dead, its question is still open
    'outbox.after-park', //    the redirect's target is stored, its entry not cleared
    'outbox.after-clear',
  ],
  fetcher: [
    'orders.received',
    'orders.placed', //        every order has found a slot, the job is not finished yet
    'start.before',
    'start.after', //          the lease is ours, nothing is sent
    'request.written',
    'answer.head',
    'body.mid',
    'complete.before',
    'complete.after',
    'robots.fetching', //      the question is ours, nothing is sent
    'record.before',
    'record.after',
    'hop.acquired', //          in the lane of the origin that a robots.txt has redirected to
    'hop.completed',
    'pace-group.acquired', //        a pace group's, and nothing else yet
    'pace-group.completed',
  ],
} as const
export type CrashPoint = (typeof CRASH_POINTS)[keyof typeof CRASH_POINTS][number]

const wanted = readWish('DECORUM_CRASH_AT', 'SIGKILL') ?? readWish('DECORUM_FREEZE_AT', 'SIGSTOP')

export function crashPoint(name: CrashPoint): void {
  if (wanted === undefined) return
  if (wanted.name !== name || --wanted.passes !== 0) return
  writeSync(2, `${wanted.signal} at ${name}\n`)
  process.kill(process.pid, wanted.signal)
}

/** The same, once what this tick does has been handed to the kernel. */
export function crashPointSoon(name: CrashPoint): void {
  if (wanted === undefined) return
  setImmediate(() => crashPoint(name))
}

/** @throws Error naming what is wrong: a wish that can never come true would prove nothing */
function readWish(
  variable: string,
  signal: 'SIGKILL' | 'SIGSTOP',
): { name: string; passes: number; signal: typeof signal } | undefined {
  const text = process.env[variable]
  if (text === undefined || text === '') return undefined
  const [name = '', times = ''] = text.split(':')
  const passes = Number(times)
  if (!Object.values(CRASH_POINTS).some((names) => (names as readonly string[]).includes(name)))
    throw new Error(`${variable}: no crash point is called '${name}'`)
  if (!Number.isInteger(passes) || passes < 1) throw new Error(`${variable}: '${times}' is not a number of passes`)
  return { name, passes, signal }
}
