/**
 * Crawlers of others, unchanged: the same recording sites, bare with their best published settings, and through `decorum guard`, as one
 * process and as three that share nothing, over HTTP and HTTPS. The sites' own record is judged. The full form writes docs/peers.md.
 *
 * `--only scrapy,curl`, `--through yes|no`, `--processes 1,3`, `--scheme http,https`, `--seeds 5` or `3-5`; peers/install.ts installs what is run.
 */
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { commit, conditions } from './frame/machine.ts'
import type { BenchOptions, BenchSection } from './frame/one.ts'
import type { Said, Wanted } from './peers/inside.ts'
import { summaryOf, tableOf, writePage } from './peers/page.ts'
import { type Row, readResults, withRows, writeResults } from './peers/results.ts'
import { ADDRESS, HOSTS } from './peers/sites.ts'
import { PEERS } from './peers/table.ts'

/** A network, names and processes of its own; all of them end with it. */
const ALONE = ['--user', '--map-root-user', '--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc']
const PREPARE =
  'ip link set lo up && mount --bind "$1" /etc/hosts && { [ ! -e /etc/resolv.conf ] || mount --bind "$2" /etc/resolv.conf; } && shift 2 && exec "$@"'
/** Whatever is there of these is enough for the short form. */
const SHORT_PEERS = ['curl', 'wget']

export async function run({ short, ...options }: BenchOptions): Promise<BenchSection> {
  const name = 'Crawlers of others, bare and through Decorum'
  if (spawnSync('unshare', [...ALONE, 'ip', 'link', 'set', 'lo', 'up']).status !== 0)
    return { name, lines: ['Not measured: it needs a network of its own, which unshare and ip make on Linux.'] }
  const wanted = wantedOf(short, options)
  const rows: Row[] = []
  const missing: Record<string, string> = {}
  for await (const said of runInside(wanted)) {
    if ('row' in said) {
      rows.push(said.row)
      if (short) continue
      // At once, so that a run that is ended keeps what it has measured
      writeResults({ ...readResults(), rows: withRows(readResults().rows, [said.row]) })
      process.stderr.write(`${JSON.stringify(said.row)}\n`)
    } else missing[said.peer] = said.missing
  }
  const skipped = Object.entries(missing).map(([key, why]) => `${nameOf(key)} was not run: ${why}.`)
  const lines = [...tableOf(rows), ...skipped]
  if (short) return { name, lines }
  process.stdout.write(`\n${lines.join('\n')}\n`)
  const before = readResults()
  const stillMissing = { ...before.missing, ...missing }
  for (const { peer } of rows) delete stillMissing[peer]
  const when = `${new Date().toISOString().slice(0, 10)}, commit ${commit()}`
  writeResults({ conditions: await conditions(), when, missing: stillMissing, rows: before.rows })
  writePage()
  // Of all runs so far, this one among them
  return {
    name,
    lines: [
      ...summaryOf(before.rows),
      '',
      'By crawler, number of processes and scheme: [docs/peers.md](../docs/peers.md).',
    ],
  }
}

function wantedOf(short: boolean, { only, through, processes, scheme, seeds }: Omit<BenchOptions, 'short'>): Wanted {
  const listOf = (text: string | undefined): string[] => text?.split(',').filter((word) => word !== '') ?? []
  const unknown = listOf(only).filter((key) => !PEERS.some((peer) => peer.key === key))
  if (unknown.length > 0)
    throw new Error(`there is no peer ${unknown.join(', ')}; there are ${PEERS.map(({ key }) => key).join(', ')}`)
  const schemes = listOf(scheme).filter((one) => one === 'http' || one === 'https')
  return {
    only: only === undefined && short ? SHORT_PEERS : listOf(only),
    through: through === undefined ? [false, true] : [through === 'yes'],
    processes: processes === undefined ? (short ? [1] : [1, 3]) : listOf(processes).map(Number),
    schemes: schemes.length === 0 ? (short ? ['https'] : ['http', 'https']) : schemes,
    seeds: seedsOf(seeds ?? (short ? '1' : '5')),
    short,
  }
}

/** @param text  so many, or from one to another: `5`, `3-5` */
function seedsOf(text: string): number[] {
  const [from, to] = text.includes('-') ? text.split('-').map(Number) : [1, Number(text)]
  return Array.from({ length: (to ?? 0) - (from ?? 1) + 1 }, (_, n) => n + (from ?? 1))
}

const nameOf = (key: string): string => PEERS.find((peer) => peer.key === key)?.name ?? key

async function* runInside(wanted: Wanted): AsyncGenerator<Said> {
  const folder = mkdtempSync(join(tmpdir(), 'decorum-network-'))
  const [hosts, resolv] = [join(folder, 'hosts'), join(folder, 'resolv.conf')]
  writeFileSync(hosts, [`127.0.0.1 localhost ${hostname()}`, `${ADDRESS} ${HOSTS.join(' ')}`, ''].join('\n'))
  // Names that are not in hosts are refused at once
  writeFileSync(resolv, 'nameserver 127.0.0.1\noptions timeout:1 attempts:1\n')
  const inside = [process.execPath, join(import.meta.dirname, 'peers/inside.ts'), JSON.stringify(wanted)]
  const child = spawn('unshare', [...ALONE, '/bin/sh', '-c', PREPARE, 'sh', hosts, resolv, ...inside], {
    stdio: ['pipe', 'pipe', 'inherit'], // it ends when this process does, and its standard input with it
  })
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  try {
    for await (const line of createInterface(child.stdout)) yield JSON.parse(line) as Said
    const code = await ended
    if (code !== 0) throw new Error(`the bench inside its network ended with ${code}`)
  } finally {
    child.kill()
    rmSync(folder, { recursive: true, force: true })
  }
}
