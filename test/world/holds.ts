/**
 * What operators hold at present: pauses, blocks and emergency stops, from when Redis has confirmed one until somebody sets out to end it, and delays by hand.
 * The judge of leases asks it (leases.ts).
 */
import { hostOf, type Instant } from '@decorum/protocol'

type Gate = 'paused' | 'blocked' | 'stopped'
type ByHand = { delayMs: number; from: Instant; to: Instant }

export class Holds {
  /** gate and what it holds: an origin, or a name */
  readonly #held = new Map<string, { gate: Gate; what: string; from: Instant }>()
  /** when somebody set out to end one, and how many have not been told that it is done */
  readonly #ends = new Map<string, { at: Instant; open: number }>()
  /** what may be held: it was called for, and nobody has been told that it is over */
  readonly #mayBe = new Map<string, number>()
  readonly #byHand = new Map<string, ByHand & { calledAt: Instant }>()

  /** Somebody sets out to hold it. */
  call(gate: Gate, what: string): void {
    const key = `${gate} ${what}`
    this.#mayBe.set(key, (this.#mayBe.get(key) ?? 0) + 1)
  }

  /** It is confirmed. @param calledAt  an end that was called since may have come after it @returns whether none was, so that it is in force */
  begin(gate: Gate, what: string, calledAt: Instant, from: Instant): boolean {
    const key = `${gate} ${what}`
    const end = this.#ends.get(key)
    if (end !== undefined && (end.open > 0 || end.at >= calledAt)) return false
    this.#held.set(key, { gate, what, from })
    return true
  }

  /** It ends, whoever began it. @returns to be called when that is done */
  end(gate: Gate, what: string, at: Instant): () => void {
    const key = `${gate} ${what}`
    this.#held.delete(key)
    const end = { at, open: (this.#ends.get(key)?.open ?? 0) + 1 }
    this.#ends.set(key, end)
    return () => {
      const now = this.#ends.get(key)
      if (now !== undefined) now.open--
      this.#mayBe.set(key, (this.#mayBe.get(key) ?? 0) - 1)
    }
  }

  /** A delay takes the place of an earlier one. @returns to be called when it is confirmed */
  delay(origin: string, delayMs: number, calledAt: Instant): (from: Instant, to: Instant) => void {
    this.#byHand.set(origin, { delayMs, from: Number.POSITIVE_INFINITY, to: 0, calledAt })
    return (from, to) => {
      const known = this.#byHand.get(origin)
      if (known?.calledAt === calledAt) this.#byHand.set(origin, { delayMs, from, to, calledAt })
    }
  }

  /** Redis has forgotten what was written since; stops are written again by processes that know them. */
  lost(since: Instant): void {
    for (const [key, { gate, from }] of this.#held) if (gate !== 'stopped' && from >= since) this.#held.delete(key)
    for (const [origin, { from }] of this.#byHand) if (from >= since) this.#byHand.delete(origin)
  }

  /**
   * @param moment  a reservation does not look at what holds the lane of the host beside its own: its start does, with that lane
   */
  gateOf(origin: string, moment: 'reserve' | 'grant'): Gate | undefined {
    const host = hostOf(origin)
    const isNear = moment === 'reserve' && origin !== `https://${host}`
    const holds = (gate: Gate, what: string): boolean => {
      if (gate === 'stopped') return covers(what, host)
      return what === origin || (gate === 'paused' && !isNear && hostOf(what) === host)
    }
    const found = [...this.#held.values()].filter(({ gate, what }) => holds(gate, what)).map(({ gate }) => gate)
    return found.find((gate) => gate !== 'blocked') ?? found[0]
  }

  /** @returns for how long an address has been stopped, ms; undefined: it is not */
  stoppedFor(address: string | undefined, now: Instant): number | undefined {
    const found = this.#held.get(`stopped ${address}`)
    return found && now - found.from
  }

  mayBeBlocked(origin: string): boolean {
    return (this.#mayBe.get(`blocked ${origin}`) ?? 0) > 0
  }

  /** @returns the delay by hand that a lane of the origin owes now: one that was in force when its last exchange ended, or while its delay ran */
  delayOf(origin: string, now: Instant, ended: Instant, opens: Instant): number {
    const found = this.#byHand.get(origin)
    if (found === undefined || now >= found.to) return 0
    return ended >= found.from || opens > found.from ? found.delayMs : 0
  }
}

const covers = (name: string, host: string): boolean => name === '*' || name === host || host.endsWith(`.${name}`)
