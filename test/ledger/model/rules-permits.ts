/** The rules of grant, extend and claim. */
import { opensAt } from './rules-delays.ts'
import { gateOf } from './rules-gates.ts'
import { heldLeases, WHAT_OF } from './rules-leases.ts'
import { countRequest } from './rules-policies.ts'
import { acquireBoth, lookFor } from './rules-queues.ts'
import { takeTurn } from './rules-turns.ts'
import {
  askerOf,
  type Call,
  crawlOf,
  isSecondary,
  kindBeside,
  type List,
  laneOf,
  listIn,
  type Model,
  ms,
  NO_LIST,
  open,
  openUnlessInDoubt,
  originAt,
  originOf,
  SETTINGS,
} from './state.ts'

export type Granting = {
  lane: string
  paceLane: string | undefined
  version: number
  delayMs: number
  leaseMs: number
  by: string
  crawl: string | undefined
}
export type Granted = {
  kind: string
  waitMs?: number
  gate?: string
  holder?: string
  /** of a crawl that is held */
  version?: number
  own?: { fence: number; delayMs: number }
  pace?: { fence: number; delayMs: number }
}

export function grant(m: Model, call: Call, requests: Granting[]): Granted[] {
  const { now, held } = open(m, call)
  return requests.map(({ lane, paceLane, version, delayMs, leaseMs, by: asker, crawl }): Granted => {
    const { aheadMs } = m
    const by = askerOf(asker, crawl)
    const list = crawl === undefined ? undefined : listIn('q', crawl)
    const asked = { lanes: [lane], kind: 'permit' as const, delayMs, by, leaseMs, judged: version, aheadMs, list }
    const own = lookFor(m, now, held, asked)
    if (own.gate === 'blocked' || own.gate === 'rules-changed' || own.gate === 'refetch') return { kind: own.gate }
    if (own.gate === 'crawl-held' && crawl !== undefined) return crawlHeld(m, crawl)
    const given = acquireBoth(m, now, held, own, asked, paceLane)
    if ('until' in given) {
      const lease = m.lanes.get(lane)?.lease
      const holder = lease === undefined || !given.isOwn ? undefined : isSecondary(lease) ? 'permit' : 'url'
      return {
        kind: 'wait',
        waitMs: Math.max(1, given.until - now),
        gate: given.gate ?? 'delay',
        ...(own.gate !== undefined || holder === undefined ? {} : { holder }),
      }
    }
    if (crawl !== undefined && m.hasCrawls) takeTurn(m, lane, crawl)
    countRequest(m, originOf(lane), now)
    const { notBefore, ...leases } = given
    return { kind: 'granted', waitMs: notBefore - now, ...leases }
  })
}

/** The answer has the record of the crawl. */
const crawlHeld = (m: Model, crawl: string) => ({
  kind: 'crawl-held' as const,
  version: m.crawls.get(crawl)?.version ?? 0,
})

export type Extended = { kind: string; stop?: string; leftMs?: number } | 'doubt'

/** All of the leases, or none of them. With 0 ms they stay as they are. */
export function extend(
  m: Model,
  call: Call,
  asked: { lane: string; fence: number; version: number | undefined }[],
  leaseMs: number,
): Extended {
  const { now, held } = openUnlessInDoubt(m, call)
  if (now === undefined || held === undefined) return 'doubt'
  const leases = heldLeases(m, 'extend', asked, now)
  if (leases === undefined) return { kind: 'stale' }
  let stop: string | undefined
  for (const [at, { lane, fence, version }] of asked.entries()) {
    const lease = leases[at]
    const kind = lease?.started?.kind
    if (stop !== undefined || (kind !== 'page' && kind !== 'permit' && kind !== 'host')) continue
    const [judged, list] = [kind === 'host' ? undefined : version, kind === 'page' ? lease?.list : undefined]
    stop = gateOf(m, { what: WHAT_OF[kind], moment: 'underWay', lane, now, held, judged, fence, list })?.gate
  }
  const left = leases.map((lease) => {
    if (leaseMs > 0) lease.ends = lease.looked = now + leaseMs
    return lease.ends - now
  })
  return { kind: 'extended', leftMs: Math.min(...left), ...(stop === undefined ? {} : { stop }) }
}

export type Claiming = { lane: string; paceLane: string | undefined; list: List | undefined }
export type Claimed =
  | { kind: 'blocked' }
  | { kind: 'crawl-held'; version: number }
  | { waitMs: number; gate: string }
  | { fence: number; notBefore: number; version: number }
const LEAST_WAIT_MS = 50

/** A reservation for a robots fetch that no URL of the lane asks for. */
export function claim(m: Model, call: Call, { lane: name, paceLane, list }: Claiming): Claimed {
  const { now, held } = open(m, call)
  const wait = (until: number, gate: string): Claimed => ({ waitMs: Math.max(LEAST_WAIT_MS, until - now), gate })
  const freeAt = (one: string): { at: number; gate: string; isFree: boolean } => {
    const lane = m.lanes.get(one)
    if (lane?.lease !== undefined) {
      const owed = lane.lease.started?.delayMs ?? 0
      return { at: now + Math.max(owed, LEAST_WAIT_MS), gate: 'lane-busy', isFree: false }
    }
    const at = opensAt(m, one, lane?.ownDue ?? lane?.due ?? 0, now)
    return { at, gate: 'delay', isFree: at <= now + m.aheadMs }
  }
  const closed = gateOf(m, { what: 'permitRobots', moment: 'reserve', lane: name, now, held, list })
  if (closed?.gate === 'blocked') return { kind: closed.gate }
  if (closed?.gate === 'crawl-held' && list !== undefined) return crawlHeld(m, crawlOf(list))
  if (closed !== undefined) return wait(closed.till, closed.gate)
  const own = freeAt(name)
  if (!own.isFree) return wait(own.at, own.gate)
  if (paceLane !== undefined) {
    const what = kindBeside(paceLane) === 'host' ? 'host' : 'group'
    const beside = gateOf(m, { what, moment: 'grant', lane: paceLane, now, held })
    if (beside !== undefined) return wait(beside.till, beside.gate)
    const free = freeAt(paceLane)
    if (!free.isFree) return wait(free.at, 'pace-group')
  }
  const claimed = laneOf(m, name)
  delete claimed.due
  delete claimed.ownDue
  m.fence = Math.max(m.fence, Math.floor(now * 1_000)) + 1
  const ends = ms(now + SETTINGS.reserveMs)
  const notBefore = Math.max(own.at, now)
  claimed.lease = { fence: m.fence, list: list ?? NO_LIST, notBefore, ends, looked: ends }
  return { fence: m.fence, notBefore, version: originAt(m, originOf(name)).version }
}
