/**
 * What goes wrong, and what operators do, drawn from the seed. Each fault has a number and dice of its own, so that a run can be played again with
 * some of its faults alone (shrink.ts).
 */
import { type CrashPoint, watchCrashPoints } from '@decorum/runtime'
import type { Dice } from './dice.ts'
import type { Wire } from './link.ts'
import { OPERATIONS, type OperationKind, type Operators } from './operators.ts'
import type { Process } from './process.ts'
import type { Owner, Timeline } from './timeline.ts'

export type Struck = { role: string; process: Process; wire: Wire }

/** To one process: between two of its events, or at a crash point. */
const OF_PROCESSES = [
  'crash',
  'orderly stop',
  'crash point',
  'freeze',
  'freeze point',
  'lost reply',
  'cut',
  'partition',
  'slow link',
  'unheard',
] as const
/** To Redis, or to all processes at once. */
const OF_ALL = ['restart', 'lost second', 'announced restart', 'hang', 'clock leap', 'partitions', 'blackout'] as const
export const FAULTS = [...OF_PROCESSES, ...OF_ALL, ...OPERATIONS] as const
export type Fault = (typeof FAULTS)[number]

/** How often each falls, beside the others. */
const WEIGHTS: Record<Fault, number> = {
  ...{
    crash: 10,
    'orderly stop': 5,
    'crash point': 10,
    freeze: 8,
    'freeze point': 6,
    'lost reply': 12,
    cut: 10,
    partition: 3,
    'slow link': 12,
    unheard: 8,
  },
  ...{ restart: 1, 'lost second': 0.7, 'announced restart': 0.3, hang: 0.7, 'clock leap': 3 },
  ...{ partitions: 0.5, blackout: 0.5 },
  ...{ stop: 4, pause: 5, block: 3, refetch: 5, delay: 4, crawl: 3, cancel: 1, configuration: 3, policy: 5 },
}

/** Further events of the process before the fault falls, at most: so it falls between any two. */
const EVENTS = 40

export type Surroundings = {
  timeline: Timeline
  struck(): readonly Struck[]
  all(kind: (typeof OF_ALL)[number], dice: Dice): void
  operators(): Operators | undefined
  points: readonly string[]
  passed(point: string): void
}
export type FaultOptions = {
  /** from one fault to the next, on average */
  everyMs: number
  /** no fault falls later than this from now */
  untilMs: number
  kinds: readonly Fault[]
  /** the numbers of those that fall; undefined: all */
  only?: ReadonlySet<number> | undefined
}
export type Fallen = { number: number; kind: Fault }

const isOf = <T extends Fault>(kinds: readonly T[], kind: Fault): kind is T =>
  (kinds as readonly Fault[]).includes(kind)

/** @returns those that have fallen, in order */
export function startFaults(
  around: Surroundings,
  dice: Dice,
  { everyMs, untilMs, kinds, only }: FaultOptions,
): Fallen[] {
  const { timeline } = around
  const fallen: Fallen[] = []
  const until = timeline.now + untilMs
  const armed = new Map<Owner, { left: number; strike: () => void }>()
  const atPoints = new Map<string, (passer: Owner) => void>()
  const note = (number: number, kind: Fault, where: string): void => {
    fallen.push({ number, kind })
    timeline.note(`fault ${number}: ${kind} ${where}`)
  }

  const act = (kind: (typeof OF_PROCESSES)[number], { process, wire }: Struck, own: Dice): void => {
    const { now } = timeline
    if (kind === 'crash' || kind === 'crash point') process.kill()
    else if (kind === 'orderly stop') process.end(own.between(100, 40_000))
    else if (kind === 'freeze' || kind === 'freeze point')
      process.freeze(own.pick([300, 1_500, 6_000, 20_000, 47_000, 60_000, 90_000]) * own.between(0.7, 1.3))
    else if (kind === 'lost reply')
      wire.deafUntil = now + (own.below(4) > 0 ? own.between(1, 60) : own.between(60, 3_000))
    else if (kind === 'cut') wire.cutUntil = now + own.between(10, 15_000)
    else if (kind === 'partition') wire.cutUntil = now + own.between(20_000, 100_000)
    else if (kind === 'unheard') wire.unheardUntil = now + own.between(1_000, 60_000)
    else {
      const slowMs = own.between(5, 1_500)
      wire.slowMs += slowMs
      timeline.after(own.between(100, 20_000), 'the link is as before', () => {
        wire.slowMs -= slowMs
      })
    }
  }

  timeline.before = (_, process) => {
    const fault = armed.get(process)
    if (fault === undefined || --fault.left > 0) return
    armed.delete(process)
    fault.strike()
  }
  watchCrashPoints((point: CrashPoint) => {
    const { running } = timeline
    if (running === undefined || !running.isAlive) return
    around.passed(point)
    const strike = atPoints.get(point)
    atPoints.delete(point)
    strike?.(running)
  })

  const arm = (number: number, kind: Fault, own: Dice): void => {
    if (isOf(OF_ALL, kind)) {
      note(number, kind, '')
      around.all(kind, own)
    } else if (isOf<OperationKind>(OPERATIONS, kind)) {
      const operators = around.operators()
      if (operators === undefined) return
      note(number, kind, '')
      operators.act(kind, own)
    } else if (kind === 'crash point' || kind === 'freeze point') {
      const point = own.pick(around.points)
      atPoints.set(point, (passer) => {
        const one = around.struck().find(({ process }) => process === passer)
        if (one === undefined || !mayBefall(kind, one.role)) return
        note(number, kind, `${point} of ${one.process.name}`)
        act(kind, one, own)
      })
    } else {
      const place = own.next()
      const left = 1 + own.below(EVENTS)
      const some = around.struck().filter(({ role }) => mayBefall(kind, role))
      const one = some[Math.floor(place * some.length)]
      if (one === undefined || armed.has(one.process)) return
      const strike = (): void => {
        note(number, kind, `of ${one.process.name}`)
        act(kind, one, own)
      }
      armed.set(one.process, { left, strike })
    }
  }

  const total = kinds.reduce((sum, kind) => sum + WEIGHTS[kind], 0)
  const kindOf = (own: Dice): Fault => {
    let left = own.next() * total
    for (const kind of kinds) {
      left -= WEIGHTS[kind]
      if (left < 0) return kind
    }
    return kinds[0] as Fault
  }
  const next = (number: number): void => {
    timeline.after(dice.about(everyMs), 'a fault is drawn', () => {
      if (timeline.now > until) return
      const own = dice.apart(`fault ${number}`)
      const kind = kindOf(own)
      if (only === undefined || only.has(number)) arm(number, kind, own)
      next(number + 1)
    })
  }
  if (everyMs > 0 && kinds.length > 0) next(1)
  return fallen
}

/** Operators go on to the end of what they do, so that what was in force is known; no supervisor kills a crawler of others that stands still. */
function mayBefall(kind: Fault, role: string): boolean {
  if (role === 'operators') return kind === 'lost reply' || kind === 'cut' || kind === 'slow link' || kind === 'unheard'
  if (role === 'crawler' || role === 'client' || role === 'worker') return kind === 'crash'
  return kind !== 'orderly stop' || role === 'gateway' || role === 'fetcher'
}
