/**
 * Named places at which a test makes a process kill or stop itself, to check that the rest of the fleet continues.
 * `DECORUM_CRASH_AT=<name>:<n>` sends SIGKILL to the process at the n-th pass, `DECORUM_FREEZE_AT` SIGSTOP; both are logged on stderr. With
 * both, the process stops first, and the passes of the other point are counted from then on. When neither is set, a pass costs one
 * comparison.
 */

import { writeSync } from 'node:fs'
import { systemClock } from '@decorum/protocol/time'

export const CRASH_POINTS = {
  gateway: [
    'intake.before-store',
    'intake.after-store', // one chunk is stored, others may follow
    'intake.done', // all is stored, the job is not finished yet
    'reserve.after',
    'resolve.after', // URLs have left the lane; the order for the next one is not sent yet
    'orders.before-add',
    'orders.after-add',
    'reap.after', //            leases have ended
    'reap.before-record', //    a robots fetch has ended without an answer, which is not recorded yet
    'outbox.after-store', //     the target of a redirect is stored, its entry is still there
    'outbox.after-clear',
  ],
  fetcher: [
    'orders.received',
    'orders.placed', //         every order has a slot, the job is not finished yet
    'start.before',
    'start.after', //           the lease is held, nothing is sent
    'request.written',
    'answer.head',
    'body.mid',
    'complete.before',
    'complete.after',
    'robots.fetching', // the ledger has the robots fetch as in flight, nothing is sent
    'record.before',
    'record.after',
    'hop.acquired', //          the lane of a redirect of a robots.txt is held
    'hop.completed',
    'pace-group.acquired', // a pace group is held, but no lane yet
    'pace-group.completed',
  ],
} as const
export type CrashPoint = (typeof CRASH_POINTS)[keyof typeof CRASH_POINTS][number]

type Wanted = { name: string; passes: number; signal: 'SIGKILL' | 'SIGSTOP' }
let wanted = readPoint('DECORUM_FREEZE_AT', 'SIGSTOP')
let afterwards = readPoint('DECORUM_CRASH_AT', 'SIGKILL')
if (wanted === undefined) [wanted, afterwards] = [afterwards, undefined]

/** Called at each pass, in tests that run a whole fleet as objects of one process. */
let watch: ((name: CrashPoint) => void) | undefined
export function watchCrashPoints(act: ((name: CrashPoint) => void) | undefined): void {
  watch = act
}

export function crashPoint(name: CrashPoint): void {
  watch?.(name)
  if (wanted === undefined) return
  if (wanted.name !== name || --wanted.passes !== 0) return
  const { signal } = wanted
  ;[wanted, afterwards] = [afterwards, undefined]
  writeSync(2, `${signal} at ${name}\n`)
  process.kill(process.pid, signal)
}

/** A crash point that is passed once the writes of this tick have been handed to the kernel. */
export function crashPointSoon(name: CrashPoint): void {
  watch?.(name)
  if (wanted === undefined) return
  systemClock.soon(() => crashPoint(name))
}

/** @throws Error with the mistake: with a point that is never passed a test would prove nothing */
function readPoint(variable: string, signal: Wanted['signal']): Wanted | undefined {
  const text = process.env[variable]
  if (text === undefined || text === '') return undefined
  const [name = '', times = ''] = text.split(':')
  const passes = Number(times)
  if (!Object.values(CRASH_POINTS).some((names) => (names as readonly string[]).includes(name)))
    throw new Error(`${variable}: no crash point is called '${name}'`)
  if (!Number.isInteger(passes) || passes < 1) throw new Error(`${variable}: '${times}' is not a number of passes`)
  return { name, passes, signal }
}
