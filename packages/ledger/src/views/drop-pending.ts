/** drop: ends the pending URLs of a lane as `refused: backlog-dropped`. Later URLs stay, and a request in flight continues. */

import { type Clock, crawlField, type Outcome } from '@decorum/protocol'
import type { LaneRef, Pending, RedisLink } from '../index.ts'
import { firstUrlsOf, isEmpty, type Keys, type List, lastOf, placeOf, type Scripts, type Verbs } from '../stored.ts'
import { writeOperation } from './operate.ts'

/** Number of URLs in one call. */
const DROP_AT_ONCE = 100
/** Pause between tries to reserve a lane that is in flight; it is free when its lease has ended, at the latest. */
const LANE_BUSY_MS = 100
const ALONE = { limit: 1, aheadMs: 0, inFlightLimit: Number.MAX_SAFE_INTEGER, peek: 1 }

export type Dropping = {
  clock: Clock
  redis: RedisLink
  keys: Keys
  scripts: Scripts
  verbs: Pick<Verbs, 'reserve' | 'resolve'>
}

/** @returns how many URLs were dropped */
export async function dropPending(
  ledger: Dropping,
  lane: LaneRef,
  by: string,
  reason: string,
  signal?: AbortSignal,
): Promise<number> {
  let dropped = 0
  try {
    for (const [list, last] of await lastOf(ledger.redis, ledger.keys, lane))
      for await (const count of dropUpTo(ledger, lane, list, last, signal)) dropped += count
  } finally {
    // Also recorded after an interruption: URLs that have left were dropped by this operation.
    const operation = { origin: lane.origin, action: 'drop', value: dropped, till: 0, by, reason }
    await writeOperation(ledger.scripts, operation, [])
  }
  return dropped
}

/** Ends the URLs of a list up to an entry. The lane is reserved meanwhile, so that no other URL leaves it. */
async function* dropUpTo(
  { clock, redis, keys, scripts, verbs }: Dropping,
  lane: LaneRef,
  list: List,
  last: string,
  signal?: AbortSignal,
): AsyncGenerator<number> {
  for (;;) {
    signal?.throwIfAborted()
    if (await isEmpty(redis, keys, lane, list)) return
    const reserved = await verbs.reserve({ ...ALONE, lane, list })
    const [held] = reserved.kind === 'reserved' ? reserved.lanes : []
    if (held === undefined) {
      await clock.sleep(LANE_BUSY_MS)
      continue
    }
    const holding = { ...lane, fence: held.fence }
    let attempts = held.tries
    try {
      let left = await placeOf(redis, keys, lane, list, last) // URLs that were in flight have left
      if (left === 0) return
      while (left > 0) {
        signal?.throwIfAborted()
        const urls = await firstUrlsOf(redis, keys, lane, list, Math.min(DROP_AT_ONCE, left))
        const at = scripts.now() - scripts.aheadMs() // Redis's clock
        const outcomes = urls.map((url, n) => droppedOutcome(lane, url, n === 0 ? attempts : 0, at))
        const [answer] = await verbs.resolve([{ ...holding, dropped: outcomes, next: { kind: 'keep' } }])
        if (answer !== 'completed') break // the reservation has expired: the lane is reserved again
        yield outcomes.length
        left -= outcomes.length
        attempts = 0
      }
    } finally {
      await verbs.resolve([{ ...holding, dropped: [], next: { kind: 'release' } }])
    }
  }
}

function droppedOutcome(lane: LaneRef, { id, path, crawl, meta }: Pending, attempts: number, at: number): Outcome {
  return {
    id,
    url: lane.origin + path,
    agent: lane.agent,
    kind: 'refused',
    reason: 'backlog-dropped',
    at,
    attempts,
    ...crawlField(crawl),
    ...(meta === undefined ? {} : { meta }),
  }
}
