/** Crawlers of others on the same sites with the same delay, one after the other. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { round } from '../frame/figures.ts'
import { judge } from './judge.ts'
import { startSites } from './sites.ts'
import { usageOf } from './usage.ts'
import { between, endsOf, inParts, partsOf } from './window.ts'

const PYTHON = '/usr/bin/python3'

type Peer = { name: string; isHere(): boolean; command(list: string, delayS: string): [string, string[]] }
export const PEERS: Peer[] = [
  {
    name: 'Scrapy',
    isHere: () => spawnSync(PYTHON, ['-c', 'import scrapy']).status === 0,
    command: (list, delay) => [PYTHON, [join(import.meta.dirname, 'peer.scrapy.py'), list, delay]],
  },
  {
    name: "Crawlee's HttpCrawler",
    isHere: () => true,
    command: (list, delay) => [process.execPath, [join(import.meta.dirname, 'peer.crawlee.ts'), list, delay]],
  },
]

/** A crawler of others for a while, then it is ended. */
export async function peerOn({ name, command }: Peer, folder: string, warmMs: number): Promise<string[]> {
  const delayMs = 1_000
  const sites = await startSites(folder, 1_000, 1_000)
  const list = join(folder, 'urls.txt')
  const urls = Array.from({ length: 120 }, (_, n) => sites.origins.map((origin) => `${origin}/page-${n}`)).flat()
  await writeFile(list, urls.join('\n'))
  const [program, args] = command(list, String(delayMs / 1_000))
  const child: ChildProcess = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'], cwd: folder })
  const gone = once(child, 'exit')
  try {
    await sleep(warmMs) // it reads its list, and asks for rules
    const marks = await inParts(30, () => ({ at: Date.now(), cpu: usageOf(child.pid as number).cpuMicros }))
    const [before, after] = endsOf(marks)
    const visits = await sites.visits()
    const { pages, perSecond, ratios, lateMs, early } = judge(visits, delayMs, { from: before.at, to: after.at })
    const parts = partsOf(marks, (window) => judge(visits, delayMs, window))
    const late = [lateMs.p50, lateMs.p99].map((ms) => round(ms, 0))
    const rate = between(perSecond, parts.perSecond)
    const cpu = between((after.cpu - before.cpu) / pages, parts.cpuPerPage)
    return [name, rate, ratios.all.toFixed(3), ...late, String(early), cpu]
  } finally {
    child.kill('SIGKILL')
    await gone
    await sites.stop()
  }
}
