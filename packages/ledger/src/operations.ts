/** The operator's hand: pause, block, delay, refetch, drop a backlog. Through the ledger alone, and written down there. */
import { setTimeout as sleep } from 'node:timers/promises'
import { FOREVER, type Outcome } from '@decorum/protocol'
import type { Keys } from './keys.ts'
import { headsOf, isEmpty, type List, lastOf, placeOf } from './lane-lists.ts'
import type { Lanes } from './lanes.ts'
import type { RedisLink } from './link.ts'
import { type Scripts, withDeadline } from './scripts.ts'
import type { LaneRef, Operation, OperationRecord, Parked } from './types.ts'

/** Longest delay by hand. */
const MAX_DELAY_MS = 31 * 86_400_000
const MAX_TEXT = 512
/** URLs dropped per call. */
const DROP_AT_ONCE = 100
/** A lane in flight is free again after its lease at the latest; asked this often. */
const LANE_BUSY_MS = 100
const ALONE = { limit: 1, aheadMs: 0, inFlightLimit: Number.MAX_SAFE_INTEGER }

export type Operations = {
  /** @param agents  keys of the agents whose lanes of the origin are to feel it at once */
  operate(operation: Operation, agents: string[]): Promise<void>
  /** newest first */
  list(most: number): Promise<OperationRecord[]>
  /**
   * Ends what waits in a lane now as `refused: backlog-dropped`; what comes later stays, what is in flight ends by itself.
   * @returns how many URLs were dropped
   */
  drop(lane: LaneRef, by: string, reason: string, signal?: AbortSignal): Promise<number>
}

export function operationsOf(
  redis: RedisLink,
  keys: Keys,
  scripts: Scripts,
  lanes: Lanes,
  callDeadlineMs: number,
): Operations {
  const write = async (
    origin: string,
    action: string,
    value: string | number,
    until: number,
    by: string,
    reason: string,
    agents: string[],
  ): Promise<void> => {
    await scripts.call(
      'operate',
      origin,
      action,
      value,
      until,
      by.slice(0, MAX_TEXT),
      reason.slice(0, MAX_TEXT),
      ...agents,
    )
  }
  return {
    async operate(operation, agents) {
      // Bounded here, for whoever operates: what Redis cannot count would be half done.
      const value = operation.action === 'delay' ? bounded('delayMs', operation.delayMs, MAX_DELAY_MS) : ''
      const until =
        'until' in operation && operation.until !== undefined ? bounded('until', operation.until, FOREVER) : FOREVER
      await write(operation.origin, operation.action, value, until, operation.by, operation.reason, agents)
    },
    async list(most) {
      const rows = await withDeadline(
        redis.xrevrange(keys.operations, '+', '-', 'COUNT', most),
        callDeadlineMs,
        'operations',
      )
      return rows.map(([, fields]) => record(fields ?? []))
    },
    async drop(lane, by, reason, signal) {
      let dropped = 0
      try {
        for (const [list, last] of await lastOf(redis, keys, lane))
          for await (const count of dropUpTo(lane, list, last, signal)) dropped += count
      } finally {
        // Also when it was given up half way: what has left has left by somebody's hand
        await write(lane.origin, 'drop', dropped, 0, by, reason, [])
      }
      return dropped
    },
  }

  /** Ends one list of a lane up to an entry; the lane is held meanwhile, so that nothing else leaves it. */
  async function* dropUpTo(lane: LaneRef, list: List, last: string, signal?: AbortSignal): AsyncGenerator<number> {
    for (;;) {
      signal?.throwIfAborted()
      if (await isEmpty(redis, keys, lane, list)) return
      const taken = await lanes.reserve({ ...ALONE, peek: 1, lane, list })
      const [held] = taken.kind === 'reserved' ? taken.lanes : []
      if (held === undefined) {
        await sleep(LANE_BUSY_MS)
        continue
      }
      const holding = { ...lane, fence: held.fence }
      let attempts = held.tries
      try {
        let left = await placeOf(redis, keys, lane, list, last) // what was in flight has left
        if (left === 0) return
        while (left > 0) {
          signal?.throwIfAborted()
          const heads = await headsOf(redis, keys, lane, list, Math.min(DROP_AT_ONCE, left))
          const outcomes = heads.map((head, n) => droppedOutcome(lane, head, n === 0 ? attempts : 0))
          const [answer] = await lanes.resolve([{ ...holding, dropped: outcomes, next: { kind: 'keep' } }])
          if (answer !== 'completed') break // the reservation has run out: it is asked for again
          yield outcomes.length
          left -= outcomes.length
          attempts = 0
        }
      } finally {
        await lanes.resolve([{ ...holding, dropped: [], next: { kind: 'release' } }])
      }
    }
  }
}

/** @throws RangeError  for what is no number: nothing is done then */
function bounded(name: string, value: number, most: number): number {
  if (Number.isNaN(value)) throw new RangeError(`${name}: a number is needed`)
  return Math.min(Math.max(value, 0), most)
}

function droppedOutcome(lane: LaneRef, { id, path, meta }: Parked, attempts: number): Outcome {
  return {
    id,
    url: lane.origin + path,
    agent: lane.agent,
    kind: 'refused',
    reason: 'backlog-dropped',
    at: Date.now(),
    attempts,
    ...(meta === undefined ? {} : { meta }),
  }
}

function record(fields: string[]): OperationRecord {
  const field = (name: string): string => fields[fields.indexOf(name) + 1] ?? ''
  return {
    at: Number(field('at')),
    by: field('by'),
    action: field('action'),
    origin: field('origin'),
    value: field('value'),
    until: Number(field('until')),
    reason: field('reason'),
  }
}
