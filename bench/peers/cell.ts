/** One run: a peer, bare or through Decorum, in so many processes, at sites of its own, whose record is judged. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { agentsOf, type Evidence, judgeRecord, readLogs, UnreadableLogError } from '@decorum/audit'
import { spawnWeb } from '@decorum/cli/synthetic-web'
import { isSetting } from '@decorum/config'
import type { Authority } from './authority.ts'
import type { Guard } from './guard.ts'
import type { Installed } from './install.ts'
import type { Row } from './results.ts'
import { type Arrival, shareOfAsked, shareOfSites } from './share.ts'
import { ADDRESS, type Arrangement, arrange, DELAY_MS } from './sites.ts'
import type { Peer } from './table.ts'

type Web = Awaited<ReturnType<typeof spawnWeb>>
export type Cell = { through: boolean; processes: number; scheme: 'http' | 'https'; seed: number; short: boolean }

/** The crawler is ended then: what it has done until then is judged. */
const MOST_MS = 25_000

const ports = new Set<number>()
const portOf = (web: Web): number => Number(new URL(web.origins.s0 as string).port)

/** The system gives a port again some time: at one of an earlier run the fleet would know the rules already. */
async function atNewPort(spawnSites: () => Promise<Web>): Promise<Web> {
  for (;;) {
    const web = await spawnSites()
    const port = portOf(web)
    if (!ports.has(port)) {
      ports.add(port)
      return web
    }
    await web.stop()
  }
}

/** @param guard  through which it goes; undefined: bare */
export async function measure(
  peer: Peer,
  installed: Installed,
  cell: Cell,
  { authority, guard }: { authority: Authority; guard: Guard | undefined },
): Promise<Row> {
  const folder = await mkdtemp(join(tmpdir(), 'decorum-peer-'))
  const record = join(folder, 'visits.ndjson')
  const arrangement = arrange(cell.seed, cell.short)
  const tls = cell.scheme === 'https' ? { tls: authority.ofSites } : {}
  const web = await atNewPort(() => spawnWeb({ sites: arrangement.sites, record, address: ADDRESS, ...tls }))
  const said: string[] = []
  let ended: Row['ended'] = 'itself'
  try {
    const port = portOf(web)
    const urls = arrangement.pages.map(({ host, path }) => `${cell.scheme}://${host}:${port}${path}`)
    const script = scriptFor(installed, urls, cell.processes, folder)
    const env = { ...(guard?.env ?? bareEnv(authority)), ...installed.env, PEER_DELAY_MS: String(DELAY_MS) }
    const child = spawn('/bin/sh', [script], { env, detached: true })
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece: Buffer) => said.push(piece.toString()))
    if (await endsWithin(child, MOST_MS + (peer.startMs ?? 0))) ended = 'cut'
    await web.flush()
    const arrivals = guard === undefined ? [] : await arrivalsAt(guard.arrivals, port)
    if (process.env.PEER_SHOW) process.stderr.write(`${said.join('')}\n`)
    const evidence = await readLogs([record]).catch(nothingAsked)
    return {
      ...rowOf(evidence, web.origins, arrangement, arrivals),
      ...about(peer, installed, cell),
      ended,
      load: Math.round(loadavg()[0] ?? 0),
    }
  } finally {
    await web.stop()
    if (process.env.PEER_KEEP) process.stderr.write(`kept: ${folder}\n`)
    else await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

const about = (peer: Peer, { version }: Installed, { through, processes, scheme, seed }: Cell) => ({
  peer: peer.key,
  version,
  through,
  processes,
  scheme,
  seed,
})

/** All processes of the peer at once, each with its part of the list and a folder. */
function scriptFor({ command }: Installed, urls: string[], processes: number, folder: string): string {
  const quoted = command.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ')
  const lines = Array.from({ length: processes }, (_, part) => {
    const own = join(folder, `part-${part}`)
    mkdirSync(own)
    const list = join(own, 'urls')
    writeFileSync(
      list,
      urls
        .filter((_url, n) => n % processes === part)
        .join('\n')
        .concat('\n'),
    )
    return `PEER_PART=${part} PEER_FOLDER='${own}' ${quoted} '${list}' &`
  })
  const path = join(folder, 'peer.sh')
  writeFileSync(path, [...lines, 'wait', ''].join('\n'))
  return path
}

/** Of this process, without settings of Decorum and other proxies. */
export const ownEnv = (): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !isSetting(name) && !/proxy$/i.test(name) && name !== 'NODE_OPTIONS',
    ),
  )

