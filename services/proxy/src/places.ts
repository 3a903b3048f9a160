/**
 * Places in line of clients that have hung up: kept for some seconds, for the same request of the same client. Most crawlers retry after a
 * time-out, and one that lost its place with its connection would never be served at a site with a long line.
 */

import type { Clock, Timer } from '@decorum/protocol'
import { type Answer, type Caller, GoneError } from '@decorum/sending/granting'

/** How long a place is kept for an absent client. Clients that retry do so within a few seconds. */
const KEPT_MS = 10_000

type Place = { caller: Caller; work: Promise<Answer>; timer?: Timer }

/** The client's side of a wait: it closes when its client has gone. */
export type Waiting = {
  readonly closed: boolean
  once(event: 'close', listener: () => void): unknown
  off(event: 'close', listener: () => void): unknown
}

export class Places {
  readonly #clock: Clock
  readonly #away = new Map<string, Place[]>()
  /** places whose clients are connected */
  readonly #taken = new Set<Place>()
  #isClosed = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Waits in line until there is an answer, in the earlier place of the same request, if it had one.
   * @param key  identifies the client and its request
   * @throws GoneError when the client hangs up; and errors of `enter`
   */
  async wait(key: string, client: Waiting, enter: (caller: Caller) => Promise<Answer>): Promise<Answer> {
    const place = this.#takeBack(key) ?? this.#open(enter)
    const { promise, reject } = Promise.withResolvers<never>()
    const leave = (): void => {
      this.#keep(key, place)
      reject(new GoneError())
    }
    if (client.closed) leave()
    else client.once('close', leave)
    this.#taken.add(place)
    if (this.#isClosed) this.#end(place)
    promise.catch(() => undefined)
    try {
      return await Promise.race([place.work, promise])
    } finally {
      client.off('close', leave)
      this.#taken.delete(place)
    }
  }

  #open(enter: (caller: Caller) => Promise<Answer>): Place {
    const caller: Caller = { isGone: false }
    const work = enter(caller)
    work.catch(() => undefined)
    return { caller, work }
  }

  #takeBack(key: string): Place | undefined {
    const away = this.#away.get(key)
    const place = away?.shift()
    if (away?.length === 0) this.#away.delete(key)
    if (place === undefined) return undefined
    this.#clock.cancel(place.timer)
    place.caller.isAway = false
    place.caller.onBack?.()
    return place
  }

  #keep(key: string, place: Place): void {
    const away = this.#away.get(key) ?? []
    this.#away.set(key, away)
    away.push(place)
    place.caller.isAway = true
    const give = (): void => {
      this.#clock.cancel(place.timer)
      const at = away.indexOf(place)
      if (at >= 0) away.splice(at, 1)
      if (away.length === 0 && this.#away.get(key) === away) this.#away.delete(key)
      if (at < 0) return // a client waits in it again
      this.#end(place)
    }
    place.timer = this.#clock.timeout(give, KEPT_MS)
    void place.work.then(give, give) // if the work failed, there is no turn to release
  }

  /** Ends all waits. No place is kept from now on. */
  close(): void {
    this.#isClosed = true
    for (const place of [...this.#taken, ...[...this.#away.values()].flat()]) this.#end(place)
    this.#away.clear()
  }

  #end({ caller, timer }: Place): void {
    this.#clock.cancel(timer)
    caller.isGone = true
    caller.onGone?.()
  }
}
