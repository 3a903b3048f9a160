/**
 * ⑥ Outcomes out: the streams of the partitions, read through one consumer group. Delivery is at least once: an entry that was
 * handed out and not acknowledged is redelivered, to the same consumer after its restart, or to another one when this one is dead.
 * A reader that may no longer count as alive hands out nothing until Redis has confirmed which entries it still owns.
 */

import { contentOf, type FleetOptions } from '@decorum/content'
import { makeGroup, READER_DEAD_AFTER_MS, type RedisLink } from '@decorum/ledger'
import { within } from '@decorum/protocol/within'
import type { Acknowledger } from './acknowledge.ts'
import { deliveryId } from './delivery-id.ts'
import { CALL_MS, FrontierUnavailableError } from './errors.ts'
import { claimFromDead, type Entry, entriesOf, type Reply, sendHeartbeat, TAKEN_OVER_AT_ONCE } from './stream-group.ts'
import type { Delivery, OutcomesOptions, Patience } from './types.ts'

/** Entries per read: enough to make the round trip a small part of the cost. */
const COUNT = 200
/** A blocking read ends after this time, so that a dead connection is noticed. */
const BLOCK_MS = 5_000
const AGAIN_MS = 500

const PATIENCE: Patience = {
  deadAfterMs: READER_DEAD_AFTER_MS,
  beatMs: 10_000,
  claimEveryMs: 15_000,
  // by then every blocking read that began earlier has ended
  rereadAfterMs: 2 * BLOCK_MS,
}

export type Reading = {
  /** own: for reads that block; in a cluster all `streams` are on one node. shared: for calls that do not block */
  links: { own: RedisLink; shared: RedisLink }
  acks: Acknowledger
  streams: string[]
  options: Pick<Required<OutcomesOptions>, 'group' | 'consumer' | 'wait'> & { max?: number }
  /** handed out and not acknowledged, as `stream id`: entries that a second read of the pending list must skip */
  held: Set<string>
  closing: AbortSignal
  patience?: Partial<Patience> | undefined
  content?: FleetOptions
}

/**
 * Yields batches; each must be consumed before the next is requested. While Redis is unavailable, the reader waits and then
 * reads its pending entries again (`wait: true`).
 * @throws FrontierUnavailableError only with `wait: false`
 */
