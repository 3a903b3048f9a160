/**
 * The hop of a robots.txt into another origin is a visit there like any other: it enters that origin's lane, one at a
 * time with its pages, and leaves it owing the gap. A hop within the origin is one more request of the lane that is held:
 * it waits the gap as well.
 */
import { gapAfter, type Ledger } from '@decorum/ledger'
import type { Agent } from '@decorum/protocol'
import { crashPoint } from '@decorum/service'
import type { Exchange } from './exchange.ts'
import { later } from './lease.ts'

export type HopLane = {
  /** ends the visit. Never rejects: a lease that cannot be handed back ends by itself. */
  leave(visit: Pick<Exchange, 'kind' | 'endedAt' | 'timing'>): Promise<void>
}

/** The lane of a hop, once it is open; undefined when that would be after `deadlineMs`. */
export type EnterHop = (agent: Agent, origin: string, deadlineMs: number) => Promise<HopLane | undefined>

const LEAVE_TRIES = 3
const LEAVE_AGAIN_MS = 250

export function hopLanes(ledger: Pick<Ledger, 'enter' | 'settle'>): EnterHop {
  return async (agent, origin, deadlineMs) => {
    const lane = { agent: agent.key, origin }
    const until = performance.now() + deadlineMs
    for (;;) {
      const entry = await ledger.enter(lane, agent.minGapMs).catch(() => undefined)
      if (entry?.kind === 'granted') {
        crashPoint('hop.entered')
        return {
          leave({ kind, endedAt, timing }) {
            const gapMs = gapAfter(agent, entry.gapMs, kind === 'not-sent' ? undefined : timing.totalMs)
            return leave(ledger, lane, { fence: entry.fence, gapMs }, endedAt)
          },
        }
      }
      const waitMs = entry?.waitMs ?? LEAVE_AGAIN_MS
      if (performance.now() + waitMs >= until) return undefined
      await later(waitMs)
    }
  }
}

async function leave(
  ledger: Pick<Ledger, 'settle'>,
  lane: { agent: string; origin: string },
  { fence, gapMs }: { fence: number; gapMs: number },
  endedAt: number,
): Promise<void> {
  for (let tries = 1; tries <= LEAVE_TRIES; tries++) {
    try {
      const restedMs = Math.max(0, performance.now() - endedAt)
      await ledger.settle({ ...lane, fence, gapMs, mood: { kind: 'fine' }, restedMs, entered: true })
      crashPoint('hop.left')
      return
    } catch {
      await later(LEAVE_AGAIN_MS)
    }
  }
}
