/**
 * ⑥ Outcomes out: the streams of the partitions, read through one consumer group. Delivery is at least once: an entry that was
 * handed out and not acknowledged is redelivered, to the same consumer after its restart, or to another one when this one is dead.
 * A reader that may no longer count as alive hands out nothing until Redis has confirmed which entries it still owns.
 */

import { contentOf, type FleetOptions } from '@decorum/content'
import { makeGroup, READER_DEAD_AFTER_MS, type RedisLink } from '@decorum/ledger'
import type { Clock } from '@decorum/protocol/time'
import { within } from '@decorum/protocol/within'
import type { Acknowledger } from './acknowledge.ts'
import { deliveryId } from './delivery-id.ts'
import { FrontierUnavailableError } from './errors.ts'
import { claimFromDead, type Entry, entriesOf, type Reply, sendHeartbeat, TAKEN_OVER_AT_ONCE } from './stream-group.ts'
import type { Delivery, OutcomesOptions, Patience } from './types.ts'

/** Entries per read: enough to make the round trip a small part of the cost. */
const COUNT = 200
/** A blocking read ends after this time, so that a dead connection is noticed. */
const BLOCK_MS = 5_000
const AGAIN_MS = 500
const CALL_MS = 5_000

const PATIENCE: Patience = {
  deadAfterMs: READER_DEAD_AFTER_MS,
  beatMs: 10_000,
  claimEveryMs: 15_000,
  // by then every blocking read that began earlier has ended
  rereadAfterMs: 2 * BLOCK_MS,
}

export class OutcomeReader {
  readonly #clock: Clock
  readonly #own: RedisLink
  readonly #shared: RedisLink
  readonly #streams: string[]
  readonly #group: string
  readonly #consumer: string
  readonly #call: readonly ['GROUP', string, string, 'COUNT', number]
  readonly #wait: boolean
  readonly #most: number
  readonly #acks: Acknowledger
  readonly #closing: AbortSignal
  readonly #held: Set<string>
  readonly #patience: Patience
  readonly #content: FleetOptions
  /** the groups exist, and every entry assigned to this consumer has been handed out */
  #sure = false
  /** When the pending entries are read once more: a blocking read whose connection was lost may have assigned some. */
  #rereadAt = Number.POSITIVE_INFINITY
  /** when the latest command was sent that renewed this consumer's heartbeat */
  #aliveAt: number
  #claimAt = 0

  /**
   * @param links  own: blocks; in a cluster all streams are on one node. shared: never blocks
   * @param held   handed out and not acknowledged, as `stream id`: entries that a second read of the pending list must skip
   */
  constructor(
    links: { own: RedisLink; shared: RedisLink },
    acks: Acknowledger,
    streams: string[],
    options: Pick<Required<OutcomesOptions>, 'group' | 'consumer' | 'wait'> & { max?: number },
    held: Set<string>,
    closing: AbortSignal,
    patience: Partial<Patience> = {},
    content: FleetOptions = {},
  ) {
    this.#own = links.own
    this.#shared = links.shared
    this.#acks = acks
    this.#clock = acks.clock
    this.#aliveAt = this.#clock.monotonic()
    this.#streams = streams
    this.#group = options.group
    this.#consumer = options.consumer
    this.#most = Math.min(COUNT, options.max ?? COUNT)
    this.#call = ['GROUP', options.group, options.consumer, 'COUNT', this.#most]
    this.#wait = options.wait
    this.#held = held
    this.#closing = closing
    this.#patience = { ...PATIENCE, ...patience }
    this.#content = content
  }

