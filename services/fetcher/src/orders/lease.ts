/** A lease as this process holds it: since when, how long it lasts, and whether it may still be used. */

import type { LeasedLane, Ledger, StartAnswer } from '@decorum/ledger'
import { LedgerUnavailableError } from '@decorum/ledger'
import { namesRobotsTxt, type Order } from '@decorum/protocol'
import { crashPoint, passed, pause, type Since, sinceNow } from '@decorum/runtime'
import { FRESH_LEASE_MS, KEEP_LEAST_MS, LAST_WORD_MS, LEASE_MARGIN_MS } from '@decorum/sending'
import type { Confirm } from '@decorum/sending/http'
import type { HeldGroups } from './pace.ts'

/** The ledger's last confirmation of a lease: whether it is too old to send anything on it, and how to ask for a newer one. */
export type Confirmed = { tooOld(): string | undefined; confirm: Confirm }

export type ConfirmLedger = Pick<Ledger, 'confirm' | 'partitionOf'>

/**
 * @param since  when the first of the leases was asked for
 * @param held   every lane that the request holds
 */
export function confirmedBy(ledger: ConfirmLedger, since: Since, held: () => LeasedLane[]): Confirmed {
  let lastWord = since
  const ask = async (): Promise<string | undefined> => {
    const asking = sinceNow()
    try {
      const byPartition = Map.groupBy(held(), ({ origin }) => ledger.partitionOf(origin))
      const answers = await Promise.all([...byPartition.values()].map((lanes) => ledger.confirm(lanes)))
      // No answer is no permission: each has to say so.
      if (answers.length === 0 || !answers.every((answer) => answer === 'granted'))
        return `the ledger did not confirm the lease: ${answers.find((answer) => answer !== 'granted') ?? 'stale'}`
      lastWord = asking
      return undefined
    } catch (error) {
      if (error instanceof LedgerUnavailableError) return 'the ledger did not confirm the lease: it did not answer'
      throw error
    }
  }
  const age = (): number => passed(lastWord)
  return {
    confirm: () => (age() <= FRESH_LEASE_MS ? undefined : ask()),
    tooOld: () =>
      age() > LAST_WORD_MS ? `the ledger's last confirmation of the lease is older than ${LAST_WORD_MS} ms` : undefined,
  }
}

export type Lease = {
  /** time left for the whole exchange, ms: the deadline, cut where the lease would end */
  deadlineMs(): number
  /** how long its answer may take to be kept, so that the ledger still hears of it in time, ms: never less than KEEP_LEAST_MS */
  keepMs(): number
  /** why nothing may be sent any more, or undefined */
  lastCheck(): string | undefined
  /** to be called before each request; `lastCheck` then goes by the answer */
  confirm: Confirm
  /** like `lastCheck`, for the further requests of a robots fetch: each hop has a lease of its own that is confirmed */
  stillHeld(): string | undefined
  /** the lease of the request's own lane has ended by itself: there is nothing to complete any more */
  isOver(): boolean
}

export type Durations = { fetchDeadlineMs: number; leaseMs: number }

/**
 * When the ledger was asked for the first lease of a request, which may be that of a pace group, and for that of its own lane. A
 * lease runs from then on, however late the reply comes.
 */
export type Asked = { first: Since; own: Since }

/**
 * @param asked     nothing is sent that the first of the leases does not allow
 * @param leaseMs   as the ledger granted it
 * @param settings  of the fetcher; a margin is taken from the difference between lease and deadline
 */
export function heldLease(asked: Asked, { tooOld, confirm }: Confirmed, leaseMs: number, settings: Durations): Lease {
  const spareMs = settings.leaseMs - settings.fetchDeadlineMs
  const usableMs = leaseMs - Math.min(LEASE_MARGIN_MS, Math.max(spareMs / 3, leaseMs / 10))
  // A page that takes its whole deadline has KEEP_LEAST_MS as well, so a process that is asked to stop waits for none of them longer.
  const keepUntilMs = Math.min(usableMs, settings.fetchDeadlineMs + KEEP_LEAST_MS)
  const age = (): number => passed(asked.first)
  const stillHeld = (): string | undefined => (age() >= usableMs ? 'the lease is over' : undefined)
  return {
    confirm,
    stillHeld,
    isOver: () => passed(asked.own) >= leaseMs,
    deadlineMs: () => Math.min(settings.fetchDeadlineMs, usableMs - age()),
    keepMs: () => Math.max(KEEP_LEAST_MS, keepUntilMs - passed(asked.own)),
    lastCheck: () => tooOld() ?? stillHeld(),
  }
}

export type StartRefusal = Extract<StartAnswer, { kind: 'refused' }>['why'] | 'too-early' | 'ledger-unavailable'

export type Started = { kind: 'lease'; lease: Lease } | { kind: 'refused'; why: StartRefusal }

/** How often `start` may answer 'early' to one order. */
const MAX_EARLY = 8
/** A longer wait means that the delay has grown meanwhile: neither the slot nor the pace groups are kept for it. */
const LONGEST_EARLY_MS = 1_000

/**
 * Asks the ledger for the lease right before the request, and again when it was too early. The host's lane is started with the
 * order's own, or not at all.
 * @param groups  the pace groups that are held already: nothing is sent that is not allowed by theirs
 */
export async function startLease(
  ledger: ConfirmLedger & Pick<Ledger, 'start'>,
  order: Order,
  settings: Durations,
  groups?: HeldGroups,
): Promise<Started> {
  const { agent, origin, fence, version, delayMs } = order
  // A page whose URL is a robots.txt counts as the one robots fetch of its origin, too.
  const isRobotsPage = order.kind === 'page' && namesRobotsTxt(order.path)
  const kind = isRobotsPage ? ('robots-page' as const) : order.kind
  const lane = { kind, agent, origin, fence, version, delayMs }
  const hostLane = groups?.hostLane
  const request = hostLane === undefined ? lane : { ...lane, paceLane: hostLane }
  for (let tries = 0; tries < MAX_EARLY; tries++) {
    const own = sinceNow()
    const asked = { first: groups?.since ?? own, own }
    crashPoint('start.before')
    let answer: StartAnswer
    try {
      answer = await ledger.start(request)
    } catch (error) {
      // When the script ran and its reply was lost, the lease ends by itself. Nothing is sent under it.
      if (error instanceof LedgerUnavailableError) return { kind: 'refused', why: 'ledger-unavailable' }
      throw error
    }
    if (answer.kind === 'granted') {
      crashPoint('start.after')
      // The ledger was asked a little ahead of the due time; the rest is waited out on this process's own clock.
      if (answer.waitMs !== undefined) await exactly(answer.waitMs)
      groups?.started(answer.paceLane)
      const held = (): LeasedLane[] => [{ agent, origin, fence, version }, ...(groups?.held() ?? [])]
      const confirmed = confirmedBy(ledger, asked.first, held)
      return { kind: 'lease', lease: heldLease(asked, confirmed, answer.leaseMs, settings) }
    }
    if (answer.kind === 'refused') return answer
    if (answer.waitMs > LONGEST_EARLY_MS) break
    await pause(answer.waitMs)
  }
  return { kind: 'refused', why: 'too-early' }
}

/** Waits at least that long, and as little more as timers of whole milliseconds allow. */
async function exactly(ms: number): Promise<void> {
  const until = performance.now() + ms
  for (let left = ms; left > 0; left = until - performance.now()) {
    await new Promise((resolve) => setTimeout(resolve, Math.max(1, Math.floor(left))))
  }
}
