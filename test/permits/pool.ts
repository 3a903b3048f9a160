/** A fleet whose agent `poolbot` is fetched by workers of the pool `browsers`, a frontier, and a worker of the simplest kind. */
import { agentsOf, judgeRecord } from '@decorum/audit'
import { openFrontier } from '@decorum/client'
import { loadAgents } from '@decorum/config'
import type { Candidate, Outcome } from '@decorum/protocol'
import { expect, onTestFinished } from 'vitest'
import type { Site } from '../support/origins/index.ts'
import { type Answer, type FleetOptions, type PermitFleet, permitFleet, sharedPermitFleet, TIMES } from './fleet.ts'

const userAgent = (name: string): string => `Mozilla/5.0 (compatible; ${name}/1.0; +https://example.com/bot)`
export const AGENTS = [
  { name: 'poolbot', userAgent: userAgent('poolbot'), pool: 'browsers' },
  { name: 'journeybot', userAgent: userAgent('journeybot') },
]

export type Order = {
  permit: string
  id: string
  url: string
  method: string
  headers: [string, string][]
  leaseMs: number
  attempt: number
} & Record<string, unknown>

export type PoolFleet = PermitFleet & {
  enqueue(candidates: (Candidate & { id: string })[]): Promise<void>
  /** resolves with the outcome of each of these ids; none has two */
  outcomesOf(ids: string[]): Promise<Map<string, Outcome>>
  /** every outcome so far, in the order in which they came */
  readonly outcomes: Outcome[]
  takeOrders(query?: string): Promise<Order[]>
  /** waits for one order */
  takeOrder(): Promise<Order>
  /** sends what the order says and completes it, with its body */
  carryOut(order: Order): Promise<Answer>
  /** carries out orders until these have an outcome */
  workUntil(ids: string[], workers?: number): Promise<Map<string, Outcome>>
}

const withAgents = (options: FleetOptions): FleetOptions & { env: NodeJS.ProcessEnv } => ({
  ...options,
  env: { DECORUM_AGENTS: JSON.stringify(AGENTS), ...options.env },
})

/** A fleet of this test alone. */
export async function poolFleet(sites: Site[], options: FleetOptions = {}): Promise<PoolFleet> {
  const { env, ...more } = withAgents(options)
  return withFrontier(await permitFleet(sites, { ...more, env }), env.DECORUM_AGENTS)
}

/** One for several tests (fleet.ts). Each leaves no URL of a pool behind: the workers of the next one would be given it. */
export function sharedPoolFleet(options: FleetOptions = {}): (sites: Site[]) => Promise<PoolFleet> {
  const all = withAgents(options)
  const shared = sharedPermitFleet(all)
  return async (sites) => withFrontier(await shared(sites), all.env.DECORUM_AGENTS)
}

async function withFrontier(fleet: PermitFleet, agentsText: string | undefined): Promise<PoolFleet> {
  const frontier = await openFrontier({ redis: fleet.redis.url, patienceMs: 30_000 })
  const outcomes: Outcome[] = []
  const reading = (async () => {
    for await (const { outcome, ack } of frontier.outcomes({ group: 'pools' })) {
      outcomes.push(outcome)
      await ack().catch(() => undefined)
    }
  })().catch(() => undefined)
  onTestFinished(async () => {
    await frontier.close()
    await reading
  })
  const agents = loadAgents({
    agents: agentsText,
    defaultDelayMs: TIMES.delayMs,
    maxDelayMs: TIMES.capMs,
  })
  const audit = async () =>
    judgeRecord(await fleet.web.evidence(), {
      agents: agentsOf({ agents, profile: 'decorum', minDelayMs: TIMES.delayMs, maxDelayMs: TIMES.capMs }),
      robotsRetryMs: TIMES.robotsRetryMs,
    })
  const self: PoolFleet = {
    ...fleet,
    outcomes,
    audit,
    async expectPolite() {
      const report = await audit()
      expect(report.examples, 'violations that the sites recorded').toEqual([])
      return report
    },
    enqueue: async (candidates) => void (await frontier.enqueue(candidates)),
    async outcomesOf(ids) {
      await expect.poll(() => ids.filter((id) => outcomes.every((one) => one.id !== id))).toEqual([])
      return new Map(
        ids.map((id) => {
          const own = outcomes.filter((one) => one.id === id)
          expect(own, `outcomes of ${id}`).toHaveLength(1)
          return [id, own[0] as Outcome]
        }),
      )
    },
    async takeOrders(query = '') {
      const { status, body } = await fleet.call('POST', `/v1/pools/browsers/orders${query}`)
      expect(status, JSON.stringify(body)).toBe(200)
      return body.orders as Order[]
    },
    async takeOrder() {
      for (;;) {
        const [order] = await self.takeOrders('?waitMs=5000')
        if (order !== undefined) return order
      }
    },
    async carryOut({ permit, url, method, headers }) {
      const answer = await fleet.send(permit, url, { method, headers })
      if (answer === 'ended') return fleet.call('DELETE', `/v1/permits/${permit}`)
      if (answer === undefined) return fleet.complete(permit, { reason: 'reset', error: 'no answer' })
      return fleet.complete(permit, {
        status: answer.status,
        headers: [...answer.headers],
        body: Buffer.from(answer.body).toString('base64'),
      })
    },
    async workUntil(ids, workers = 1) {
      let isDone = false
      const work = async (): Promise<void> => {
        while (!isDone) for (const order of await self.takeOrders('?waitMs=1000')) await self.carryOut(order)
      }
      const working = Promise.all(Array.from({ length: workers }, work))
      try {
        return await self.outcomesOf(ids)
      } finally {
        isDone = true
        await working
      }
    },
  }
  return self
}
