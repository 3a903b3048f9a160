/** `decorum audit`: logs of many kinds, each of one, two and four times a size, judged by a process of its own. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { MIXES, writeMix } from './audit/mixes.ts'
import { round, table } from './frame/figures.ts'
import type { BenchSection } from './frame/one.ts'

const MILLION = 1_000_000
const MIB = 1024

type Told = { ms: number; cpuMs: number; maxRssKb: number; requests: number }

export async function run({ short }: { short: boolean }): Promise<BenchSection> {
  const sizes = short ? [2_500, 5_000, 10_000] : [MILLION / 4, MILLION / 2, MILLION]
  const folder = await mkdtemp(join(tmpdir(), 'decorum-bench-audit-'))
  const rows: string[][] = []
  const loads: number[] = []
  try {
    for (const mix of MIXES) {
      const told: Told[] = []
      for (const lines of sizes) {
        const file = join(folder, 'log')
        await writeMix(mix, lines, file)
        told.push(await audit(file))
        loads.push(loadavg()[0] as number)
      }
      const [one, two, four] = told as [Told, Told, Told]
      rows.push([
        mix.name,
        ...told.map(({ cpuMs }) => round(cpuMs / 1_000, 2)),
        `${round(two.cpuMs / one.cpuMs, 1)} × · ${round(four.cpuMs / one.cpuMs, 1)} ×`,
        round(four.ms / 1_000, 1),
        round(four.maxRssKb / MIB, 0),
      ])
      process.stdout.write(`${rows.at(-1)?.join(' | ')}\n`)
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  const lines = table(
    [
      'a log of',
      ...sizes.map((size) => `${round(size, 0)} lines, CPU s`),
      'growth at 2 and 4 times',
      'all of them, s',
      'RSS at most, MiB',
    ],
    rows,
  )
  lines.push(
    '',
    `Each log is judged by a process of its own. CPU seconds count both cores, the garbage collector's work included; the \`s\` behind them is wall time of the longest log. The machine was shared: its load was ${round(Math.min(...loads), 1)} to ${round(Math.max(...loads), 1)} on ${availableParallelism()} cores, this bench included.`,
  )
  return { name: 'Audit: lines judged, and how that grows', lines }
}

async function audit(file: string): Promise<Told> {
  const child = fork(join(import.meta.dirname, 'audit', 'child.ts'), [file])
  let told: Told | undefined
  child.on('message', (message) => {
    told = message as Told
  })
  await once(child, 'exit')
  if (told === undefined) throw new Error('the auditing process ended without a result')
  return told
}
