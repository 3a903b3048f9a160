/**
 * A gateway and its fetchers in virtual time: the real ledger on a real Redis, the real judge and `decide`; only BullMQ and
 * the network are left out. Time goes on in ticks while there is work, and leaps to the next event when there is none.
 */

import { createHash } from 'node:crypto'
import type { Agent } from '@decorum/config'
import { type Decision, decide } from '@decorum/gateway/testing'
import { type Ledger, MAX_ITEMS, type ReservedLane, type StoreItem } from '@decorum/ledger'
import { effectiveDelay } from '@decorum/politeness'
import { robotsJudge } from '@decorum/politeness/admission'
import type { Order, Outcome } from '@decorum/protocol'
import { parseRobots, policies, step } from '@decorum/robots'
import { type Lateness, lateness } from './lateness.ts'
import type { Frontier, Web } from './web.ts'

/** Virtual ms between two looks at the lanes: the real dispatch looks every 5. */
const TICK_MS = 50
/** Calls on their way at once. */
const WIDTH = 4

export type Clock = { now: number }
export type Fleet = {
  tick(): Promise<void>
  readonly tally: Tally
}

export type Tally = {
  left: number //    URLs that have their outcome
  fetched: number
  disallowed: number
  robots: number // robots.txt learned
  /** lateness of lanes that opened while slots were free, or since slots are free again */
  free: Lateness
  /** lateness of all lanes, begun anew by the reader */
  all: Lateness
  /** calls of take that found lanes, and how many they found */
  takes: number
  taken: number
  /** what a site would complain of: two requests at once, or one before its silence was over */
  rude: number
}

type Visit = { order: Order; origin: number; endsAt: number }

export type FleetOptions = {
  ledger: Ledger
  agent: Agent
  clock: Clock
  web: Web
  frontier: Frontier
  slots: number
  /** URLs kept pending */
  window: number
}

