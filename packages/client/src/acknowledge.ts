/** Acknowledgements, gathered for a moment: one XACK for all that came meanwhile. A stream that does not answer holds up no other. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { RedisLink } from '@decorum/ledger'
import { within } from './connection.ts'
import { FrontierUnavailableError } from './errors.ts'

const CALL_MS = 10_000
/** After a restart of Redis one connection is back before the other: so long an acknowledgement is said again. */
const COMING_BACK_MS = 2_000
const AGAIN_MS = 100
/** Ids in one XACK. */
const MOST = 500

type Waiting = { id: string; resolve: () => void; reject: (error: Error) => void }

export class Acknowledger {
  readonly #redis: RedisLink
  /** by stream and group; there while a flush of it runs */
  readonly #waiting = new Map<string, Waiting[]>()
  #idle: (() => void)[] = []

  constructor(redis: RedisLink) {
    this.#redis = redis
  }

  /** @throws FrontierUnavailableError when Redis does not answer; the entry then comes again, later */
  ack(stream: string, group: string, id: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const key = `${stream} ${group}`
      const one = { id, resolve, reject }
      const list = this.#waiting.get(key)
      if (list !== undefined) list.push(one)
      else {
        this.#waiting.set(key, [one])
        setImmediate(() => void this.#flush(key, stream, group))
      }
    })
  }

  async #flush(key: string, stream: string, group: string): Promise<void> {
    const list = this.#waiting.get(key) ?? []
    while (list.length > 0) await this.#send(stream, group, list.splice(0, MOST))
    this.#waiting.delete(key)
    if (this.#waiting.size === 0) for (const resolve of this.#idle.splice(0)) resolve()
  }

  /** Resolves when nothing waits any more. */
  idle(): Promise<void> {
    return this.#waiting.size > 0 ? new Promise((resolve) => this.#idle.push(resolve)) : Promise.resolve()
  }

  /** Acknowledging twice is once, so a connection that is just coming back is waited for. */
  async #send(stream: string, group: string, list: Waiting[]): Promise<void> {
    const ids = list.map(({ id }) => id)
    const giveUpAt = performance.now() + COMING_BACK_MS
    for (;;) {
      try {
        await within(CALL_MS, this.#redis.xack(stream, group, ...ids))
        for (const { resolve } of list) resolve()
        return
      } catch (error) {
        if (performance.now() < giveUpAt) {
          await sleep(AGAIN_MS)
          continue
        }
        const failed = new FrontierUnavailableError('outcomes could not be acknowledged', error)
        for (const { reject } of list) reject(failed)
        return
      }
    }
  }
}
