/** Turns an operator's request into an operation of the ledger, which carries it out. */

import type { Agents } from '@decorum/config'
import { thatAnswer } from '@decorum/ledger'
import type { LedgerWithViews, OperationRecord } from '@decorum/ledger/views'
import { abortAfter, isForever, systemClock } from '@decorum/protocol'
import { defined } from '@decorum/runtime'
import { Problem } from '@decorum/runtime/http-api'
import { OPERATIONS, type Operation } from './answers.ts'
import type { Action } from './questions.ts'

/** How long a drop may wait for a lane in flight, ms: the lease may last longer, but the caller should not have to wait. */
const DROP_MS = 20_000

/**
 * @param by  the operator, if the request does not name one
 * @returns the number of URLs that a drop has ended; a Problem when nothing, or not all, could be done
 */
export async function act(
  ledger: LedgerWithViews,
  agents: Agents,
  origin: string,
  action: Action,
  by: string,
): Promise<{ dropped?: number } | Problem> {
  const keys = keysOf(agents, 'agent' in action ? action.agent : undefined)
  if (keys instanceof Problem) return keys
  const base = { origin, by: action.by ?? by, reason: action.reason }
  switch (action.action) {
    case 'pause':
    case 'block':
    case 'delay': {
      const { now } = await ledger.viewOrigin(origin, [])
      const until = endOf(action, now)
      if (until instanceof Problem) return until
      if (action.action !== 'delay')
        await ledger.operate({ ...base, action: action.action, ...defined({ until }) }, keys)
      else if (until !== undefined)
        await ledger.operate({ ...base, action: 'delay', delayMs: action.delayMs, until }, keys)
      return {}
    }
    case 'restore-delay':
      // In the ledger this is the operation `delay`, with a delay of 0 that has already ended
      await ledger.operate(
        { ...base, action: 'delay', delayMs: 0, until: (await ledger.viewOrigin(origin, [])).now },
        keys,
      )
      return {}
    case 'resume':
    case 'unblock':
    case 'refetch':
      await ledger.operate({ ...base, action: action.action }, keys)
      return {}
    case 'drop':
      return drop(ledger, keys, base)
    default:
      return action satisfies never
  }
}

async function drop(
  ledger: LedgerWithViews,
  keys: string[],
  { origin, by, reason }: { origin: string; by: string; reason: string },
): Promise<{ dropped: number } | Problem> {
  const signal = abortAfter(systemClock, DROP_MS)
  const drops = await Promise.allSettled(keys.map((agent) => ledger.dropBacklog({ agent, origin }, by, reason, signal)))
  const failed = drops.find((one) => one.status === 'rejected')
  if (failed !== undefined) {
    if (!signal.aborted) throw failed.reason
    const message = 'a lane stayed busy: what was dropped so far has its outcomes; ask again for the rest'
    return new Problem(503, 'lane-busy', message)
  }
  return { dropped: drops.reduce((n, one) => n + (one.status === 'fulfilled' ? one.value : 0), 0) }
}

function endOf({ until, forMs }: { until?: number | undefined; forMs?: number | undefined }, now: number) {
  const end = forMs === undefined ? until : now + forMs
  if (end === undefined || end > now) return end
  return new Problem(400, 'bad-request', 'until: has passed already')
}

/** The key of the agent with this name, or without a name the keys of all agents. */
export function keysOf(agents: Agents, name: string | undefined): string[] | Problem {
  if (name === undefined) return agents.list.map(({ key }) => key)
  const agent = agents.find(name)
  return agent === undefined ? unknownAgent(agents) : [agent.key]
}

export function unknownAgent({ list }: Pick<Agents, 'list'>): Problem {
  const known = list.map((agent) => agent.name).join(', ')
  return new Problem(400, 'unknown-agent', `agent: there is ${known}`)
}

/** Actions of operators, newest first, over all partitions or for one origin. */
export async function listOperations(ledger: LedgerWithViews, most: number, origin?: string): Promise<Operation[]> {
  if (origin !== undefined) {
    const all = await ledger.operations(ledger.partitionOf(origin), AMONG)
    return all.flatMap((one) => (one.origin === origin ? operationsOf(one) : [])).slice(0, most)
  }
  const all = await thatAnswer(ledger.tags.map((_, partition) => ledger.operations(partition, most)))
  return all
    .flat()
    .sort((a, b) => b.at - a.at)
    .slice(0, most)
    .flatMap(operationsOf)
}

/** The actions on one origin are searched among this many latest actions of its partition. */
const AMONG = 1_000
const ENDS: ReadonlySet<string> = new Set(['pause', 'block', 'delay'])

function operationsOf({ action: written, origin, until, value, ...rest }: OperationRecord): Operation[] {
  const word = written === 'delay' && value === '0' ? 'restore-delay' : written
  const action = OPERATIONS.find((one) => one === word)
  if (action === undefined) return [] // written by a newer ledger
  return [
    {
      action,
      ...rest,
      ...defined({
        origin: origin || undefined,
        until: ENDS.has(action) && !isForever(until) ? until : undefined,
        delayMs: action === 'delay' ? Number(value) : undefined,
        dropped: action === 'drop' ? Number(value) : undefined,
        unread: action === 'forget-reader' ? Number(value) : undefined,
      }),
    },
  ]
}
