/** What a process and those that it started have used, as the kernel counts it (proc(5), `/proc/PID/stat`). */
import { readdirSync, readFileSync } from 'node:fs'

/** Of `getconf CLK_TCK`, which Linux gives to programs on every machine. */
const TICK_MICROS = 10_000
const PAGE_BYTES = 4_096

type Stat = { pid: number; parent: number; ticks: number; pages: number }

export type Usage = { cpuMicros: number; rssBytes: number }

export function usageOf(pid: number): Usage {
  const all = stats()
  const tree = new Set([pid])
  // Parents have smaller numbers than their children until the numbers begin anew; another round costs nothing.
  for (let round = 0; round < 3; round++) for (const one of all) if (tree.has(one.parent)) tree.add(one.pid)
  const ours = all.filter((one) => tree.has(one.pid))
  return {
    cpuMicros: ours.reduce((sum, { ticks }) => sum + ticks * TICK_MICROS, 0),
    rssBytes: ours.reduce((sum, { pages }) => sum + pages * PAGE_BYTES, 0),
  }
}

function stats(): Stat[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        // The second field is a name in parentheses that may hold anything; what follows it is counted from field 3.
        const text = readFileSync(`/proc/${name}/stat`, 'latin1')
        const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
        const at = (field: number): number => Number(fields[field - 3])
        return [{ pid: Number(name), parent: at(4), ticks: at(14) + at(15), pages: at(24) }]
      } catch {
        return [] // it has ended meanwhile
      }
    })
}
