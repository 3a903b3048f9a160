/**
 * Acknowledgements are gathered for a moment and sent as one XACK. While the Redis of one stream is unavailable, other streams
 * go on; callers of that stream get an error, and their acknowledgements are sent again until Redis has them.
 */

import type { RedisLink } from '@decorum/ledger'
import type { Clock } from '@decorum/protocol/time'
import { within } from '@decorum/protocol/within'
import { CALL_MS, FrontierUnavailableError } from './errors.ts'

/** How long an acknowledgement is repeated before its caller gets an error, ms: connections reconnect one by one. */
const COMING_BACK_MS = 2_000
const AGAIN_MS = 100
const OWED_AGAIN_MS = 1_000
/** Most ids in one XACK. */
const MOST = 500

type Waiting = { id: string; onStored: () => void; resolve: () => void; reject: (error: Error) => void }
/** The acknowledgements of one group in one stream. `owed`: to be sent again; while there are any, the stream counts as unavailable. */
type Line = { stream: string; group: string; waiting: Waiting[]; owed: Waiting[]; busy: boolean }

export class Acknowledger {
  /** the clock of the frontier */
  readonly clock: Clock
  readonly #redis: RedisLink
  readonly #lines = new Map<string, Line>()
  #idle: (() => void)[] = []

  constructor(redis: RedisLink, clock: Clock) {
    this.clock = clock
    this.#redis = redis
  }

  /**
   * @param onStored  called when Redis has the acknowledgement, possibly long after this has thrown
   * @throws FrontierUnavailableError when Redis does not answer: it is sent again later; until then the entry may be delivered again
   */
  ack(stream: string, group: string, id: string, onStored = (): void => undefined): Promise<void> {
    const line = this.#lineOf(stream, group)
    return new Promise((resolve, reject) => {
      line.waiting.push({ id, onStored, resolve, reject })
      if (line.owed.length > 0)
        this.#fail(line, line.waiting.splice(0), 'Redis does not answer; those before are still being sent')
      else if (!line.busy) {
        line.busy = true
        this.clock.soon(() => void this.#flush(line))
      }
    })
  }

  /** Resolves when no caller is waiting any more. */
  idle(): Promise<void> {
    return this.#isIdle() ? Promise.resolve() : new Promise((resolve) => this.#idle.push(resolve))
  }

  #isIdle = (): boolean => [...this.#lines.values()].every(({ busy }) => !busy)

  #lineOf(stream: string, group: string): Line {
    const key = `${stream} ${group}`
    let line = this.#lines.get(key)
    if (line === undefined) {
      line = { stream, group, waiting: [], owed: [], busy: false }
      this.#lines.set(key, line)
    }
    return line
  }

  async #flush(line: Line): Promise<void> {
    while (line.waiting.length > 0) await this.#send(line, line.waiting.splice(0, MOST))
    line.busy = false
    if (this.#isIdle()) for (const resolve of this.#idle.splice(0)) resolve()
  }

  /** Tries again for COMING_BACK_MS, which is safe because acknowledging twice has no effect. */
  async #send(line: Line, list: Waiting[]): Promise<void> {
    const giveUpAt = this.clock.monotonic() + COMING_BACK_MS
    for (;;) {
      try {
        await this.#sendOnce(line, list)
        for (const { resolve } of list) resolve()
        return
      } catch (error) {
        if (this.clock.monotonic() < giveUpAt) {
          await this.clock.sleep(AGAIN_MS)
          continue
        }
        const isFirst = line.owed.length === 0
        this.#fail(line, [...list, ...line.waiting.splice(0)], error)
        if (isFirst) void this.#catchUp(line)
        return
      }
    }
  }

  async #sendOnce({ stream, group }: Line, list: Waiting[]): Promise<void> {
    const ids = list.map(({ id }) => id)
    await within(this.clock, this.#redis.xack(stream, group, ...ids), CALL_MS)
    for (const { onStored } of list) onStored()
  }

  #fail(line: Line, list: Waiting[], why: unknown): void {
    const failed = new FrontierUnavailableError('outcomes could not be acknowledged', why)
    for (const one of list) {
      line.owed.push(one)
      one.reject(failed)
    }
  }

  /** Sends everything owed, and tries until that has succeeded or the connection is closed for good. */
  async #catchUp(line: Line): Promise<void> {
    while (line.owed.length > 0 && this.#redis.status !== 'end') {
      await this.clock.sleep(OWED_AGAIN_MS, { ref: false })
      const some = line.owed.slice(0, MOST)
      const isSent = await this.#sendOnce(line, some).then(
        () => true,
        () => false,
      )
      if (isSent) line.owed.splice(0, some.length)
    }
  }
}
