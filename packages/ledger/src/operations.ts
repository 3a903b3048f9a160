/** The operator's hand: pause, block, gap, refetch, drop a backlog. Through the ledger alone, and written down there. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Outcome } from '@decorum/protocol'
import type { Keys } from './keys.ts'
import type { Lanes } from './lanes.ts'
import type { RedisLink } from './link.ts'
import { type Scripts, withDeadline } from './scripts.ts'
import type { LaneRef, Operation, OperationRecord, Parked } from './types.ts'

/** "Until somebody ends it": the year 2100. */
const FOREVER = 4_102_444_800_000
const MAX_TEXT = 512
/** URLs dropped per call. */
const DROP_AT_ONCE = 100
/** A lane in flight is free again after its lease at the latest; asked this often. */
const LANE_BUSY_MS = 100

export type Operations = {
  /** @param agents  keys of the agents whose lanes of the origin are to feel it at once */
  operate(operation: Operation, agents: string[]): Promise<void>
  /** newest first */
  list(most: number): Promise<OperationRecord[]>
  /**
   * Ends what waits in a lane now as `refused: backlog-dropped`; what comes later stays, what is in flight ends by itself.
   * @returns how many URLs were dropped
   */
  drop(lane: LaneRef, waiting: number, by: string, reason: string, signal?: AbortSignal): Promise<number>
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
      const value = operation.action === 'gap' ? operation.gapMs : ''
      const until = 'until' in operation && operation.until !== undefined ? operation.until : FOREVER
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
    async drop(lane, waiting, by, reason, signal) {
      let dropped = 0
      try {
        while (dropped < waiting) {
          signal?.throwIfAborted()
          const peek = Math.min(DROP_AT_ONCE, waiting - dropped)
          const taken = await lanes.take({ limit: 1, aheadMs: 0, inFlightLimit: Number.MAX_SAFE_INTEGER, peek, lane })
          const [held] = taken.kind === 'taken' ? taken.lanes : []
          if (held === undefined) {
            const view = await scripts.call('view', 'origin', lane.origin, lane.agent)
            if (isEmpty(view)) break
            await sleep(LANE_BUSY_MS)
            continue
          }
          const outcomes = held.heads.map((head) => droppedOutcome(lane, head))
          const [answer] = await lanes.resolve([
            { ...lane, fence: held.fence, dropped: outcomes, next: { kind: 'release' } },
          ])
          if (answer === 'settled') dropped += outcomes.length
        }
      } finally {
        // Also when it was given up half way: what has left has left by somebody's hand
        await write(lane.origin, 'drop', dropped, 0, by, reason, [])
      }
      return dropped
    },
  }
}

function droppedOutcome(lane: LaneRef, { id, path, meta }: Parked): Outcome {
  return {
    id,
    url: lane.origin + path,
    agent: lane.agent,
    kind: 'refused',
    reason: 'backlog-dropped',
    at: Date.now(),
    attempts: 0,
    ...(meta === undefined ? {} : { meta }),
  }
}

/** The lane's row behind the origin's fields says how many wait. */
const isEmpty = (view: string[]): boolean => Number(view[3 + Number(view[2]) + 1] ?? 0) === 0

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
