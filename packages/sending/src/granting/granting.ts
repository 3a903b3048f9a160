/** Grants turns to callers that bring their own URLs. Start at `openLines`. */
import { randomUUID } from 'node:crypto'
import type { Agent, Agents } from '@decorum/config'
import type { PaceGroups } from '@decorum/politeness'
import { once, release } from '../index.ts'
import { attempt, forbidden, type Granted, type GrantingTools } from './attempt.ts'
import { Origins } from './origins.ts'
import { Problem } from './problem.ts'
import { mayBe, type Token } from './tokens.ts'
import { Lines } from './waiting.ts'

export type GrantingOptions = Pick<GrantingTools, 'ledger' | 'robots' | 'fetchers' | 'addressOf' | 'whyUnreachable'> & {
  config: { agents: Agents; paceGroups: PaceGroups; ROBOTS_RETRY_MS?: number | undefined }
}

export function grantingTools({ config, ...given }: GrantingOptions): GrantingTools {
  const { ledger } = given
  return {
    ...given,
    id: randomUUID().slice(0, 8),
    agents: config.agents,
    groups: config.paceGroups,
    origins: new Origins(ledger, config.ROBOTS_RETRY_MS),
    reporter: () => once,
    now: ({ origin }) => ledger.now(ledger.partitionOf(origin)),
  }
}

/** @param marginMs  how much longer the lease lasts in the ledger than for its caller */
export function openLines(tools: GrantingTools, marginMs: number): Lines {
  const lines: Lines = new Lines({
    clock: tools.ledger.clock,
    attempt: (wish, leaseMs) => attempt(wish, leaseMs + marginMs, tools),
    async release({ turn }: Granted) {
      const { own, paceLeases } = turn.leases
      await release(tools.ledger, [own, ...paceLeases])
      lines.ended(own.agent, own.origin, 0)
    },
    refusedAlready({ agent, origin, path, url }) {
      const known = tools.origins.robots.atIntake(agent, origin, path)
      return known && forbidden(known, url)
    },
  })
  return lines
}

/**
 * Returns the agent that the caller names, or the first that it may use.
 * @throws Problem
 */
export function agentOf(name: string | undefined, token: Token, { list, find }: Agents): Agent {
  const agent = name === undefined ? list.find(({ key }) => mayBe(token, key)) : find(name)
  if (agent === undefined) throw new Problem('unknown-agent', `agents are: ${list.map((one) => one.name).join(', ')}`)
  if (!mayBe(token, agent.key)) throw new Problem('forbidden', `this token is not for the agent ${agent.name}`)
  return agent
}
