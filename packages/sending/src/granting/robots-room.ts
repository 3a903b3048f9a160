/**
 * How many robots fetches this process orders at once: as many as a token may, and shared among tokens like the slots of a fetcher. One
 * ends when the ledger has an answer, or when its order and its lease have ended without.
 */

import type { Ledger } from '@decorum/ledger'
import { Shares } from '@decorum/politeness'
import type { Timer } from '@decorum/protocol'
import type { Token } from './tokens.ts'

/** How often is looked whether they have ended, while there are some. One that has lasted for long is looked at each quarter of its time. */
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
  /** when it is looked at next; these three by clock.monotonic() */
  lookAt: number
}

type Place = { kind: 'place'; leave: () => void }
export type Full = { kind: 'full'; why: string }
export type RobotsRoom = ReturnType<typeof robotsRoom>

type RoomOptions = {
  ledger: Pick<Ledger, 'partitionOf' | 'robotsStates' | 'clock'>
  /** how long the order of a claimed lane lasts, ms */
  reserveMs: number
  /** of the fleet's fetchers */
  slots: () => number
  /** Redis has little memory left */
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
      // While Redis is away they stay.
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
     * A place for the robots fetch of an origin, to be left when it is not ordered; none where one of it is under way already.
     * @param version  of the rules that are known
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
