/**
 * The writes of this process within the last hold that keep lanes and origins closed: ends of exchanges, with the waits that sites asked
 * for, and operations of operators. If Redis loses its latest writes, the startup hold covers delays that are no longer than the hold;
 * longer ones are written again from here before it ends.
 */
import type { Clock } from '@decorum/protocol'
import { RETRY_AFTER } from '../layout.ts'
import { MAX_ITEMS } from '../verbs/batch.ts'
import type { Closing } from '../verbs/restore.ts'

type Kept<T> = { what: T /** on `clock.monotonic()` */; since: number }

/** An operation on an origin, as a call that writes it, or writes it again. */
type Operation = { origin: string; write(): Promise<unknown> }
/** `at`: when it was written, an instant of the ledger */
type Operated = Operation & { at: number }

/** The functions that restore a partition. */
export type Restoring = {
  restore(closings: readonly Closing[]): Promise<void>
  /** the ledger's time at the latest write that survived the loss */
  keptUntil(): Promise<number>
  /** the ledger's time */
  now(): number
}

export type Closings = {
  ended(closing: Closing): void
  /** The same for an end whose lease is over: its write is repeated until the partition accepts it or the longest Retry-After is over. */
  endedLate(closing: Closing): void
  /** Writes an operation. During the write, earlier operations on its origin are not written again: they would come after it. */
  operate(operation: Operation): Promise<void>
  /** Writes the closings and operations of the last hold again, until the partition accepts them or the hold has ended. */
  writeAgain(): Promise<void>
}

const AGAIN_MS = 500
/** Bound of the error of the ledger's time in this process: a round trip, ms. */
const UNSURE_MS = 1_000

export function closingsOf(clock: Clock, holdMs: number, { restore, keptUntil, now }: Restoring): Closings {
  const lanes = new Map<string | Closing, Kept<Closing>>() // the latest end of each lane, and each late one, the oldest first
  const late: Closing[] = []
  let operations: Kept<Operated>[] = []
  const underWay: string[] = [] // origins of operations that are being written
  const isRecent = ({ since }: Kept<unknown>): boolean => clock.monotonic() - since < holdMs
  const forget = (): void => {
    for (const [lane, kept] of lanes) {
      if (isRecent(kept)) break
      lanes.delete(lane)
    }
    if (operations.length > 0) operations = operations.filter(isRecent)
  }
  /** @returns false: some could not be written yet */
  const write = async (): Promise<boolean> => {
    const all = [...lanes.values()].map(({ what }) => what)
    for (let at = 0; at < all.length; at += MAX_ITEMS) await restore(all.slice(at, at + MAX_ITEMS))
    if (operations.length === 0) return true
    const kept = await keptUntil()
    const lost = operations.filter(({ what }) => what.at + UNSURE_MS > kept)
    let isAll = true
    for (const one of lost) {
      const { origin } = one.what
      const latest = operations.findLast(({ what }) => what.origin === origin) ?? one
      if (!underWay.includes(origin) && lost.includes(latest)) await one.what.write()
      else isAll = false
    }
    return isAll
  }
  const keep = (name: string | Closing, closing: Closing): void => {
    forget()
    lanes.delete(name)
    lanes.set(name, { what: closing, since: clock.monotonic() })
  }
  const writeLate = async (): Promise<void> => {
    const until = clock.monotonic() + RETRY_AFTER.longestMs
    while (late.length > 0 && clock.monotonic() < until) {
      const some = late.slice(0, MAX_ITEMS)
      const isWritten = await restore(some).then(
        () => true,
        () => false,
      )
      if (isWritten) late.splice(0, some.length)
      else await clock.sleep(AGAIN_MS, { ref: false })
    }
    late.length = 0
  }
  return {
    ended: (closing) => keep(closing.lane, closing),
    endedLate(closing) {
      keep(closing, closing) // kept apart: a later end of the lane, which may ask for a shorter wait or none, would replace it
      if (late.push(closing) === 1) void writeLate()
    },
    async operate(operation) {
      underWay.push(operation.origin)
      try {
        await operation.write()
      } finally {
        underWay.splice(underWay.indexOf(operation.origin), 1)
      }
      forget()
      operations.push({ what: { ...operation, at: now() }, since: clock.monotonic() })
    },
    async writeAgain() {
      const until = clock.monotonic() + holdMs
      forget()
      for (;;) {
        const isWritten = await write().catch(() => false)
        if (isWritten || clock.monotonic() > until) return
        await clock.sleep(AGAIN_MS, { ref: false })
      }
    },
  }
}
