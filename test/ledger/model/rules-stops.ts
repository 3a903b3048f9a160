/** The rules of emergency stops: a pause of everything, or of a name with all names below it. */
import { FOREVER } from '@decorum/protocol'
import { type Call, type Model, ms, openUnlessInDoubt, wakeHeld } from './state.ts'

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
  const onLedgersTime = (till: number): number => (Number.isFinite(till) ? ms(till + m.shift) : FOREVER)
  m.stops = {
    version,
    everything: onLedgersTime(everything),
    names: new Map(names.map(([name, till]) => [name, onLedgersTime(till)])),
  }
  wakeHeld(m)
  return `written ${version}`
}

/** When the stop of an origin ends; not later than now: it is not stopped. */
export function stoppedUntil({ stops: known }: Model, origin: string, now: number): number {
  if (known === undefined) return 0
  const labels = origin.slice(origin.indexOf('//') + 2).split('.')
  const names = labels.map((_, at) => labels.slice(at).join('.'))
  const till = Math.max(known.everything, ...names.map((name) => known.names.get(name) ?? 0))
  return till > now ? till : 0
}
