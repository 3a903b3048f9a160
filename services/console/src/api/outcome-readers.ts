/**
 * Active readers of outcomes over HTTP: streams and waiting requests. Each has a blocking connection to Redis, so their number is
 * limited; only one reader per name is active, because two would each receive entries of the other.
 */
import { Problem } from '@decorum/runtime/http-api'

/** Why a stream ended: the data of its event `end`. */
export type End = 'done' | 'stopping' | 'taken-over'
export type Place = {
  /** aborted when the reader must end */
  gone: AbortSignal
  /** why the reader ended */
  why: () => End
  /** call when the client has disconnected */
  abandon(): void
  /** call when reading has ended: another reader may use the name */
  leave(): void
}
export type Who = { crawl: string; group: string; consumer: string /** the address that reads */; client: string }

/** Most readers in total, and most of one address or one group. */
const MAX_READERS = 64
const MAX_READERS_EACH = 16
/** A place may stay taken for long, so an immediate retry has no use. */
const RETRY_MS = 10_000

type Reader = Who & { stop(why: End): Promise<void> }

export class OutcomeReaders {
  readonly #readers = new Map<string, Reader>()
  #closing = false

  /** Reserves a place for this reader. An active reader of the same name ends first. */
  async enter(who: Who): Promise<Place | Problem> {
    const name = JSON.stringify([who.crawl, who.group, who.consumer])
    for (let held = this.#readers.get(name); held !== undefined; held = this.#readers.get(name))
      await held.stop('taken-over')
    if (this.#closing) return new Problem(503, 'stopping', 'the console is being stopped')
    const crowded = this.#noRoomFor(who)
    if (crowded !== undefined) return crowded
    const gone = new AbortController()
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    let why: End = 'done'
    const reader: Reader = {
      ...who,
      async stop(reason) {
        why = reason
        gone.abort()
        await ended
      },
    }
    this.#readers.set(name, reader)
    return {
      gone: gone.signal,
      why: () => why,
      abandon: () => gone.abort(),
      leave: () => {
        gone.abort()
        this.#readers.delete(name)
        end()
      },
    }
  }

  #noRoomFor({ crawl, group, client }: Who): Problem | undefined {
    const full = (status: number, whose: string, most: number) =>
      new Problem(status, 'too-many-readers', `${most} streams${whose} are being read`, { retryAfterMs: RETRY_MS })
    const held = [...this.#readers.values()]
    if (held.filter((reader) => reader.client === client).length >= MAX_READERS_EACH)
      return full(429, ' of this address', MAX_READERS_EACH)
    if (held.filter((reader) => reader.group === group && reader.crawl === crawl).length >= MAX_READERS_EACH)
      return full(429, ' of this group', MAX_READERS_EACH)
    return held.length >= MAX_READERS ? full(503, '', MAX_READERS) : undefined
  }

  /** Ends all readers, and accepts no more. */
  async close(): Promise<void> {
    this.#closing = true
    await Promise.all([...this.#readers.values()].map((reader) => reader.stop('stopping')))
  }
}