/** The authority of the sites by every name by which `decorum guard` makes its own known. */
function bareEnv(authority: Authority): NodeJS.ProcessEnv {
  const names = ['SSL_CERT_FILE', 'CURL_CA_BUNDLE', 'REQUESTS_CA_BUNDLE', 'NODE_EXTRA_CA_CERTS']
  return {
    ...ownEnv(),
    ...Object.fromEntries(names.map((name) => [name, authority.file])),
    WGETRC: authority.wgetrc,
  }
}

/** A crawler that reached no site has left no record to read. */
function nothingAsked(error: unknown): Evidence {
  if (error instanceof UnreadableLogError) return { requests: [], bodies: new Map() }
  throw error
}

const END_MS = 8_000

/** Waits for the end of a process, and brings it about when it takes too long. @returns whether it had to */
async function endsWithin(child: ChildProcess, ms: number): Promise<boolean> {
  const exit = once(child, 'exit')
  const after = (wait: number, signal: NodeJS.Signals): NodeJS.Timeout =>
    setTimeout(() => {
      cut = true
      try {
        process.kill(-(child.pid as number), signal)
      } catch {
        // it has ended meanwhile
      }
    }, wait)
  let cut = false
  const timers = [after(ms, 'SIGTERM'), after(ms + END_MS, 'SIGKILL')]
  await exit
  for (const timer of timers) clearTimeout(timer)
  return cut
}

/** The last ones are in the file a little later. */
const WRITTEN_MS = 500

async function arrivalsAt(path: string, port: number): Promise<Arrival[]> {
  await sleep(WRITTEN_MS)
  const lines = readFileSync(path, 'utf8').split('\n')
  return lines.filter((line) => line.includes(`.test:${port}/`)).map((line) => JSON.parse(line) as Arrival)
}

function rowOf(
  evidence: Evidence,
  byName: Record<string, string>,
  arrangement: Arrangement,
  arrivals: Arrival[],
): Omit<Row, keyof ReturnType<typeof about> | 'ended' | 'load'> {
  const origins = Object.values(byName)
  // Whatever name it says, to a site it is one visitor
  const agents = agentsOf({ agent: 'peer', profile: 'decorum', minDelayMs: DELAY_MS, maxDelayMs: 10_000 })
  const { violations, smallestSlackMs } = judgeRecord(evidence, { agents })
  const { requests } = evidence
  const had = new Set(
    requests
      .filter(({ status }) => status >= 200 && status < 400)
      .map(({ origin, path }) => new URL(origin).hostname + path),
  )
  const ends = requests.map(({ end }) => end)
  const seconds =
    requests.length === 0 ? 0 : (Math.max(...ends) - Math.min(...requests.map(({ start }) => start))) / 1_000
  const allowed = arrangement.pages.filter(({ isAllowed }) => isAllowed)
  const { owedMs } = arrangement
  return {
    overlaps: violations.overlap,
    short: violations['short-delay'],
    forbidden: violations.disallowed + violations['rules-unreachable'],
    beforeRules: violations['before-rules'],
    inRetryAfter: violations['in-back-off'],
    slackMs: Math.round(smallestSlackMs ?? 0),
    robots: requests.filter(({ path }) => path === '/robots.txt').length,
    requests: requests.length,
    pages: allowed.filter(({ host, path }) => had.has(host + path)).length,
    allowed: allowed.length,
    seconds: Math.round(seconds * 10) / 10,
    ofSites: requests.length === 0 ? 0 : round(shareOfSites(requests, origins, owedMs)),
    ...(arrivals.length > 0 && { ofAsked: round(shareOfAsked(requests, origins, arrivals, owedMs)) }),
  }
}

const round = (share: number): number => Math.round(share * 1_000) / 1_000
