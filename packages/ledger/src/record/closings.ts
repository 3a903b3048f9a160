/**
 * What this process has written within the last hold and what keeps lanes and origins closed: ends of exchanges, with what a site asked for
 * by them, and what an operator did. Where Redis loses its latest writes, the startup hold covers delays that are no longer than itself;
 * longer ones are written again from here before it ends.
 */
import type { Clock } from '@decorum/protocol'
import { MAX_ITEMS } from '../verbs/batch.ts'
import type { Closing } from '../verbs/restore.ts'

type Kept<T> = { what: T /** on `clock.monotonic()` */; since: number }

/** What an operator did, as a call that does it again; and when it was written, an instant of the ledger. */
type Operated = { again(): Promise<unknown>; at: number }

/** What one partition needs, to have it again. */
export type Restoring = {
  restore(closings: readonly Closing[]): Promise<void>
  /** the ledger's time at the latest write that this life of Redis still has from the one before */
  keptUntil(): Promise<number>
}

export type Closings = {
  ended(closing: Closing): void
  operated(operated: Operated): void
  /** Writes all of it again. Tried until the partition takes it, or the hold is over. */
  writeAgain(): Promise<void>
}

const AGAIN_MS = 500
/** The ledger's time is known here to a round trip. */
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