export function simulatedFleet({ ledger, agent, clock, web, frontier, slots, window }: FleetOptions): Fleet {
  const judge = robotsJudge(ledger, undefined)
  const tally: Tally = {
    left: 0,
    fetched: 0,
    disallowed: 0,
    robots: 0,
    free: lateness(),
    all: lateness(),
    takes: 0,
    taken: 0,
    rude: 0,
  }
  const calendar = new Map<number, Visit[]>() // tick → exchanges that are over by then
  const opensAt = new Float64Array(web.origins) // the site's own book: when it may be visited again
  const waiting = new Uint32Array(web.origins) //   URLs that its lane holds
  const workSince = new Float64Array(web.origins) // when a URL came to a lane that held none
  let fullAt = 0 //  last instant at which no slot was free
  let peek = 1

  const start = async (order: Order): Promise<void> => {
    const { kind, agent: key, origin, fence, version, delayMs } = order
    const permit = await ledger.start({ kind, agent: key, origin, fence, version, delayMs })
    if (permit.kind !== 'granted') throw new Error(`start: ${JSON.stringify(permit)}`)
    const at = web.indexOf(origin)
    if (clock.now < (opensAt[at] as number)) tally.rude += 1
    const since = Math.max(opensAt[at] as number, workSince[at] as number)
    tally.all.add(clock.now - since)
    tally.free.add(clock.now - Math.max(since, fullAt))
    const endsAt = clock.now + web.exchangeMs()
    opensAt[at] = Number.POSITIVE_INFINITY
    const tick = Math.ceil(endsAt / TICK_MS)
    const visits = calendar.get(tick)
    const visit = { order, origin: at, endsAt }
    if (visits === undefined) calendar.set(tick, [visit])
    else visits.push(visit)
  }

  const end = async ({ order, origin: at, endsAt }: Visit): Promise<void> => {
    const { agent: key, origin, fence, delayMs } = order
    const elapsedMs = clock.now - endsAt
    opensAt[at] = endsAt + Math.max(agent.minDelayMs, web.delay(at) * 1_000) - 0.002 // instants have three decimals
    if (order.kind === 'robots') {
      const octets = web.robots(at)
      const hash = hashOf(octets)
      const state = step({}, { kind: 'answered', status: 200, hash, jitter: 0 }, clock.now)
      const delay = effectiveDelay(agent, rulesOf(agent, octets))
      const delays = [{ agent: agent.key, ...delay }]
      must(
        'completed',
        await ledger.record({
          agent: key,
          origin,
          fence,
          state,
          body: { hash, bytes: octets },
          delays,
          delayMs,
          elapsedMs,
        }),
      )
      tally.robots += 1
      return
    }
    const outcome = fetched(order)
    must(
      'completed',
      await ledger.complete({ agent: key, origin, fence, delayMs, load: { kind: 'normal' }, elapsedMs, outcome }),
    )
    noteLeft(at)
    tally.fetched += 1
  }

  const handOut = async (lanes: ReservedLane[]): Promise<void> => {
    tally.takes += 1
    tally.taken += lanes.length
    for (const { origin, robots, now } of lanes) judge.remember(origin, robots.state, now)
    const decisions: Decision[] = await Promise.all(
      lanes.map(async (lane) => {
        const { origin, now } = lane
        const { state } = lane.robots
        const rules = await judge.rules(agent, origin, state, now)
        return decide(lane, agent, {
          judge: (path) => judge.judge(agent, origin, path, state, rules, now),
          rules: rules === 'lost' ? undefined : rules,
          maxAttempts: 5,
          reserveMs: 30_000,
          wallNow: Date.now,
        })
      }),
    )
    const words = decisions
      .map(({ resolution }) => resolution)
      .filter(({ next, dropped }) => next.kind !== 'keep' || dropped.length > 0)
    if (words.length > 0) for (const told of await ledger.resolve(0, words)) must('completed', told)
    for (const { origin, dropped } of words) {
      for (const { kind } of dropped) {
        if (kind !== 'disallowed') throw new Error(`dropped as ${kind}`)
        noteLeft(web.indexOf(origin))
        tally.disallowed += 1
      }
    }
    peek = words.length > 0 ? 50 : 1
    await Promise.all(decisions.flatMap(({ order }) => (order === undefined ? [] : [start(order)])))
  }

  /** @returns ms until a lane opens; undefined: none waits, or no slot is free */
  const dispatch = async (): Promise<number | undefined> => {
    for (let width = 1; ; width = WIDTH) {
      const request = { limit: MAX_ITEMS, aheadMs: 0, inFlightLimit: slots, peek }
      let waitMs: number | undefined
      let waits = false
      await Promise.all(
        Array.from({ length: width }, async () => {
          const taken = await ledger.reserve(0, request)
          if (taken.kind === 'reserved') return handOut(taken.lanes)
          if (taken.why === 'slots-full') fullAt = clock.now
          else if (taken.why !== 'nothing-due') throw new Error(`reserve: ${taken.why}`)
          waits = true
          waitMs = taken.why === 'nothing-due' ? taken.waitMs : undefined
        }),
      )
      // 0: what was found had run down, and there is more behind it
      if (waits && waitMs !== 0) return waitMs
    }
  }

  const noteWork = (item: StoreItem): void => {
    if (!('lane' in item)) return
    const at = web.indexOf(item.lane.origin)
    if (waiting[at] === 0) workSince[at] = clock.now
    waiting[at] = (waiting[at] as number) + 1
  }
  const noteLeft = (at: number): void => {
    waiting[at] = (waiting[at] as number) - 1
    frontier.done(at)
    tally.left += 1
  }

  const feed = async (): Promise<void> => {
    while (frontier.left > 0) {
      const room = window - (web.urls - frontier.left - tally.left)
      const chunks = Array.from({ length: Math.min(WIDTH, Math.floor(room / MAX_ITEMS)) }, () =>
        frontier.next(MAX_ITEMS),
      )
      const full = chunks.filter((items) => items.length > 0)
      for (const item of full.flat()) noteWork(item)
      await Promise.all(full.map((items) => ledger.store(0, items)))
      if (full.length < WIDTH) return
    }
  }

  return {
    tally,
    async tick() {
      const tick = Math.round(clock.now / TICK_MS)
      const ended = calendar.get(tick) ?? []
      calendar.delete(tick)
      await Promise.all(ended.map(end))
      await feed()
      const waitMs = await dispatch()
      const nextEnd = Math.min(...calendar.keys())
      const nextDue = waitMs === undefined ? Number.POSITIVE_INFINITY : Math.ceil((clock.now + waitMs) / TICK_MS)
      const next = Math.min(nextEnd, nextDue)
      if (next !== Number.POSITIVE_INFINITY) clock.now = Math.max(tick + 1, next) * TICK_MS
      else if (tally.left < web.urls) throw new Error(`nothing to wait for, and ${web.urls - tally.left} URLs are left`)
    },
  }
}

function must<T>(wanted: T, got: T): void {
  if (wanted !== got) throw new Error(`the ledger said ${String(got)}`)
}

const hashes = new Map<Uint8Array, string>()
function hashOf(octets: Uint8Array): string {
  const hash = hashes.get(octets) ?? createHash('sha256').update(octets).digest('hex').slice(0, 32)
  hashes.set(octets, hash)
  return hash
}

const compiled = new Map<Uint8Array, ReturnType<typeof parseRobots>>()
function rulesOf(agent: Agent, octets: Uint8Array): ReturnType<typeof parseRobots> {
  const rules = compiled.get(octets) ?? parseRobots(octets, { policy: policies[agent.profile] })
  compiled.set(octets, rules)
  return rules
}

/** As large as a usual one. */
function fetched({ id, origin, path, agent, attempt }: Order): Outcome {
  const headers: [string, string][] = [
    ['Date', 'Fri, 20 Nov 2026 12:00:00 GMT'],
    ['Content-Type', 'text/html; charset=utf-8'],
    ['Content-Length', '1024'],
    ['Cache-Control', 'max-age=300'],
    ['ETag', '"5f1b-60c3a1d2e4f00"'],
  ]
  return {
    id,
    url: origin + path,
    agent,
    at: 0,
    attempts: attempt,
    kind: 'fetched',
    status: 200,
    headers,
    bytes: 1_024,
    truncated: '',
    digest: 'sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ',
    startedAt: 0,
    ms: 0,
    address: '192.0.2.1',
  }
}
