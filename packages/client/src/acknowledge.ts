/** Acknowledgements, gathered for a moment: one XACK for all that came meanwhile. */
import type { Redis } from 'ioredis'
import { within } from './connection.ts'
import { FrontierUnavailableError } from './errors.ts'

const CALL_MS = 10_000
/** Ids in one XACK. */
const MOST = 500

type Waiting = { stream: string; group: string; id: string; resolve: () => void; reject: (error: Error) => void }

export class Acknowledger {
  readonly #redis: Redis
  #waiting: Waiting[] = []
  #busy = false
  #idle: (() => void)[] = []

  constructor(redis: Redis) {
    this.#redis = redis
  }

  /** @throws FrontierUnavailableError when Redis does not answer; the entry then comes again, later */
  ack(stream: string, group: string, id: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ stream, group, id, resolve, reject })
      if (!this.#busy) {
        this.#busy = true
        setImmediate(() => void this.#flush())
      }
    })
  }

  async #flush(): Promise<void> {
    while (this.#waiting.length > 0) {
      const some = this.#waiting.splice(0, MOST)
      const byGroup = Map.groupBy(some, ({ stream, group }) => `${stream} ${group}`)
      await Promise.all([...byGroup.values()].map((list) => this.#send(list)))
    }
    this.#busy = false
    for (const resolve of this.#idle.splice(0)) resolve()
  }

  /** Resolves when nothing waits any more. */
  idle(): Promise<void> {
    return this.#busy ? new Promise((resolve) => this.#idle.push(resolve)) : Promise.resolve()
  }

  async #send(list: Waiting[]): Promise<void> {
    const [first] = list
    if (first === undefined) return
    try {
      await within(CALL_MS, this.#redis.xack(first.stream, first.group, ...list.map(({ id }) => id)))
      for (const { resolve } of list) resolve()
    } catch (error) {
      const failed = new FrontierUnavailableError('outcomes could not be acknowledged', error)
      for (const { reject } of list) reject(failed)
    }
  }
}
