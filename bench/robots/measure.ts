/**
 * Timed loops and held memory, both sides of a comparison by turns. Time is the processor time of this thread: what other
 * processes of a shared machine take does not count.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { median } from '../frame/figures.ts'

/** Milliseconds of processor time that this thread has taken. */
function now(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

/** Kept alive and looked at, so that no compiler finds the work useless. */
let sink = 0

/**
 * Calls per second of each task: warmed up, then timed in turns, median of three.
 * @param tasks  each call gets a running number and returns something truthy or falsy
 */
export function rates<Name extends string>(
  tasks: Record<Name, (i: number) => unknown>,
  ms: number,
): Record<Name, number> {
  const names = Object.keys(tasks) as Name[]
  const measured = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>
  for (const name of names) timed(tasks[name], ms / 3)
  for (let turn = 0; turn < 3; turn++) for (const name of names) measured[name].push(timed(tasks[name], ms))
  return Object.fromEntries(names.map((name) => [name, median(measured[name])])) as Record<Name, number>
}

function timed(task: (i: number) => unknown, ms: number): number {
  const startedAt = now()
  let calls = 0
  for (let batch = 1; ; batch = Math.min(batch * 2, 4_096)) {
    for (let i = 0; i < batch; i++) if (task(calls + i)) sink++
    calls += batch
    const elapsed = now() - startedAt
    if (elapsed >= ms) return (calls / elapsed) * 1_000
    if (elapsed / calls > 0.05) batch = 0.5 // slow calls are counted one by one
  }
}

/** Milliseconds of one call, over as many as fit into `ms` (three at least), after a few that do not count. */
export function perCallMs(task: () => unknown, ms: number): number {
  for (let i = 0; i < 3; i++) if (task()) sink++
  const startedAt = now()
  let calls = 0
  for (; calls < 3 || now() - startedAt < ms; calls++) if (task()) sink++
  return (now() - startedAt) / calls
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** KB that one object holds: heap and octets outside it, over `count` of them, after two collections. */
export function heldKb(make: () => unknown, count: number): number {
  const held: unknown[] = Array.from({ length: count })
  const before = used()
  for (let i = 0; i < count; i++) held[i] = make()
  const after = used()
  if (held.length === 0 || sink < 0) throw new Error('nothing was held')
  return (after - before) / count / 1_024
}

function used(): number {
  collect()
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/**
 * Milliseconds of one call of each task: the fastest of many short rounds, taken by turns, so that what neighbours of a
 * shared machine take away falls on all of them, and in some round on none.
 */
export function fastestMs(tasks: readonly (() => unknown)[], rounds: number): number[] {
  const fastest = tasks.map(() => Infinity)
  const calls = tasks.map((task) => Math.max(1, Math.ceil(0.3 / perCallMs(task, 1))))
  for (let round = 0; round < rounds; round++)
    tasks.forEach((task, i) => {
      const startedAt = performance.now()
      for (let n = calls[i] as number; n > 0; n--) if (task()) sink++
      fastest[i] = Math.min(fastest[i] as number, (performance.now() - startedAt) / (calls[i] as number))
    })
  return fastest
}
