/**
 * Pace groups, judged: lanes that share a clock, as the operator's PACE_GROUPS says. A group has so many places; from the
 * start of a request until its silence is over it takes one of them.
 */
import type { PaceGroups } from '@decorum/protocol'
import type { Blame } from './judge-robots.ts'
import type { Visit } from './robots-fetches.ts'

type Guest = { visit: Visit; gapMs: number }

/**
 * @param visits      by start, of all visitors
 * @param afterCutMs  how late a site may notice that a visitor has gone, ms, where its record does not say
 * @returns           how many groups were visited from more than one origin
 */
export function judgeGroups(visits: Visit[], groups: PaceGroups, afterCutMs: number, blame: Blame): number {
  const byClock = new Map<string, { places: number; guests: Guest[] }>()
  for (const visit of visits) {
    for (const { name, places, gapMs } of clocksOf(visit, groups)) {
      const clock = byClock.get(name) ?? { places, guests: [] }
      byClock.set(name, clock)
      clock.guests.push({ visit, gapMs })
    }
  }
  let shared = 0
  for (const [name, { places, guests }] of byClock) {
    if (new Set(guests.map(({ visit }) => visit.line.origin)).size < 2) continue // its lane is judged as a lane
    shared++
    judgeOne(name, places, guests, afterCutMs, blame)
  }
  return shared
}

function clocksOf({ visitor, line }: Visit, groups: PaceGroups): { name: string; places: number; gapMs: number }[] {
  const agent = visitor.name.toLowerCase()
  const above = groups.above(agent, line.origin, line.address).map(({ lanes, gapMs }) => {
    const [first] = lanes
    return { name: `${first?.agent} ${first?.origin}`, places: lanes.length, gapMs: gapMs ?? visitor.floorMs }
  })
  // Of https itself the lane is its host's clock.
  const { agent: of, origin } = groups.hostLane(agent, line.origin) ?? { agent, origin: line.origin }
  return [...above, { name: `${of} ${origin}`, places: 1, gapMs: visitor.floorMs }]
}

function judgeOne(name: string, places: number, guests: Guest[], afterCutMs: number, blame: Blame): void {
  let open: { until: number; path: string }[] = []
  for (const { visit, gapMs } of guests) {
    const { line } = visit
    open = open.filter(({ until }) => until > line.start)
    if (open.length >= places) {
      const [soonest] = open.toSorted((a, b) => a.until - b.until)
      const early = ((soonest?.until ?? 0) - line.start).toFixed(1)
      blame(visit, 'pace-group', `${name} was taken for another ${early} ms, by ${soonest?.path}`)
    }
    const heardLate = line.cut ? (line.late ?? afterCutMs) : 0
    open.push({ until: line.end - heardLate + gapMs, path: line.origin + line.path })
  }
}
