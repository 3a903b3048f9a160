/**
 * Finds a Redis server program when no REDIS_URL was given: on the PATH, in the cache folder, in the
 * distribution's package fetched without root, or by the package manager as root; the first way that works is used.
 * Why not a library: docs/dependencies.md.
 */
import { execFile } from 'node:child_process'
import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { OLDEST_REDIS } from '@decorum/ledger'
import { CommandError } from '../exit.ts'
import { redisEnvironment } from './redis-environment.ts'
import { fetchedRedis, installRedis } from './redis-package.ts'

/** A server program that has been run once (`--version`) and is new enough. */
export type RedisBinary = {
  path: string
  /** As `--version` prints it, e.g. '7.0.15'. */
  version: string
  /** Folders for LD_LIBRARY_PATH, when the program was unpacked away from its libraries. */
  libraries?: string
}

const run = promisify(execFile)

/**
 * Finds a server program, fetching one if necessary.
 * @param log  receives a line before a download or an installation
 * @throws     CommandError with the reason why each way failed, and with what the user can do
 */
export async function findRedis(log: (line: string) => void): Promise<RedisBinary> {
  const tried: string[] = []
  const ways = [
    () => redisOnPath(tried),
    async () => probe(await fetchedRedis(tried, log), tried),
    async () => ((await installRedis(tried, log)) ? redisOnPath(tried) : undefined),
  ]
  for (const way of ways) {
    const found = await way()
    if (found) return found
  }
  throw new CommandError(
    `no Redis could be had (${tried.join('; ')}). Do one of these: set REDIS_URL to a Redis ${OLDEST_REDIS}.0 or newer, ` +
      'install redis-server or valkey-server so that it is on PATH, ' +
      'or use Debian 12, Ubuntu 24.04 or later with a reachable package mirror, where it is fetched without root',
  )
}

async function redisOnPath(tried: string[]): Promise<RedisBinary | undefined> {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean)
  const candidates = ['redis-server', 'valkey-server'].flatMap((name) => folders.map((folder) => join(folder, name)))
  for (const path of candidates) {
    const executable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
    const found = executable ? await probe({ path }, tried) : undefined
    if (found) return found
  }
  if (tried.length === 0) tried.push('no redis-server or valkey-server on PATH')
  return undefined
}

/** Runs the program once. @returns undefined, and adds the reason to `tried`, when it does not start or is too old */
async function probe(
  candidate: { path: string; libraries?: string } | undefined,
  tried: string[],
): Promise<RedisBinary | undefined> {
  if (!candidate) return undefined
  try {
    const { stdout } = await run(candidate.path, ['--version'], { env: redisEnvironment(candidate), timeout: 10_000 })
    const version = /\bv=(\d+)\.(\d+)\S*/.exec(stdout)
    if (!version) throw new Error('its --version names no version')
    const [, major, minor] = version
    if (Number(major) < OLDEST_REDIS) {
      throw new Error(`its version is ${major}.${minor}, older than ${OLDEST_REDIS}.0`)
    }
    return { ...candidate, version: version[0].slice(2) }
  } catch (error) {
    tried.push(
      `${candidate.path} does not serve: ${error instanceof Error ? error.message.split('\n')[0] : 'unknown reason'}`,
    )
    return undefined
  }
}
