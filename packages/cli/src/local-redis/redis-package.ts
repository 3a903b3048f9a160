/**
 * Fetches redis-server of Debian or Ubuntu without root: with separate package lists and a separate download folder, unpacked
 * into the cache folder, not installed. About 4 MB and 3 s, once per user.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cacheFolder } from './cache-folder.ts'

const run = promisify(execFile)

/** Dependencies that are on every system, or only needed by a service. The program must run with the system's own libc. */
const NEVER_UNPACKED = /^(libc6|libgcc-s1|libstdc\+\+6|adduser|lsb-base|sysvinit-utils|init-system-helpers)$/
const SERVER = join('usr', 'bin', 'redis-server')

/** A server program unpacked beside its libraries; both are absolute paths. */
export type UnpackedRedis = { path: string; libraries: string }

/**
 * The program unpacked by an earlier run, or fetched now.
 * @param tried  receives the reason, one line, when this fails
 */
export async function fetchedRedis(tried: string[], log: (line: string) => void): Promise<UnpackedRedis | undefined> {
  const cache = await cacheFolder()
  if (!cache) {
    tried.push('no folder for a fetched Redis can be written')
    return undefined
  }
  const earlier = (await readdir(cache)).filter((name) => name.startsWith('redis-')).sort()
  for (const name of earlier.reverse()) {
    const found = await unpacked(join(cache, name))
    if (found) return found
  }
  const work = await mkdtemp(join(cache, '.fetch-'))
  try {
    const version = await fetchInto(work, log)
    const home = join(cache, `redis-${version}`)
    // Another process may have filled the folder meanwhile: its copy serves both.
    await rename(join(work, 'root'), home).catch(async (error: unknown) => {
      if (!(await unpacked(home))) throw error
    })
    return await unpacked(home)
  } catch (error) {
    tried.push(`fetching the distribution's package failed: ${firstLine(error)}`)
    return undefined
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

/** Installs the package as root. Tried last, because it changes the machine. @returns whether it was installed */
export async function installRedis(tried: string[], log: (line: string) => void): Promise<boolean> {
  if (process.getuid?.() !== 0) {
    tried.push('not root, so it cannot be installed')
    return false
  }
  try {
    log('Redis: installing redis-server with apt-get')
    await apt('apt-get', ['install', '-y', '-q', '--no-install-recommends', 'redis-server'], {})
    return true
  } catch (error) {
    tried.push(`apt-get install failed: ${firstLine(error)}`)
    return false
  }
}

/** Fills `<work>/root` with the unpacked packages; returns the version of Redis's package, e.g. '7.0.15'. */
async function fetchInto(work: string, log: (line: string) => void): Promise<string> {
  const root = join(work, 'root')
  await Promise.all(
    [root, ...OWN_FOLDERS.map((name) => join(work, name))].map((dir) => mkdir(dir, { recursive: true })),
  )
  const own = [
    `Dir::State::lists=${join(work, 'lists')}`,
    `Dir::Cache=${join(work, 'cache')}`,
    'Debug::NoLocking=1',
    ...(process.getuid?.() === 0 ? ['APT::Sandbox::User=root'] : []), // apt's own user cannot write to this folder
  ].flatMap((setting) => ['-o', setting])
  log("Redis: none on this machine, fetching the distribution's package (about 4 MB, without root)")
  // One broken source among many must not stop this: the download shows whether the lists suffice.
  const update = await apt('apt-get', [...own, '-q', 'update'], { cwd: work }).then(
    () => undefined,
    (error: unknown) => error,
  )
  try {
    const names = await packageNames(own, work)
    await apt('apt-get', [...own, '-q', 'download', ...names], { cwd: work })
  } catch (error) {
    throw update ?? error
  }
  const packages = (await readdir(work)).filter((name) => name.endsWith('.deb'))
  for (const name of packages) await apt('dpkg-deb', ['-x', name, root], { cwd: work })
  const version = packages.map((name) => /^redis-server_(?:\d+%3a)?(\d[\w.]*)/.exec(name)?.[1]).find(Boolean)
  if (!version) throw new Error('the download holds no redis-server')
  return version
}

const OWN_FOLDERS = [join('lists', 'partial'), join('cache', 'archives', 'partial')]

async function packageNames(own: string[], cwd: string): Promise<string[]> {
  const names = ['redis-server', 'redis-tools']
  const { stdout } = await apt('apt-cache', [...own, 'depends', ...names], { cwd })
  const depends = [...stdout.matchAll(/^ +Depends: ([a-z0-9][a-z0-9.+-]*)$/gm)].map((match) => match[1] ?? '')
  return [...new Set([...names, ...depends.filter((name) => !NEVER_UNPACKED.test(name))])]
}

async function unpacked(home: string): Promise<UnpackedRedis | undefined> {
  const path = join(home, SERVER)
  if (!existsSync(path)) return undefined
  // The folder is named by architecture (x86_64-linux-gnu, aarch64-linux-gnu …): take what is there.
  const folders: string[] = []
  for (const above of [join(home, 'usr', 'lib'), join(home, 'lib')]) {
    const names = await readdir(above).catch(() => [])
    folders.push(...names.filter((name) => name.includes('-linux-gnu')).map((name) => join(above, name)))
  }
  return { path, libraries: folders.join(':') }
}

function apt(command: string, args: string[], options: { cwd?: string }) {
  const env = { ...process.env, LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' }
  return run(command, args, { ...options, env, timeout: 120_000, maxBuffer: 16 << 20 })
}

/** An error in one line: the first error line of apt or dpkg, if there is one. */
function firstLine(error: unknown): string {
  const { stderr, code, path } = error as { stderr?: string; code?: unknown; path?: string }
  if (code === 'ENOENT' && path) return `there is no ${path} here`
  const complaint = stderr?.split('\n').find((line) => line.startsWith('E: ') || line.startsWith('Err:'))
  return complaint ?? (error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error))
}