export async function* readOutcomes(reading: Reading): AsyncGenerator<Iterable<Delivery>, void, undefined> {
  const { acks, streams, held, closing, content = {} } = reading
  const { own, shared } = reading.links
  const { clock } = acks
  const { group, consumer, wait, max = COUNT } = reading.options
  const most = Math.min(COUNT, max)
  const call = ['GROUP', group, consumer, 'COUNT', most] as const
  const patience = { ...PATIENCE, ...reading.patience }
  /** whether the groups exist, and every entry assigned to this consumer has been handed out */
  let isSure = false
  /** When the pending entries are read once more: a blocking read whose connection was lost may have assigned some. */
  let rereadAt = Number.POSITIVE_INFINITY
  /** when the latest command was sent that renewed this consumer's heartbeat */
  let aliveAt = clock.monotonic()
  let claimAt = 0

  // Heartbeats run on a timer: a reader that spends an hour on one outcome has not died.
  const beating = clock.interval(() => void beat(), patience.beatMs).unref()
  closing.addEventListener('abort', () => clock.cancel(beating), { once: true })
  try {
    while (!closing.aborted) {
      try {
        if (!isSure || clock.monotonic() >= rereadAt) yield* given()
        yield deliver(await fromDead())
        if (!isSure) continue
        const found = await fresh()
        if (found.length === 0 && !wait) return
        yield deliver(found)
      } catch (error) {
        if (closing.aborted) return
        if (!wait) throw new FrontierUnavailableError('the outcomes could not be read', error)
        isSure = false
        await clock.sleep(AGAIN_MS, { signal: closing })
      }
    }
  } finally {
    clock.cancel(beating)
  }

  function* deliver(entries: Entry[]): Generator<Delivery, void, undefined> {
    for (const { stream, id, outcome } of entries) {
      if (closing.aborted || !countsAsAlive()) return
      const key = `${stream} ${id}`
      if (held.has(key)) continue
      held.add(key)
      const ack = (): Promise<void> => acks.ack(stream, group, id, () => held.delete(key))
      if (outcome === undefined) ack().catch(() => undefined) // repeated until Redis has it
      else yield delivery({ id: deliveryId(stream, id), outcome, ack }, content)
    }
  }

  /** The entries already assigned to this consumer, without those that it has handed out. */
  async function* given(): AsyncGenerator<Iterable<Delivery>, void, undefined> {
    rereadAt = isSure ? Number.POSITIVE_INFINITY : clock.monotonic() + patience.rereadAfterMs
    const handedOut = new Set(held) // acknowledgements may arrive before the pages requested now
    // Starts at the beginning: a group that is missing now was lost, or its stream is new. Where a new group begins was decided earlier.
    for (const stream of streams) await inTime(makeGroup(own, [stream], group, 'start'))
    isSure = true
    for (const stream of streams) {
      for (let after = '0'; ;) {
        const page = await withHeartbeat(() => inTime(own.xreadgroup(...call, 'STREAMS', stream, after)))
        const last = page.at(-1)
        if (last === undefined) break
        yield deliver(page.filter(({ stream: from, id }) => !handedOut.has(`${from} ${id}`)))
        if (!isSure) return
        after = last.id
      }
    }
  }

  function fresh(): Promise<Entry[]> {
    const from = streams.map(() => '>')
    return withHeartbeat(() =>
      wait
        ? own.xreadgroup(...call, 'BLOCK', BLOCK_MS, 'STREAMS', ...streams, ...from)
        : inTime(own.xreadgroup(...call, 'STREAMS', ...streams, ...from)),
    )
  }

  /** With `wait: true` the read is tried again when the connection ends; with `wait: false` a Redis that hangs is an error. */
  function inTime<T>(work: Promise<T>): Promise<T> {
    return wait ? work : within(clock, work, CALL_MS)
  }

  /** Redis renews a consumer's heartbeat when a command arrives, so the time before the call is stored, which is never later. */
  async function withHeartbeat(query: () => Promise<unknown>): Promise<Entry[]> {
    const at = clock.monotonic()
    const reply = await query()
    aliveAt = Math.max(aliveAt, at)
    return entriesOf(reply as Reply)
  }

  async function fromDead(): Promise<Entry[]> {
    if (clock.monotonic() < claimAt) return []
    claimAt = clock.monotonic() + patience.claimEveryMs
    const atOnce = Math.min(most, TAKEN_OVER_AT_ONCE)
    const claiming = streams.map((stream) => claimFromDead(own, stream, group, consumer, patience.deadAfterMs, atOnce))
    const claimed = await inTime(Promise.all(claiming))
    if (claimed.some((some) => some.length >= atOnce)) claimAt = 0
    return claimed.flat()
  }

  async function beat(): Promise<void> {
    // If this fails (Redis is unavailable, the group is missing), countsAsAlive() decides when that has lasted too long.
    const beatNow = (): Promise<unknown> => within(clock, sendHeartbeat(shared, streams, group, consumer), CALL_MS)
    await withHeartbeat(beatNow).catch(() => undefined)
  }

  /**
   * Whether the last heartbeat is younger than half of the time after which other consumers take over this consumer's entries. If not
   * (this process was frozen, or cut off from Redis), the reader checks which entries it still owns, which also renews its heartbeat.
   */
  function countsAsAlive(): boolean {
    const isAlive = clock.monotonic() - aliveAt < patience.deadAfterMs / 2
    isSure &&= isAlive
    return isAlive
  }
}

function delivery(one: Omit<Delivery, 'content'>, options: FleetOptions): Delivery {
  const { outcome } = one
  const reference = outcome.kind === 'fetched' ? outcome.archive?.ref : undefined
  if (outcome.kind !== 'fetched' || reference === undefined) return one
  return { ...one, content: contentOf(outcome, reference, options) }
}
