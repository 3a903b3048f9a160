/**
 * Distributes slots among groups, so that no group has all of them for long. Requests are grouped in several ways (by their sender, by the
 * domain they go to …); a request may take a slot when its group in each way may. Pure, except for the clock that is passed in.
 *
 * A group is within its share while it holds less than `size / groups` (groups of the last seconds count), and never less than one slot:
 * then it takes any free slot. A group beyond its share takes idle slots, as long as the number that stays free is what the others, each
 * within its share, recently needed at once. So idle slots are used, and a returning group finds a slot; a group that holds its slots for
 * long (sites that accept a connection and never answer) ends up with the slots that no other group needs.
 *
 * Not taken: equal quotas, which leave most of a quiet fleet unused, and taking slots away, which would break off requests. A new group
 * gets the next slot that becomes free.
 */

import type { Clock } from '@decorum/protocol/time'

/** A group that neither held a slot nor waited for this long no longer counts. */
const FORGET_MS = 10_000
/** How fast the recent demand for slots decays: halved in this time, and dropped below LEAST. */
const HALF_MS = 4_000
const LEAST = 1 / 64

type Group = { held: number; waiting: number; seenAt: number }
/** The groups of one request, one in each way of grouping, always in the same order. */
export type Groups = readonly string[]
/** Number of slots that a group holds. */
export type Share = { group: string; held: number }

export class Shares {
  readonly #ways: Way[] = []
  readonly #clock: Pick<Clock, 'monotonic'>
  #size: number
  #taken = 0

  constructor(clock: Pick<Clock, 'monotonic'>, size: number) {
    this.#clock = clock
    this.#size = size
  }

  get size(): number {
    return this.#size
  }
  set size(size: number) {
    this.#size = size
    for (const way of this.#ways) way.resize(size)
  }
  get taken(): number {
    return this.#taken
  }

  /** @returns the first group of a request that holds its share while others need the free slots; undefined: the request may take a slot */
  beyond(groups: Groups): string | undefined {
    const now = this.#clock.monotonic()
    const left = this.#size - this.#taken - 1
    return groups.find((group, at) => this.#way(at).isBeyond(group, left, now))
  }

  take(groups: Groups): void {
    this.#taken++
    this.#change(groups, 1, 0)
  }
  leave(groups: Groups): void {
    this.#taken--
    this.#change(groups, -1, 0)
  }
  /** A request begins to wait for a slot (1), or stops waiting (-1). */
  wait(groups: Groups, by: 1 | -1 = 1): void {
    this.#change(groups, 0, by)
  }

  /** The `count` groups that hold most slots, among those that the predicate accepts. */
  most(count: number, isWanted: (group: string) => boolean = () => true): Share[] {
    return this.#ways
      .flatMap((way) => way.held())
      .filter(({ group }) => isWanted(group))
      .toSorted((one, other) => other.held - one.held)
      .slice(0, count)
  }

  #change(groups: Groups, held: number, waiting: number): void {
    const now = this.#clock.monotonic()
    let at = 0
    for (const group of groups) this.#way(at++).change(group, held, waiting, now)
  }

  #way(at: number): Way {
    this.#ways[at] ??= new Way(this.#size)
    return this.#ways[at]
  }
}

/** One way of grouping. */
class Way {
  readonly #groups = new Map<string, Group>()
  #size: number
  /** share of one group */
  #share: number
  /** `within`: slots held by groups within their shares; `wanted`: the same with their waiting requests, up to the share */
  #within = 0
  #wanted = 0
  /** the recent maximum of `wanted`, as of `peakAt` */
  #peak = 0
  #peakAt = 0
  #sweptAt = 0

  constructor(size: number) {
    this.#size = size
    this.#share = size
  }

  resize(size: number): void {
    this.#size = size
    this.#divide()
  }

  isBeyond(name: string, left: number, now: number): boolean {
    const group = this.#groups.get(name)
    const known = group === undefined ? this.#groups.size + 1 : this.#groups.size
    if (group === undefined || known === 1 || group.held < this.#share) return false
    const reserved = this.#peakNow(now) - this.#within
    return reserved > LEAST && left < reserved
  }

  change(name: string, held: number, waiting: number, now: number): void {
    let group = this.#groups.get(name)
    if (group === undefined) {
      group = { held: 0, waiting: 0, seenAt: now }
      this.#groups.set(name, group)
      this.#divide()
    }
    this.#count(group, -1)
    group.held += held
    group.waiting += waiting
    group.seenAt = now
    this.#count(group, 1)
    this.#peak = this.#peakNow(now)
    this.#peakAt = now
    if (now - this.#sweptAt > FORGET_MS / 10) this.#sweep(now)
  }

  held(): Share[] {
    return [...this.#groups].flatMap(([group, { held }]) => (held > 0 ? [{ group, held }] : []))
  }

  /** Groups beyond their share do not count: no slots are kept for their demand. */
  #count({ held, waiting }: Group, by: 1 | -1): void {
    if (held > this.#share) return
    this.#within += by * held
    this.#wanted += by * Math.min(held + waiting, this.#share)
  }

  #peakNow(now: number): number {
    if (this.#peak <= this.#wanted) return Math.min(this.#size, this.#wanted)
    const lately = this.#peak * 2 ** ((this.#peakAt - now) / HALF_MS)
    return Math.min(this.#size, Math.max(this.#wanted, lately))
  }

  #sweep(now: number): void {
    this.#sweptAt = now
    for (const [name, { held, waiting, seenAt }] of this.#groups)
      if (held === 0 && waiting === 0 && now - seenAt > FORGET_MS) this.#groups.delete(name)
    this.#divide()
  }

  #divide(): void {
    const share = Math.max(1, Math.floor(this.#size / Math.max(1, this.#groups.size)))
    if (share === this.#share) return
    const beyond = Math.max(0, this.#peak - this.#wanted)
    this.#share = share
    this.#within = 0
    this.#wanted = 0
    for (const group of this.#groups.values()) this.#count(group, 1)
    this.#peak = this.#wanted + beyond // slots that one group alone has held are not needed by others
  }
}
