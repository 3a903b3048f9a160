/** The rules of emergency stops: a pause of everything, or of a name with all names below it. */
import { type Call, type Model, ms, openUnlessInDoubt } from './state.ts'

/** How often what is stopped is looked at again. */
const LOOK_AGAIN_MS = 30_000

/** Ends are instants of the clock of Redis; infinity: it does not end by itself; 0: not stopped. */
export type Stopping = {
  version: number
  expected: number | undefined
  everything: number
  names: [name: string, till: number][]
}

export function stops(m: Model, call: Call, { version, expected, everything, names }: Stopping): string {
  const { now } = openUnlessInDoubt(m, call)
  if (now === undefined) return 'doubt'
  const known = m.stops?.version ?? 0
  if (version === known) return `kept ${known}`
  if ((expected !== undefined && expected !== known) || version < known) return `overtaken ${known}`
  const onLedgersTime = (till: number): number => (Number.isFinite(till) ? ms(till + m.shift) : till)
  m.stops = {
    version,
    everything: onLedgersTime(everything),
    names: new Map(names.map(([name, till]) => [name, onLedgersTime(till)])),
  }
  return `written ${version}`
}

const nextLook = (till: number, now: number): number => (till > now ? Math.min(till, now + LOOK_AGAIN_MS) : 0)

export const everythingStopped = ({ stops: known }: Model, now: number): number => nextLook(known?.everything ?? 0, now)

/** When to look at an origin again; 0: it is not stopped. */
export function stoppedUntil(m: Model, origin: string, now: number): number {
  const everything = everythingStopped(m, now)
  if (everything > 0 || m.stops === undefined) return everything
  const labels = origin.slice(origin.indexOf('//') + 2).split('.')
  const names = labels.map((_, at) => labels.slice(at).join('.'))
  return Math.max(...names.map((name) => nextLook(m.stops?.names.get(name) ?? 0, now)))
}
