/**
 * The writes of this process within the last hold that keep lanes and origins closed: ends of exchanges, with the waits that sites asked
 * for, and operations of operators. If Redis loses its latest writes, the startup hold covers delays that are no longer than the hold;
 * longer ones are written again from here before it ends.
 */
import type { Clock } from '@decorum/protocol'
import { MAX_ITEMS } from '../verbs/batch.ts'
import type { Closing } from '../verbs/restore.ts'

type Kept<T> = { what: T /** on `clock.monotonic()` */; since: number }

/** An operation, as a call that repeats it; and when it was written, an instant of the ledger. */
type Operated = { again(): Promise<unknown>; at: number }

/** The functions that restore a partition. */
export type Restoring = {
  restore(closings: readonly Closing[]): Promise<void>
  /** the ledger's time at the latest write that survived the loss */
  keptUntil(): Promise<number>
}

export type Closings = {
  ended(closing: Closing): void
  operated(operated: Operated): void
  /** Writes everything again, until the partition accepts it or the hold has ended. */
  writeAgain(): Promise<void>
}

const AGAIN_MS = 500
/** The ledger's time is known here to within a round trip. */
const UNSURE_MS = 1_000

export function closingsOf(clock: Clock, holdMs: number, { restore, keptUntil }: Restoring): Closings {
  const lanes = new Map<string, Kept<Closing>>() // the oldest first
  let operations: Kept<Operated>[] = []
  const isRecent = ({ since }: Kept<unknown>): boolean => clock.monotonic() - since < holdMs
  const forget = (): void => {
    for (const [lane, kept] of lanes) {
      if (isRecent(kept)) break
      lanes.delete(lane)
    }
    if (operations.length > 0) operations = operations.filter(isRecent)
  }
  const write = async (): Promise<void> => {
    const all = [...lanes.values()].map(({ what }) => what)
    for (let at = 0; at < all.length; at += MAX_ITEMS) await restore(all.slice(at, at + MAX_ITEMS))
    if (operations.length === 0) return
    const kept = await keptUntil()
    for (const { what } of operations) if (what.at + UNSURE_MS > kept) await what.again()
  }
  return {
    ended(closing) {
      forget()
      lanes.delete(closing.lane)
      lanes.set(closing.lane, { what: closing, since: clock.monotonic() })
    },
    operated(operated) {
      forget()
      operations.push({ what: operated, since: clock.monotonic() })
    },
    async writeAgain() {
      const until = clock.monotonic() + holdMs
      forget()
      for (;;) {
        const failed = await write().then(
          () => false,
          () => true,
        )
        if (!failed || clock.monotonic() > until) return
        await clock.sleep(AGAIN_MS, { ref: false })
      }
    },
  }
}
