/** A console on a real Redis, and a ledger beside it in which a test makes things happen as a fleet would. */
import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { loadAgents } from '@decorum/config'
import { main } from '@decorum/console'
import { MAX_ITEMS, type ReservedLane, type StoreItem } from '@decorum/ledger'
import { type LedgerWithViews, openLedgerWithViews } from '@decorum/ledger/views'
import { effectiveDelay } from '@decorum/politeness'
import type { Outcome } from '@decorum/protocol'
import { parseRobots, policies, step } from '@decorum/robots'
import type { RunningService } from '@decorum/runtime'
import { expect } from 'vitest'
import { PATIENT } from '../support/patient.ts'

export const AGENTS = JSON.stringify([
  { name: 'Bot-Web', fallbacks: ['bot'], userAgent: 'Bot-Web/1.0 (+https://example.com/bot)' },
  { name: 'slow', userAgent: 'slow/1.0 (+https://example.com/bot)', minDelayMs: 5_000 },
])
const agents = loadAgents({ agents: AGENTS, defaultDelayMs: 1_000, maxDelayMs: 10_000 })

export type FleetForTest = {
  base: string
  ledger: LedgerWithViews
  get(path: string): Promise<{ status: number; body: unknown }>
  patch(origin: string, body: unknown): Promise<{ status: number; body: unknown }>
  store(origin: string, ids: string[], agent?: string): Promise<void>
  /** one URL in a lane of each */
  storeCrowd(origins: string[]): Promise<void>
  /** this lane, which must be due */
  reserve(origin: string, agent?: string): Promise<ReservedLane>
  /** the fleet asks for robots.txt and is answered */
  record(origin: string, robots: string | Buffer, status?: number): Promise<void>
  outcomes(ids: string[], meta?: Record<string, unknown>): Promise<void>
  close(): Promise<void>
}

export async function fleetForTest(
  redisUrl: string,
  env: Record<string, string> = {},
  partitions = 1,
  times: Parameters<typeof main>[1] = {},
): Promise<FleetForTest> {
  const settings = {
    REDIS_URL: redisUrl,
    DECORUM_PARTITIONS: String(partitions),
    DECORUM_AGENTS: AGENTS,
    LOG_LEVEL: 'silent',
    ...env,
  }
  const service: RunningService = await main(settings, times)
  const ledger = await openLedgerWithViews({ redis: redisUrl, partitions, ...PATIENT })
  for (const partition of ledger.tags.keys()) await endOfHold(ledger, partition)
  const base = `http://127.0.0.1:${service.port}`
  const read = async (answer: Response) => ({ status: answer.status, body: await answer.json() })

  const reserve = async (origin: string, agent = 'bot-web'): Promise<ReservedLane> => {
    const request = { limit: 1, aheadMs: 0, inFlightLimit: 1_000, peek: 1, lane: { agent, origin } }
    const taken = await ledger.reserve(ledger.partitionOf(origin), request)
    if (taken.kind !== 'reserved' || taken.lanes[0] === undefined) throw new Error(`${agent} ${origin} is not due`)
    return taken.lanes[0]
  }

  return {
    base,
    ledger,
    reserve,
    get: async (path) => read(await fetch(base + path)),
    patch: async (origin, body) =>
      read(
        await fetch(`${base}/v1/origins/${encodeURIComponent(origin)}`, {
          method: 'PATCH',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        }),
      ),
    async store(origin, ids, agent = 'bot-web') {
      await ledger.store(
        ledger.partitionOf(origin),
        ids.map((id) => itemOf(origin, id, agent)),
      )
    },
    async storeCrowd(origins) {
      for (const [partition, some] of Map.groupBy(origins, (origin) => ledger.partitionOf(origin))) {
        for (let from = 0; from < some.length; from += MAX_ITEMS) {
          const items = some.slice(from, from + MAX_ITEMS).map((origin) => itemOf(origin, 'a', 'bot-web'))
          await ledger.store(partition, items)
        }
      }
    },
    async record(origin, robots, status = 200) {
      const lane = await reserve(origin)
      const { agent, fence } = lane
      const permit = await ledger.start({
        agent,
        origin,
        fence,
        kind: 'robots',
        version: lane.robots.version,
        delayMs: 1_000,
      })
      expect(permit.kind).toBe('granted')
      const octets = typeof robots === 'string' ? Buffer.from(robots) : robots
      const hash = createHash('sha256').update(octets).digest('hex')
      const now = ledger.now(ledger.partitionOf(origin))
      const good = status < 300 ? { hash } : {}
      const state = step(lane.robots.state, { kind: 'answered', status, jitter: 0, ...good }, now)
      const rules = status < 300 ? parseRobots(octets, { policy: policies.decorum }) : undefined
      const delays = agents.list.map((one) => ({ agent: one.key, ...effectiveDelay(one, rules) }))
      const body = status < 300 ? { body: { hash, bytes: octets } } : {}
      const recorded = await ledger.record({
        agent,
        origin,
        fence,
        state,
        ...body,
        delays,
        delayMs: 1_000,
        elapsedMs: 0,
        tookMs: 80,
      })
      expect(recorded).toBe('completed')
    },
    async outcomes(ids, meta = {}) {
      const origin = 'http://done.example'
      const items = ids.map((id): StoreItem => {
        const outcome: Outcome = {
          id,
          url: `${origin}/${id}`,
          agent: 'Bot-Web',
          kind: 'refused',
          reason: 'no-contact',
          at: Date.now(),
          attempts: 0,
          meta,
        }
        return { outcome }
      })
      for (let from = 0; from < items.length; from += 200)
        await ledger.store(ledger.partitionOf(origin), items.slice(from, from + 200))
    },
    async close() {
      await ledger.close()
      await service.stop()
    },
  }
}

function itemOf(origin: string, id: string, agent: string): StoreItem {
  const pending = { id: `${agent} ${origin} ${id}`, path: `/${id}`, hops: 0, priority: 'normal' as const }
  return { lane: { agent, origin }, pending: { ...pending, expiresAt: Date.now() + 3_600_000 } }
}

/** An empty Redis grants nothing for its first second. */
async function endOfHold(ledger: LedgerWithViews, partition: number): Promise<void> {
  for (;;) {
    const { holdUntil, now } = await ledger.viewPartition(partition)
    if (holdUntil === undefined) return
    await sleep(holdUntil - now)
  }
}