  /**
   * Yields batches; each must be consumed before the next is requested. While Redis is unavailable, the reader waits and then
   * reads its pending entries again (`wait: true`).
   * @throws FrontierUnavailableError only with `wait: false`
   */
  async *read(): AsyncGenerator<Iterable<Delivery>, void, undefined> {
    // Heartbeats run on a timer: a reader that spends an hour on one outcome has not died.
    const beat = this.#clock.interval(() => void this.#beat(), this.#patience.beatMs).unref()
    this.#closing.addEventListener('abort', () => this.#clock.cancel(beat), { once: true })
    try {
      while (!this.#closing.aborted) {
        try {
          if (!this.#sure || this.#clock.monotonic() >= this.#rereadAt) yield* this.#given()
          yield this.#deliver(await this.#fromDead())
          if (!this.#sure) continue
          const fresh = await this.#fresh()
          if (fresh.length === 0 && !this.#wait) return
          yield this.#deliver(fresh)
        } catch (error) {
          if (this.#closing.aborted) return
          if (!this.#wait) throw new FrontierUnavailableError('the outcomes could not be read', error)
          this.#sure = false
          await this.#clock.sleep(AGAIN_MS, { signal: this.#closing })
        }
      }
    } finally {
      this.#clock.cancel(beat)
    }
  }

  *#deliver(entries: Entry[]): Generator<Delivery, void, undefined> {
    for (const { stream, id, outcome } of entries) {
      if (this.#closing.aborted || !this.#countsAsAlive()) return
      const key = `${stream} ${id}`
      if (this.#held.has(key)) continue
      this.#held.add(key)
      const ack = (): Promise<void> => this.#acks.ack(stream, this.#group, id, () => this.#held.delete(key))
      if (outcome === undefined) ack().catch(() => undefined) // repeated until Redis has it
      else yield delivery({ id: deliveryId(stream, id), outcome, ack }, this.#content)
    }
  }

  /** Pending entries of this consumer from before, without those it lost or has already handed out. */
  async *#given(): AsyncGenerator<Iterable<Delivery>, void, undefined> {
    this.#rereadAt = this.#sure ? Number.POSITIVE_INFINITY : this.#clock.monotonic() + this.#patience.rereadAfterMs
    const handedOut = new Set(this.#held) // acknowledgements may arrive before the pages requested now
    // Starts at the beginning: a group that is missing now was lost, or its stream is new. Where a new group begins was decided earlier.
    for (const stream of this.#streams) await this.#inTime(makeGroup(this.#own, [stream], this.#group, 'start'))
    this.#sure = true
    for (const stream of this.#streams) {
      for (let after = '0'; ;) {
        const page = await this.#withHeartbeat(() =>
          this.#inTime(this.#own.xreadgroup(...this.#call, 'STREAMS', stream, after)),
        )
        const last = page.at(-1)
        if (last === undefined) break
        yield this.#deliver(page.filter(({ stream: from, id }) => !handedOut.has(`${from} ${id}`)))
        if (!this.#sure) return
        after = last.id
      }
    }
  }

  async #fresh(): Promise<Entry[]> {
    const from = this.#streams.map(() => '>')
    return this.#withHeartbeat(() =>
      this.#wait
        ? this.#own.xreadgroup(...this.#call, 'BLOCK', BLOCK_MS, 'STREAMS', ...this.#streams, ...from)
        : this.#inTime(this.#own.xreadgroup(...this.#call, 'STREAMS', ...this.#streams, ...from)),
    )
  }

  /** With `wait: true` the read is tried again when the connection ends; with `wait: false` a Redis that hangs is an error. */
  #inTime<T>(work: Promise<T>): Promise<T> {
    return this.#wait ? work : within(this.#clock, work, CALL_MS)
  }

  /** Redis renews a consumer's lease of life when a command arrives, so the time before the call is the safe one to store. */
  async #withHeartbeat(query: () => Promise<unknown>): Promise<Entry[]> {
    const at = this.#clock.monotonic()
    const reply = await query()
    this.#aliveAt = Math.max(this.#aliveAt, at)
    return entriesOf(reply as Reply)
  }

  async #fromDead(): Promise<Entry[]> {
    const { deadAfterMs, claimEveryMs } = this.#patience
    if (this.#clock.monotonic() < this.#claimAt) return []
    this.#claimAt = this.#clock.monotonic() + claimEveryMs
    const most = Math.min(this.#most, TAKEN_OVER_AT_ONCE)
    const claiming = this.#streams.map((stream) =>
      claimFromDead(this.#own, stream, this.#group, this.#consumer, deadAfterMs, most),
    )
    const claimed = await this.#inTime(Promise.all(claiming))
    if (claimed.some((some) => some.length >= most)) this.#claimAt = 0
    return claimed.flat()
  }

  async #beat(): Promise<void> {
    const beatNow = (): Promise<unknown> => sendHeartbeat(this.#shared, this.#streams, this.#group, this.#consumer)
    // Redis is unavailable or the group is missing: #countsAsAlive() decides when that has lasted too long.
    await this.#withHeartbeat(() => within(this.#clock, beatNow(), CALL_MS)).catch(() => undefined)
  }

  /**
   * Half of the time after which other consumers take over this consumer's entries. After it (this process was frozen, or cut off
   * from Redis) the reader checks which entries it still owns; that check also renews its heartbeat.
   */
  #countsAsAlive(): boolean {
    const isAlive = this.#clock.monotonic() - this.#aliveAt < this.#patience.deadAfterMs / 2
    this.#sure &&= isAlive
    return isAlive
  }
}

function delivery(one: Omit<Delivery, 'content'>, options: FleetOptions): Delivery {
  const { outcome } = one
  const reference = outcome.kind === 'fetched' ? outcome.archive?.ref : undefined
  if (outcome.kind !== 'fetched' || reference === undefined) return one
  return { ...one, content: contentOf(outcome, reference, options) }
}
