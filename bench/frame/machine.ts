/** Where and on what a figure was taken: a figure without that is hearsay. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { benchRedis } from './redis.ts'

const GIB = 1024 ** 3

/** One line for the results page. */
export async function conditions(): Promise<string> {
  const [cpu] = cpus()
  const memory = Math.round(totalmem() / GIB)
  const redis = await redisVersion()
  return [
    `${cpu?.model.trim() || 'unknown processor'}, ${cpus().length} cores, ${memory} GiB`,
    `node ${process.version.slice(1)}, ${redis}, bullmq ${versionOf('bullmq')}`,
    'Redis persists by append-only file, synced each second, unless a line says otherwise',
  ].join('; ')
}

/** The commit, and whether the tree differs from it; empty outside a clone. */
export function commit(): string {
  const git = (...args: string[]): string =>
    execFileSync('git', args, {
      cwd: import.meta.dirname,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  try {
    const changed = git('status', '--porcelain', '--untracked-files=no', '--', '../../packages', '../../services')
    return git('rev-parse', '--short', 'HEAD') + (changed === '' ? '' : ' with changes')
  } catch {
    return 'no commit'
  }
}

async function redisVersion(): Promise<string> {
  const redis = await benchRedis()
  const server = await redis.client.info('server')
  await redis.stop()
  const field = (name: string): string | undefined => new RegExp(`^${name}:(\\S+)`, 'm').exec(server)?.[1]
  const valkey = field('valkey_version')
  return valkey === undefined ? `redis ${field('redis_version')}` : `valkey ${valkey}`
}

function versionOf(name: string): string {
  const path = new URL(`../../node_modules/${name}/package.json`, import.meta.url)
  return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version
}
