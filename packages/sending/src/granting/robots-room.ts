/**
 * Limits the robots fetches that this process orders at once: up to the limit of a token, and shared among tokens like the slots of a
 * fetcher. A fetch ends when the ledger has an answer, or when its order and its lease have expired without one.
 */

import type { Ledger } from '@decorum/ledger'
import { Shares } from '@decorum/politeness'
import type { Timer } from '@decorum/protocol'
import type { Token } from './tokens.ts'

/** How often the fetches in progress are checked. One that has lasted long is checked after each quarter of its age. */
const LOOK_MS = 100
const OF_ITS_TIME = 0.25

type InFlight = {
  origin: string
  groups: readonly [string]
  version: number
  wasFetching: boolean
  orderedAt: number
  /** its order is started by then, or never */
  startsBy: number
  /** when it is checked next; these three by clock.monotonic() */
  lookAt: number
}

type Place = { kind: 'place'; leave: () => void }
export type Full = { kind: 'full'; why: string }
export type RobotsRoom = ReturnType<typeof robotsRoom>

type RoomOptions = {
  ledger: Pick<Ledger, 'partitionOf' | 'robotsStates' | 'clock'>
  /** how long the order of a claimed lane lasts, ms */
  reserveMs: number
  /** number of the fleet's fetchers */
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
  const look = async (): Promise<void> => {
    const now = clock.monotonic()
    const due = [...inFlight.values()].filter(({ lookAt }) => lookAt <= now)
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
        one.lookAt = now + (now - one.orderedAt) * OF_ITS_TIME
        if (isOver) end(one)
      }
    }
  }
  const lookLater = (): void => {
    timer ??= clock.timeout(() => {
      void look().finally(() => {
        timer = undefined
        if (inFlight.size > 0) lookLater()
      })
    }, LOOK_MS)
    timer.unref()
  }
  return {
    /**
     * Reserves a place for the robots fetch of an origin, to be freed if nothing is ordered; undefined where a fetch is in progress.
     * @param version  of the rules known so far
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
        lookAt: orderedAt + LOOK_MS,
      }
      inFlight.set(origin, one)
      ofToken.set(group, own + 1)
      shares.take(one.groups)
      lookLater()
      return { kind: 'place', leave: () => end(one) }
    },
    shares,
    stop: () => clock.cancel(timer),
  }
}
