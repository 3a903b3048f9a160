/** operate: an operation of an operator on one origin, and the list of operations. */

import { type Deadline, FOREVER } from '@decorum/protocol'
import { type RedisLink, withDeadline } from '../index.ts'
import { type Keys, OPERATION, type Scripts } from '../stored.ts'
import { callView } from './calls.ts'
import type { Operation, OperationRecord } from './types.ts'

/** Longest delay that an operator can set. */
const MAX_DELAY_MS = 31 * 86_400_000
const MAX_TEXT = 512

/** @param agents  keys of the agents whose lanes of the origin are affected at once */
export async function operate(scripts: Scripts, operation: Operation, agents: string[]): Promise<void> {
  // Bounded for every caller: an operation with a number that Redis cannot represent would be half done.
  const value = operation.action === 'delay' ? bounded('delayMs', operation.delayMs, MAX_DELAY_MS) : ''
  const until = 'until' in operation && operation.until !== undefined ? operation.until : FOREVER
  await writeOperation(scripts, { ...operation, value, till: bounded('until', until, FOREVER) }, agents)
}

type Written = { origin: string; action: string; value: string | number; till: number; by: string; reason: string }

export async function writeOperation(scripts: Scripts, operation: Written, agents: string[]): Promise<void> {
  const { origin, action, value, till, by, reason } = operation
  const texts = { by: by.slice(0, MAX_TEXT), reason: reason.slice(0, MAX_TEXT) }
  await callView(scripts, 'operate', { origin, action, value, till, ...texts }, agents)
}

/** @throws RangeError  for a value that is no number; nothing was done */
function bounded(name: string, value: number, most: number): number {
  if (Number.isNaN(value)) throw new RangeError(`${name}: a number is needed`)
  return Math.min(Math.max(value, 0), most)
}

/** The latest operations, newest first. */
export async function listOperations(
  redis: RedisLink,
  keys: Keys,
  most: number,
  deadline: Deadline,
): Promise<OperationRecord[]> {
  const rows = await withDeadline(redis.xrevrange(keys.operations, '+', '-', 'COUNT', most), deadline, 'operations')
  return rows.map(([, fields]) => operationOf(fields ?? []))
}

function operationOf(fields: string[]): OperationRecord {
  const values = new Map<string, string>()
  for (let at = 0; at < fields.length; at += 2) values.set(fields[at] ?? '', fields[at + 1] ?? '')
  const text = (name: string): string => values.get(name) ?? ''
  return {
    at: Number(text(OPERATION.at)),
    by: text(OPERATION.by),
    action: text(OPERATION.action),
    origin: text(OPERATION.origin),
    value: text(OPERATION.value),
    until: Number(text(OPERATION.till)),
    reason: text(OPERATION.reason),
    ...(values.has(OPERATION.group) ? { crawl: text(OPERATION.crawl), group: text(OPERATION.group) } : {}),
  }
}
