/** A Redis for whoever starts Decorum: the one he names, else one of our own that lives and dies with us. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readdir, realpath } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { announceNew, linkTo } from '@decorum/ledger'
import { type RedisNode, readRedisAddress, redisPlaces } from '@decorum/protocol'
import { makeFolder } from './make-folder.ts'
import { findRedis } from './redis-binary.ts'
import type { Report, Task } from './redis-guardian.ts'

export type EnsureRedisOptions = {
  /** REDIS_URL as the settings give it; absent or empty: an embedded Redis. */
  url?: string
  /** Data folder of the embedded Redis, made if absent and kept; without one a temporary folder, removed at the end. */
  dataDir?: string
  /** Told what a person would like to know: a download, a restart. */
  log: (line: string) => void
}

export type RunningRedis = {
  url: string
  kind: 'given' | 'embedded'
  /** Process id of the embedded Redis at its start. */
  pid?: number
  /** Ends the embedded Redis, its data on disk; a given one is left alone. May be called twice. */
  stop(): Promise<void>
}

/** REDIS_URL is no Redis URL, or nobody answers there. */
export class RedisUrlError extends Error {
  override readonly name = 'RedisUrlError'
  readonly code = 'REDIS_URL'
}

/** Another Redis runs on this data folder: share it by its URL, or stop it; two would each lose the other's writes. */
export class DataFolderTakenError extends Error {
  override readonly name = 'DataFolderTakenError'
  readonly code = 'DATA_FOLDER_TAKEN'
  readonly url: string
  constructor(dataDir: string, url: string) {
    super(`a Redis already runs on ${dataDir}, at ${url}: set REDIS_URL to that address to share it, or stop it first`)
    this.url = url
  }
}

/** The embedded Redis did not start, or the settings forbid it. */
export class EmbeddedRedisError extends Error {
  override readonly name = 'EmbeddedRedisError'
  readonly code = 'EMBEDDED_REDIS'
}

const CONNECT_MS = 5_000

/**
 * A Redis that answers: the given URL; else a server from PATH, from the cache folder, from the distribution's package
 * (see `findRedis`), listening on loopback only. The embedded one stops when this process ends, in whatever way.
 * @throws  RedisUrlError, NoRedisError, DataFolderTakenError, EmbeddedRedisError; each message can be shown as it is
 */
export async function ensureRedis(options: EnsureRedisOptions): Promise<RunningRedis> {
  if (options.url) {
    await answers(options.url)
    return { url: options.url, kind: 'given', stop: async () => {} }
  }
  const binary = await findRedis(options.log)
  const temporary = options.dataDir === undefined
  const dir = await dataFolder(options.dataDir)
  const isNew = (await readdir(dir)).length === 0
  const redis = await guarded({ binary, dir, temporary }, options.log)
  if (isNew) await sayNew(redis)
  return redis
}

/** No ledger has ever been kept in this folder: nothing that one granted can be on the wire, and nobody need wait for it. */
async function sayNew({ url }: RunningRedis): Promise<void> {
  const link = linkTo(url, { away: 'wait' })
  link.on('error', () => {}) // its end is told by the guardian
  await announceNew(link).finally(() => link.disconnect())
}

async function dataFolder(kept: string | undefined): Promise<string> {
  try {
    if (kept === undefined) return await realpath(await mkdtemp(join(tmpdir(), 'decorum-redis-')))
    await makeFolder(resolve(kept), 0o700)
    return await realpath(kept)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new EmbeddedRedisError(`the data folder of the embedded Redis cannot be made: ${why}`, { cause: error })
  }
}

async function guarded(task: Task, log: (line: string) => void): Promise<RunningRedis> {
  const program = fileURLToPath(new URL('redis-guardian.ts', import.meta.url))
  const child = spawn(process.execPath, [program, JSON.stringify(task)], {
    cwd: task.dir,
    detached: true, // its own session: the terminal's Ctrl-C is for us alone
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const complaints: string[] = []
  child.stderr.setEncoding('utf8').on('data', (text: string) => complaints.push(text))
  const exited = new Promise<void>((resolve) => {
    child.once('error', (error) => {
      complaints.push(error.message)
      resolve()
    })
    child.once('close', () => resolve())
  })
  child.stdin.on('error', () => {}) // it ended by itself: `exited` tells

  const first = await new Promise<Report>((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const report = JSON.parse(line) as Report
      resolve(report)
      if (report.kind === 'restarted') log(`Redis: ended (${report.why}) and was started again`)
      if (report.kind === 'failed') log(`Redis: ${report.why}`)
    })
    void exited.then(() => resolve({ kind: 'failed', why: complaints.join('').trim() || 'its guardian ended' }))
  })
  if (first.kind === 'taken') throw new DataFolderTakenError(task.dir, first.url)
  if (first.kind === 'failed') throw new EmbeddedRedisError(first.why)

  holdLoosely(child)
  return {
    url: first.kind === 'ready' ? first.url : '',
    kind: 'embedded',
    pid: first.pid,
    async stop() {
      child.ref()
      child.stdin.end()
      await exited
    },
  }
}

/** A forgotten `stop` shall not keep this process alive: its end stops Redis anyway. */
function holdLoosely(child: ChildProcess): void {
  child.unref()
  for (const stream of [child.stdin, child.stdout, child.stderr]) {
    if (stream && 'unref' in stream && typeof stream.unref === 'function') stream.unref()
  }
}

/** Whether somebody accepts connections where REDIS_URL points, of a cluster at one node at least; what he says is for the ledger to judge. */
async function answers(url: string): Promise<void> {
  const refusals: string[] = []
  for (const place of placesOf(url)) {
    const why = await refusalOf(place)
    if (why === undefined) return
    refusals.push(`${place.host}:${place.port}, where no Redis answers (${why})`)
  }
  throw new RedisUrlError(
    `REDIS_URL names ${refusals.join(', and ')}: start it, or unset REDIS_URL to have one started`,
  )
}

function placesOf(url: string): RedisNode[] {
  try {
    return redisPlaces(readRedisAddress(url))
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new RedisUrlError(`REDIS_URL is not of the form redis://host:6379 (or rediss:// for TLS): ${why}`)
  }
}

async function refusalOf({ host, port }: RedisNode): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port }, () => resolve(undefined))
    socket.setTimeout(CONNECT_MS, () => resolve(`no answer in ${CONNECT_MS / 1000} s`))
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    socket.on('connect', () => socket.destroy())
    socket.on('timeout', () => socket.destroy())
  })
}
