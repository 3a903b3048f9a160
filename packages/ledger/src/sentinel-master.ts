/**
 * Connections to the master that Sentinel names; they end when it names another. A master that was replaced becomes a replica only ten
 * seconds later; its writes until then are lost, and it grants what the new master grants as well. ioredis follows the master with
 * `failoverDetector`, but a connection that is being made meanwhile ends for good (6.0.0: "Connection is closed.").
 */
import { systemClock } from '@decorum/protocol'
import { Redis, SentinelConnector } from 'ioredis'

type Options = SentinelConnector['options']
type Stream = Awaited<ReturnType<SentinelConnector['connect']>>

/** How often each process queries one Sentinel. */
const QUERY_MS = 250
const ANSWER_MS = 2_000

export class MasterConnector extends SentinelConnector {
  override async connect(emit: Parameters<SentinelConnector['connect']>[0]): Promise<Stream> {
    const requestedAt = systemClock.monotonic()
    const stream = await super.connect(emit)
    watchOf(this.options).add(stream, requestedAt)
    return stream
  }
}

const watches = new Map<string, MasterWatch>()

function watchOf(options: Options): MasterWatch {
  const key = JSON.stringify([options.name, options.sentinels, options.sentinelUsername])
  let watch = watches.get(key)
  if (watch === undefined) {
    watch = new MasterWatch(options)
    watches.set(key, watch)
  }
  return watch
}

/**
 * Watches one master: queries the Sentinels in turn, while there are connections to it. The last answer is remembered when all connections
 * have ended, as they do together when a master dies: an address requested before that may still lead to it.
 */
class MasterWatch {
  readonly #options: Options
  readonly #streams = new Set<Stream>()
  #sentinel: Redis | undefined
  #turn = 0
  #master: string | undefined
  /** when another master was named, by `systemClock.monotonic()` */
  #changedAt = Number.NEGATIVE_INFINITY
  #isWatching = false

  constructor(options: Options) {
    this.#options = options
  }

  /** @param requestedAt  when the address of the master was requested */
  add(stream: Stream, requestedAt: number): void {
    this.#streams.add(stream)
    stream.once('close', () => {
      this.#streams.delete(stream)
      if (this.#streams.size === 0) this.#hangUp() // the connection to Sentinel would keep the process running
    })
    if (requestedAt <= this.#changedAt) systemClock.soon(() => stream.destroy()) // its address may be that of the previous master
    if (!this.#isWatching) void this.#watch()
  }

  async #watch(): Promise<void> {
    this.#isWatching = true
    for (; this.#streams.size > 0; await systemClock.sleep(QUERY_MS, { ref: false })) {
      const master = await this.#query()
      if (master === undefined || master === this.#master) continue
      if (this.#master !== undefined) {
        this.#changedAt = systemClock.monotonic()
        for (const stream of this.#streams) stream.destroy()
      }
      this.#master = master
    }
    this.#isWatching = false
  }

  /** @returns undefined: this Sentinel does not answer, or has no master of that name */
  async #query(): Promise<string | undefined> {
    try {
      this.#sentinel ??= this.#nextSentinel()
      const answer = await this.#sentinel.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', this.#options.name ?? '')
      return Array.isArray(answer) ? answer.join(' ') : undefined
    } catch {
      this.#hangUp()
      return undefined
    }
  }

  #nextSentinel(): Redis {
    const { sentinels = [], sentinelUsername, sentinelPassword, sentinelTLS, family, connectTimeout } = this.#options
    const endpoint = sentinels[this.#turn++ % sentinels.length]
    return new Redis({
      ...endpoint,
      ...(sentinelUsername === undefined ? {} : { username: sentinelUsername }),
      ...(sentinelPassword === undefined ? {} : { password: sentinelPassword }),
      ...(sentinelTLS === undefined ? {} : { tls: sentinelTLS }),
      ...(family === undefined ? {} : { family }),
      ...(connectTimeout === undefined ? {} : { connectTimeout }),
      retryStrategy: () => null,
      enableReadyCheck: false,
      commandTimeout: ANSWER_MS,
    }).on('error', () => undefined) // the call itself reports the error
  }

  #hangUp(): void {
    this.#sentinel?.disconnect()
    this.#sentinel = undefined
  }
}
