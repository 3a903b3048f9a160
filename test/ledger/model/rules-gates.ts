/** Which gate holds a request: which gates count is said by the table of the protocol, when each of them opens is said here. */
import { gatesThatCount, type LedgerGate, type Moment, READ_GATES, type What } from '@decorum/protocol/gates'
import { budgetUntil, hoursBegin } from './rules-policies.ts'
import { stoppedUntil } from './rules-stops.ts'
import { crawlOf, type List, type Model, NO_LIST, originAt, originOf } from './state.ts'

/** How soon a lane is looked at again whose crawl is held. */
export const CHECK_AGAIN_MS = 500

export type Asking = {
  what: What
  moment: Moment
  lane: string
  /** the instant, and until when nothing at all is granted */
  now: number
  held: number
  /** version of the rules that the request was judged by */
  judged?: number | undefined
  /** under which it is, or will be, made */
  fence?: number | undefined
  list?: List | undefined
  /** until when reserve has found its crawl held; 0: it is not */
  heldUntil?: number | undefined
}
export type Closed = { gate: LedgerGate; till: number }

/** A gate that ends the request; else of those that are closed the one that opens last; else one that asks for another judgement. */
export function gateOf(m: Model, asking: Asking): Closed | undefined {
  const { what, moment, now } = asking
  const counts = new Set(gatesThatCount(what, moment))
  const closed = READ_GATES.filter((gate) => counts.has(gate)).map((gate) => ({ gate, till: opens(m, gate, asking) }))
  const ends = closed.find(({ gate, till }) => gate === 'blocked' && till > now)
  if (ends !== undefined) return ends
  const isAgain = ({ gate }: Closed): boolean => gate === 'rules-changed' || gate === 'refetch'
  let last: Closed | undefined
  for (const one of closed) if (!isAgain(one) && one.gate !== 'blocked' && one.till > (last?.till ?? now)) last = one
  if (last !== undefined) return last
  const again = closed.find((one) => isAgain(one) && one.till > now)
  return again && { gate: again.gate, till: now }
}

function opens(m: Model, gate: LedgerGate, { lane, now, held, judged, fence, list, heldUntil }: Asking): number {
  const origin = originAt(m, originOf(lane))
  switch (gate) {
    case 'startup-hold':
      return held
    case 'stopped':
      return stoppedUntil(m, originOf(lane), now)
    case 'paused':
      return Math.max(origin.pausedUntil, origin.hostPausedUntil)
    case 'back-off':
      return origin.closedUntil
    case 'visiting-hours':
      return hoursBegin(m, originOf(lane), now)
    case 'budget':
      return budgetUntil(m, originOf(lane), now)
    case 'crawl-held':
      if (!m.hasCrawls || list === undefined || list === NO_LIST) return 0
      return heldUntil ?? (m.crawls.get(crawlOf(list))?.held === true ? now + CHECK_AGAIN_MS : 0)
    case 'robots-in-flight':
      return origin.question === undefined || origin.question.fence === fence ? 0 : origin.question.until
    case 'blocked':
      return origin.blockedUntil
    case 'rules-changed':
      return judged === undefined || judged === origin.version ? 0 : Number.POSITIVE_INFINITY
    case 'refetch':
      return origin.refetch === origin.version ? Number.POSITIVE_INFINITY : 0
  }
}
