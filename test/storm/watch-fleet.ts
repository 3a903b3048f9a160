/** What the processes of a flooded fleet use: memory, and processor time of their event loops at a stretch. */

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { now as clock } from '@decorum/cli/synthetic-web'
import { linkTo, memoryOf, type RedisMemory } from '@decorum/ledger'
import { systemClock } from '@decorum/protocol'
import type { Worker } from './worker.ts'

/** Most of one stretch of time, by process; a process that others start is told apart by its parent's name. */
export type Use = {
  rssBytes: Map<string, number>
  loopMs: Map<string, number> /** processor time */
  cpuMs: Map<string, number>
  redisShare: number
  redisBytes: number
}

export type FleetWatch = {
  /** variables of the processes to be watched */
  env: NodeJS.ProcessEnv
  begin(workers: readonly Worker[]): void
  /** what was used between two instants, ms of clock() */
  between(from: number, until: number): Use
  /** processes that ended in between and are there again */
  readonly replaced: string[]
  end(): void
}

const LOOK_MS = 250
const REPORTER = fileURLToPath(new URL('report-loops.mjs', import.meta.url))

type Sample = { at: number; name: string; rssBytes: number; cpuMs: number }

export function watchFleet(folder: string, redisUrl: string): FleetWatch {
  const file = join(folder, 'loops.ndjson')
  const samples: Sample[] = []
  const redis: (RedisMemory & { at: number })[] = []
  const names = new Map<number, string>()
  const pidOf = new Map<string, number>()
  const replaced: string[] = []
  const link = linkTo(redisUrl, { away: 'wait' })
  let timer: NodeJS.Timeout | undefined
  const look = (workers: readonly Worker[]): void => {
    for (const worker of workers)
      for (const [nth, pid] of worker.pids().toReversed().entries()) {
        const name = nth === 0 ? worker.name : `${worker.name}'s child`
        const before = pidOf.get(name)
        if (before !== undefined && before !== pid) replaced.push(name)
        pidOf.set(name, pid)
        names.set(pid, name)
        const rssBytes = rssOf(pid)
        if (rssBytes !== undefined) samples.push({ at: clock(), name, rssBytes, cpuMs: cpuOf(pid) })
      }
    void memoryOf(link, { clock: systemClock, ms: LOOK_MS * 40 }).then(
      (memory) => redis.push({ ...memory, at: clock() }),
      () => undefined,
    )
  }
  return {
    env: { STORM_LOOPS: file, NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import ${REPORTER}` },
    begin(workers) {
      timer = setInterval(look, LOOK_MS, workers)
    },
    between(from, until) {
      const within = <T extends { at: number }>(list: T[]): T[] => list.filter(({ at }) => at >= from && at <= until)
      const use: Use = { rssBytes: new Map(), loopMs: new Map(), cpuMs: new Map(), redisShare: 0, redisBytes: 0 }
      for (const { name, rssBytes } of within(samples)) raise(use.rssBytes, name, rssBytes)
      for (const [name, some] of Map.groupBy(within(samples), (one) => one.name))
        use.cpuMs.set(name, (some.at(-1)?.cpuMs ?? 0) - (some[0]?.cpuMs ?? 0))
      const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
      const stretches = lines
        .filter(Boolean)
        .map((line) => JSON.parse(line) as { pid: number; at: number; cpuMs: number })
      for (const { pid, cpuMs } of within(stretches)) raise(use.loopMs, names.get(pid) ?? String(pid), cpuMs)
      for (const { share, used } of within(redis)) {
        use.redisShare = Math.max(use.redisShare, share)
        use.redisBytes = Math.max(use.redisBytes, used)
      }
      return use
    },
    replaced,
    end() {
      clearInterval(timer)
      link.disconnect()
    },
  }
}

const raise = (most: Map<string, number>, name: string, value: number): void =>
  void most.set(name, Math.max(most.get(name) ?? 0, value))

function rssOf(pid: number): number | undefined {
  try {
    const kib = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    return kib === undefined ? undefined : Number(kib) * 1_024
  } catch {
    return undefined // it has just ended
  }
}

const TICK_MS = 10

function cpuOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [user, system] = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 13)
      .map(Number)
    return ((user ?? 0) + (system ?? 0)) * TICK_MS
  } catch {
    return 0
  }
}
