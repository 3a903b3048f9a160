/** What a process has used so far, as Linux says it; elsewhere NaN. */
import { readFileSync } from 'node:fs'

const MS_A_TICK = 10

function ofProcess(pid: number | undefined, file: 'stat' | 'status'): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}

/** Processor time, user and system, ms: on a busy machine it says more than the clock. */
export function cpuMs(pid: number | undefined): number {
  const fields = ofProcess(pid, 'stat').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * MS_A_TICK
}

/** Resident memory, KiB. */
export const rssKib = (pid: number | undefined): number =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(ofProcess(pid, 'status'))?.[1])
