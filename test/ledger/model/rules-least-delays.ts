/** The rules of the least delays that the fleet's configuration has: what is owed at least, also by a delay that began before a raise. */
import { agentOf, type Call, type Lease, type LeastDelay, type Model, ms, openUnlessInDoubt } from './state.ts'

export function leastDelays(m: Model, call: Call, version: number, told: [agent: string, delayMs: number][]): string {
  const { now } = openUnlessInDoubt(m, call)
  if (now === undefined) return 'doubt'
  const known = m.leastDelays?.version ?? 0
  if (version === known) return `kept ${known}`
  if (version < known) return `overtaken ${known}`
  const agents = told.map(([agent, least]): [string, LeastDelay] => {
    const before = m.leastDelays?.agents.get(agent)
    if (before === undefined) return [agent, { least, from: least, raisedAt: ms(now) }]
    if (before.least === least) return [agent, before]
    const running = now < before.raisedAt + before.least ? before.from : before.least
    return [agent, { least, from: Math.min(least, before.least, running), raisedAt: ms(now) }]
  })
  m.leastDelays = { version, agents: new Map([...(m.leastDelays?.agents ?? []), ...agents]) }
  return `written ${version}`
}

/** A request of another lane of a pace group owes the delay of the group. */
export function leastOf(m: Model, lane: string, kind: NonNullable<Lease['started']>['kind']): number {
  return kind === 'pace-group' ? 0 : (m.leastDelays?.agents.get(agentOf(lane))?.least ?? 0)
}

/** When no delay from before the raise can run any more. */
export function raiseOver(m: Model, lane: string): number {
  const known = m.leastDelays?.agents.get(agentOf(lane))
  return known === undefined ? 0 : known.raisedAt + known.least
}

export function raised(m: Model, lane: string, opens: number): number {
  const known = m.leastDelays?.agents.get(agentOf(lane))
  if (known === undefined) return opens
  return Math.max(opens, Math.min(opens + known.least - known.from, raiseOver(m, lane)))
}
