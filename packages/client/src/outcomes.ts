/**
 * ⑥ Outcomes out: streams of partitions through one consumer group. At least once: what was handed out and
 * not acknowledged comes again, to the same consumer when it starts again, to another one when it is dead.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { RedisLink } from '@decorum/ledger'
import type { Outcome } from '@decorum/protocol'
import type { Acknowledger } from './acknowledge.ts'
import { FrontierUnavailableError } from './errors.ts'
import { claimFromDead, type Entry, entriesOf, type Reply } from './stream-group.ts'

export type OutcomesOptions = {
  /** who reads: each group sees every outcome once and continues where it stopped */
  group: string
  /** a reader of that group; the same name after a restart gets its unacknowledged outcomes first. Default: a new one */
  consumer?: string
  /** where a new group begins: with everything still stored (default), or with what is yet to come */
  from?: 'start' | 'now'
  /** false: end when nothing is left to read; default: wait for more until close() */
  wait?: boolean
}

export type Delivery = {
  outcome: Outcome
  /** This outcome is dealt with and need not come again. Resolves when Redis knows. */
  ack: () => Promise<void>
}

/** Entries per read: enough that the round trip is small beside them. */
const COUNT = 200
/** A blocking read ends by itself that often, so that a dead connection is noticed. */
const BLOCK_MS = 5_000
const AGAIN_MS = 500
/** How often dead consumers are looked for, and how long a silent one counts as living. */
const CLAIM_EVERY_MS = 15_000
const DEAD_AFTER_MS = 60_000

export class OutcomeReader {
  readonly #redis: RedisLink
  readonly #streams: string[]
  readonly #group: string
  readonly #consumer: string
  readonly #from: 'start' | 'now'
  readonly #wait: boolean
  readonly #acks: Acknowledger
  readonly #closing: AbortSignal
  readonly #held: Set<string>
  #claimAt = 0

  /**
   * @param redis  a connection of its own, for it blocks; of a cluster all streams are on one node
   * @param held   handed out and not acknowledged, as `stream id`: what a second look at the pending list must leave out
   */
  constructor(
    redis: RedisLink,
    acks: Acknowledger,
    streams: string[],
    options: Required<OutcomesOptions>,
    held: Set<string>,
    closing: AbortSignal,
  ) {
    this.#redis = redis
    this.#acks = acks
    this.#streams = streams
    this.#group = options.group
    this.#consumer = options.consumer
    this.#from = options.from
    this.#wait = options.wait
    this.#held = held
    this.#closing = closing
  }

  /**
   * Redis away: it waits and goes on (`wait: true`), after looking again at what this consumer had been given.
   * @throws FrontierUnavailableError only with `wait: false`
   */
  async *read(): AsyncGenerator<Delivery, void, undefined> {
    let sure = false // the groups exist and everything that was given to us has been handed out
    while (!this.#closing.aborted) {
      try {
        if (!sure) {
          await this.#createGroups()
          yield* this.#deliver(await this.#pending())
          sure = true
        }
        yield* this.#deliver(await this.#fromDead())
        const fresh = await this.#fresh()
        if (fresh.length === 0 && !this.#wait) return
        yield* this.#deliver(fresh)
      } catch (error) {
        if (this.#closing.aborted) return
        if (!this.#wait) throw new FrontierUnavailableError('the outcomes could not be read', error)
        sure = false
        await sleep(AGAIN_MS, undefined, { signal: this.#closing }).catch(() => undefined)
      }
    }
  }

  *#deliver(entries: Entry[]): Generator<Delivery, void, undefined> {
    for (const { stream, id, outcome } of entries) {
      if (this.#closing.aborted) return
      const key = `${stream} ${id}`
      if (this.#held.has(key)) continue
      this.#held.add(key)
      const ack = (): Promise<void> => this.#acks.ack(stream, this.#group, id, () => this.#held.delete(key))
      yield { outcome, ack }
    }
  }

  async #createGroups(): Promise<void> {
    for (const stream of this.#streams) {
      try {
        await this.#redis.xgroup('CREATE', stream, this.#group, this.#from === 'start' ? '0' : '$', 'MKSTREAM')
      } catch (error) {
        if (!(error instanceof Error) || !error.message.startsWith('BUSYGROUP')) throw error
      }
    }
  }

  /** What this consumer was given before and never acknowledged. */
  async #pending(): Promise<Entry[]> {
    const found: Entry[] = []
    for (const stream of this.#streams) {
      for (let after = '0'; ; ) {
        const reply: Reply = await this.#redis.xreadgroup(
          'GROUP',
          this.#group,
          this.#consumer,
          'COUNT',
          COUNT,
          'STREAMS',
          stream,
          after,
        )
        const ids = reply?.[0]?.[1] ?? []
        found.push(...(await this.#readable(reply)))
        const last = ids.at(-1)
        if (last === undefined) break
        after = last[0]
      }
    }
    return found
  }

  async #fresh(): Promise<Entry[]> {
    const from = this.#streams.map(() => '>')
    const call = ['GROUP', this.#group, this.#consumer, 'COUNT', COUNT] as const
    const reply: Reply = this.#wait
      ? await this.#redis.xreadgroup(...call, 'BLOCK', BLOCK_MS, 'STREAMS', ...this.#streams, ...from)
      : await this.#redis.xreadgroup(...call, 'STREAMS', ...this.#streams, ...from)
    return this.#readable(reply)
  }

  /** Every so often; the call also tells others that this consumer lives, however slow its reader is. */
  async #fromDead(): Promise<Entry[]> {
    if (performance.now() < this.#claimAt) return []
    this.#claimAt = performance.now() + CLAIM_EVERY_MS
    const claimed = this.#streams.map((stream) =>
      claimFromDead(this.#redis, stream, this.#group, this.#consumer, DEAD_AFTER_MS),
    )
    return (await Promise.all(claimed)).flat()
  }

  /** Entries that hold no outcome (trimmed, or a stranger's) are dealt with here: nobody could do more with them. */
  async #readable(reply: Reply): Promise<Entry[]> {
    const { entries, unreadable } = entriesOf(reply)
    for (const { stream, id } of unreadable) {
      await this.#acks.ack(stream, this.#group, id)
    }
    return entries
  }
}
