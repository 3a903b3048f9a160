/** The leases of one request, as this process sees them: start, length, whether they may still be used, and how they end. */
import type { Agent } from '@decorum/config'
import { type ExtendAnswer, type LaneRef, type LeasedLane, type Ledger, LedgerUnavailableError } from '@decorum/ledger'
import { delayAfter } from '@decorum/politeness'
import { passed, type Since, sinceNow } from '@decorum/runtime'
import type { Confirm } from '../http/exchange.ts'
import {
  confirm,
  endExchange,
  endUnused,
  extend,
  type Happened,
  type LeaseLedger,
  type Leases,
  laneOf,
  lanesOf,
  type PaceLease,
} from '../ledger.ts'
import { FRESH_LEASE_MS, KEEP_LEAST_MS, LAST_WORD_MS, LEASE_MARGIN_MS } from '../limits.ts'
import type { Report, Reporter } from '../report.ts'
import type { Turn } from './turn.ts'

/**
 * The ledger's last confirmation of leases: decides whether it is too old to send anything, and requests a newer one.
 * @param since  when the first of the leases was requested
 * @param lanes  every lane that the request holds
 */
export function confirmedBy(ledger: LeaseLedger, since: Since, lanes: () => readonly LeasedLane[]) {
  let lastWord = since
  const check = async (): Promise<string | undefined> => {
    const calledAt = sinceNow(ledger.clock)
    try {
      const gate = await confirm(ledger, lanes())
      if (gate !== undefined) return `the ledger did not confirm the lease: ${gate}`
      lastWord = calledAt
      return undefined
    } catch (error) {
      if (error instanceof LedgerUnavailableError) return 'the ledger did not confirm the lease: it did not answer'
      throw error
    }
  }
  const age = (): number => passed(ledger.clock, lastWord)
  return {
    confirm: (): ReturnType<Confirm> => (age() <= FRESH_LEASE_MS ? undefined : check()),
    tooOld: (): string | undefined =>
      age() > LAST_WORD_MS ? `the ledger's last confirmation of the lease is older than ${LAST_WORD_MS} ms` : undefined,
  }
}

/** The parts of a request's leases that an exchange needs. */
export type UsedLease = Pick<Lease, 'deadlineMs' | 'keepMs' | 'lastCheck' | 'confirm' | 'stillHeld'>

export type Durations = { fetchDeadlineMs: number; leaseMs: number }

/** The result of an exchange, as read from its answer. */
export type Fetched = Omit<Happened, 'adaptiveMs' | 'furtherMs'> & {
  /** label for metrics: a failure, a kind of outcome, a class of status … or 'not-sent': nothing left this machine */
  what: string
  /** bytes of the body, for metrics */
  bytes: number
}

export class Lease {
  readonly agent: Agent
  readonly leases: Leases
  /** call it before each request; `lastCheck` then depends on the answer */
  readonly confirm: Confirm
  /** the longest delay that a hop owed to a lane of this request, ms: the request owes it as well */
  owedByHopsMs = 0
  #turn: Turn
  readonly #tooOld: () => string | undefined
  readonly #ledger: LeaseLedger
  readonly #reporter: Reporter
  #report: Report
  #usableMs: number
  readonly #durations: Durations

  /** @param durations  the settings, from which the margin at the end of the lease is computed */
  constructor(agent: Agent, turn: Turn, durations: Durations, tools: { ledger: LeaseLedger; reporter: Reporter }) {
    this.agent = agent
    this.leases = turn.leases
    this.#turn = turn
    this.#ledger = tools.ledger
    this.#reporter = tools.reporter
    this.#report = tools.reporter(turn.requested.own, turn.leaseMs)
    this.#durations = durations
    this.#usableMs = usableMs(turn.leaseMs, durations)
    const { confirm, tooOld } = confirmedBy(tools.ledger, turn.requested.first, () => lanesOf(turn.leases))
    this.confirm = confirm
    this.#tooOld = tooOld
  }

  get origin(): string {
    return this.leases.own.origin
  }

  /** The lease of a lane that is held; undefined: the lane is not held. */
  leaseOf({ agent, origin }: LaneRef): PaceLease | undefined {
    const { own, paceLeases } = this.leases
    const all = [{ ...laneOf(own), delayMs: own.delayMs, ofSite: true }, ...paceLeases]
    return all.find((lane) => lane.agent === agent && lane.origin === origin)
  }

  /** length of the request's own lease, as granted or last extended, ms */
  get leaseMs(): number {
    return this.#turn.leaseMs
  }

  /** Why the leases are over, or undefined. Enough for a hop of a robots fetch, which also checks its own lease. */
  stillHeld(): string | undefined {
    return this.#age() >= this.#usableMs ? 'the lease is over' : undefined
  }

  /** time left for the whole exchange, ms: until the deadline or the end of the lease, whichever is earlier */
  deadlineMs(): number {
    return Math.min(this.#durations.fetchDeadlineMs, this.#usableMs - this.#age())
  }

  /** how long keeping the answer may take, ms, so that the ledger gets the result in time: never less than KEEP_LEAST_MS */
  keepMs(): number {
    // A page that takes its whole deadline gets KEEP_LEAST_MS as well, which also bounds the wait of a stopping process.
    const untilMs = Math.min(this.#usableMs, this.#durations.fetchDeadlineMs + KEEP_LEAST_MS)
    return Math.max(KEEP_LEAST_MS, untilMs - passed(this.#ledger.clock, this.#turn.requested.own))
  }

  /** Why nothing may be sent any more, or undefined: the first of the leases to end decides. */
  lastCheck(address: string | undefined): string | undefined {
    return this.#tooOld() ?? this.stillHeld() ?? this.wrongAddress(address)
  }

  wrongAddress(address: string | undefined): string | undefined {
    return this.#turn.wrongAddress(address)
  }

  #age(): number {
    return passed(this.#ledger.clock, this.#turn.requested.first)
  }

  /**
   * Lets all leases end `leaseMs` from now, for an exchange that outlasts them.
   * @returns 'stale' when they had ended: nothing more may be sent under them
   * @throws LedgerUnavailableError; they last as long as before
   */
  async extend(ledger: Pick<Ledger, 'extend' | 'partitionOf'>, leaseMs: number): Promise<ExtendAnswer> {
    const since = sinceNow(this.#ledger.clock)
    const answer = await extend(ledger, this.leases, leaseMs)
    if (answer.kind === 'stale') return answer
    this.#turn = { ...this.#turn, requested: { first: since, own: since }, leaseMs }
    this.#usableMs = usableMs(leaseMs, this.#durations)
    this.#report = this.#reporter(since, leaseMs)
    return answer
  }

  /** Reports the result of the request until the ledger has answered, or the lease is over. */
  async end({ what, ...rest }: Fetched, onNoRoom?: () => void): Promise<void> {
    if (what === 'not-sent') return void (await endUnused(this.#ledger, this.leases, this.#report))
    const happened = { ...rest, adaptiveMs: delayAfter(this.agent, 0, rest.tookMs), furtherMs: this.owedByHopsMs }
    await endExchange(this.#ledger, this.leases, happened, this.#report, onNoRoom)
  }
}

/** How long a lease may be used, ms: time to complete it is left at its end. */
const usableMs = (ownMs: number, { fetchDeadlineMs, leaseMs }: Durations): number =>
  ownMs - Math.min(LEASE_MARGIN_MS, Math.max((leaseMs - fetchDeadlineMs) / 3, ownMs / 10))
