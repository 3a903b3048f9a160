/**
 * Outcomes as server-sent events, through a consumer group: written to the connection, then acknowledged. One write at a
 * time, so a slow reader is waited for, and holds up nobody else.
 */
import type { ServerResponse } from 'node:http'
import { type Delivery, type Frontier, openFrontier } from '@decorum/client'
import { Refusal } from './route.ts'

export type StreamWish = {
  group: string
  consumer: string
  from: 'start' | 'now'
  follow: boolean
  /** the address that reads */
  client: string
}

export type OutcomeStreams = {
  /**
   * Streams until one side ends it.
   * @param head  called once the streams of Redis can be read, before the first byte
   * @returns a Refusal when nothing was written · @throws FrontierUnavailableError before the first byte
   */
  serve(wish: StreamWish, response: ServerResponse, head: () => void): Promise<Refusal | undefined>
  /** Ends all streams, each with a last event. */
  close(): Promise<void>
}

/** Each reader holds a blocking connection of its own to Redis: so many in all, and of one address or group a share. */
const MAX_READERS = 64
const MAX_READERS_EACH = 16
/** Streams last: asking again at once would help nobody. */
const ASK_AGAIN_S = 10
/** Acknowledgements on their way; beyond them the oldest is waited for. */
const ACKS_OUT = 100

/** Why a stream ended: the data of its event `end`. */
type End = 'done' | 'stopping' | 'taken-over'
type Reader = { group: string; client: string; stop(why: End): Promise<void> }

export function outcomeStreams(redisUrl: string, heartbeatMs: number): OutcomeStreams {
  const readers = new Map<string, Reader>()
  let closing = false

  async function serve(wish: StreamWish, response: ServerResponse, head: () => void): Promise<Refusal | undefined> {
    const name = `${wish.group} ${wish.consumer}`
    // Two readers under one name would each be handed what the other holds
    for (let held = readers.get(name); held !== undefined; held = readers.get(name)) await held.stop('taken-over')
    if (closing) return new Refusal(503, 'stopping', 'the console is being stopped')
    const crowded = noRoomFor(wish)
    if (crowded !== undefined) return crowded

    const gone = new AbortController()
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    let why: End = 'done'
    const reader: Reader = {
      group: wish.group,
      client: wish.client,
      async stop(reason) {
        why = reason
        gone.abort()
        await ended
      },
    }
    readers.set(name, reader) // before the first await: nobody else may come in under this name
    response.once('close', () => gone.abort())
    try {
      const frontier = await openFrontier({ redis: redisUrl })
      let closed: Promise<void> | undefined
      const close = (): Promise<void> => {
        closed ??= frontier.close()
        return closed
      }
      // A blocking read ends by its connection alone
      gone.signal.addEventListener('abort', () => void close())
      try {
        if (gone.signal.aborted) return new Refusal(503, why, 'this stream was ended before it began')
        head()
        await stream(frontier, wish, response, gone.signal)
      } finally {
        await close()
      }
      finish(response, why)
      return undefined
    } catch (error) {
      if (!response.headersSent) throw error
      response.destroy() // in the middle of a stream there is no other way to say that it did not end well
      return undefined
    } finally {
      readers.delete(name)
      end()
    }
  }

  function noRoomFor({ group, client }: StreamWish): Refusal | undefined {
    const full = (status: number, whose: string, most: number) =>
      new Refusal(status, 'too-many-readers', `${most} streams${whose} are being read`, ASK_AGAIN_S)
    const held = [...readers.values()]
    if (held.filter((reader) => reader.client === client).length >= MAX_READERS_EACH)
      return full(429, ' of this address', MAX_READERS_EACH)
    if (held.filter((reader) => reader.group === group).length >= MAX_READERS_EACH)
      return full(429, ' of this group', MAX_READERS_EACH)
    return held.length >= MAX_READERS ? full(503, '', MAX_READERS) : undefined
  }

  async function stream(
    frontier: Frontier,
    { follow, group, consumer, from }: StreamWish,
    response: ServerResponse,
    gone: AbortSignal,
  ): Promise<void> {
    await write(response, ': open\n\n', gone)
    const beat = setInterval(() => {
      if (!response.writableNeedDrain) response.write(': beat\n\n')
    }, heartbeatMs)
    try {
      await pass(frontier.outcomes({ group, consumer, from, wait: follow }), response, gone)
    } finally {
      clearInterval(beat)
    }
  }

  return {
    serve,
    async close() {
      closing = true
      await Promise.all([...readers.values()].map((reader) => reader.stop('stopping')))
    },
  }
}

async function pass(outcomes: AsyncIterable<Delivery>, response: ServerResponse, gone: AbortSignal): Promise<void> {
  const acks: Promise<void>[] = []
  for await (const { outcome, ack } of outcomes) {
    const text = `event: outcome\ndata: ${JSON.stringify(outcome)}\n\n`
    if (!(await write(response, text, gone))) break
    // Not acknowledged, it comes again to whoever reads next under this name: twice rather than never
    acks.push(ack().catch(() => undefined))
    if (acks.length > ACKS_OUT) await acks.shift()
  }
  await Promise.all(acks)
}

/** @returns whether the operating system has taken it; false when the reader went away or was told to stop before */
function write(response: ServerResponse, text: string, gone: AbortSignal): Promise<boolean> {
  if (gone.aborted || response.destroyed) return Promise.resolve(false)
  return new Promise((resolve) => {
    const stop = (): void => resolve(false)
    gone.addEventListener('abort', stop, { once: true })
    response.write(text, (error) => {
      gone.removeEventListener('abort', stop)
      resolve(error === null || error === undefined)
    })
  })
}

/** A reader that does not read gets no more than a second to hear why. */
function finish(response: ServerResponse, why: End): void {
  if (response.destroyed) return
  const late = setTimeout(() => response.destroy(), 1_000)
  response.end(`event: end\ndata: ${why}\n\n`, () => clearTimeout(late))
}
