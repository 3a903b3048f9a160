/**
 * Limits the robots fetches that this process orders at once: up to the limit of a token, and shared among tokens like the slots of a
 * fetcher. A fetch ends when the ledger has an answer, or when its order and its lease have expired without one.
 */

import type { Ledger } from '@decorum/ledger'
import { Shares } from '@decorum/politeness'
import type { Timer } from '@decorum/protocol'
import type { Token } from './tokens.ts'

/** How often the fetches in progress are checked. One that has lasted long is checked after each quarter of its age. */
const CHECK_MS = 100
const OF_ITS_TIME = 0.25

type InFlight = {
  origin: string
  groups: readonly [string]
  version: number
  wasFetching: boolean
  orderedAt: number
  /** an order that has not started by then never will */
  startsBy: number
  /** time of the next check; like the two above, on clock.monotonic() */
  checkAt: number
}

type Place = { kind: 'place'; leave: () => void }
export type Full = { kind: 'full'; why: string }
export type RobotsRoom = ReturnType<typeof robotsRoom>

type RoomOptions = {
  ledger: Pick<Ledger, 'partitionOf' | 'robotsStates' | 'clock'>
  /** how long the order of a claimed lane lasts, ms */
  reserveMs: number
  /** number of fetch slots of the whole fleet */
  slots: () => number
  /** whether Redis is short of memory */
  isLow: () => boolean
}

export function robotsRoom({ ledger, reserveMs, slots, isLow }: RoomOptions) {
  const { clock } = ledger
  const shares = new Shares(clock, 1)
  const inFlight = new Map<string, InFlight>()
  const ofToken = new Map<string, number>()
  let timer: Timer | undefined

  const end = (one: InFlight): void => {
    if (!inFlight.delete(one.origin)) return
    shares.leave(one.groups)
    const [group] = one.groups
    const left = (ofToken.get(group) ?? 1) - 1
    if (left > 0) ofToken.set(group, left)
    else ofToken.delete(group)
  }
  const check = async (): Promise<void> => {
    const now = clock.monotonic()
    const due = [...inFlight.values()].filter(({ checkAt }) => checkAt <= now)
    const byPartition = Map.groupBy(due, ({ origin }) => ledger.partitionOf(origin))
    for (const [partition, some] of byPartition) {
      // While Redis is unavailable, the entries stay.
      const origins = some.map(({ origin }) => origin)
      const known = await ledger.robotsStates(partition, origins).catch(() => undefined)
      if (known === undefined) continue
      for (const [at, one] of some.entries()) {
        const { state, version = 0 } = known[at] ?? {}
        const isFetching = state?.question !== undefined
        const isOver = version !== one.version || (!isFetching && (one.wasFetching || now > one.startsBy))
        one.wasFetching ||= isFetching
        one.checkAt = now + (now - one.orderedAt) * OF_ITS_TIME
        if (isOver) end(one)
      }
    }
  }
  const checkLater = (): void => {
    timer ??= clock.timeout(() => {
      void check().finally(() => {
        timer = undefined
        if (inFlight.size > 0) checkLater()
      })
    }, CHECK_MS)
    timer.unref()
  }
  return {
    /**
     * Reserves a place for the robots fetch of an origin; call its `leave` if nothing is ordered. A fetch in progress is not counted again.
     * @param version  version of the rules known so far
     */
    take({ name, maxRobotsFetches = Number.POSITIVE_INFINITY }: Token, origin: string, version: number): Place | Full {
      if (inFlight.has(origin)) return { kind: 'place', leave() {} }
      if (isLow()) return { kind: 'full', why: 'Redis is nearly full: no robots.txt is fetched that no URL waits for' }
      shares.size = Math.max(1, slots())
      const group = `token:${name}`
      const own = ofToken.get(group) ?? 0
      if (own >= maxRobotsFetches) return { kind: 'full', why: `${own} robots fetches of this token are under way` }
      if (shares.taken >= shares.size || shares.beyond([group]) !== undefined)
        return { kind: 'full', why: 'the robots fetches of this token have their share of the fetch slots' }
      const orderedAt = clock.monotonic()
      const one: InFlight = {
        origin,
        groups: [group],
        version,
        wasFetching: false,
        orderedAt,
        startsBy: orderedAt + reserveMs,
        checkAt: orderedAt + CHECK_MS,
      }
      inFlight.set(origin, one)
      ofToken.set(group, own + 1)
      shares.take(one.groups)
      checkLater()
      return { kind: 'place', leave: () => end(one) }
    },
    shares,
    stop: () => clock.cancel(timer),
  }
}
