/** `decorum up`: a whole small fleet on this machine, until Ctrl-C. */
import { join, resolve } from 'node:path'
import { isLoopback } from '@decorum/config'
import { aborted } from '@decorum/protocol'
import { settingsToStart } from '../agreed-settings.ts'
import { type ConsoleLogin, consoleLogin } from '../console-password.ts'
import { type EarlyFleet, withEarlyFleet } from '../early-fleet.ts'
import { CommandError, DONE, type ExitCode, FAILED } from '../exit.ts'
import type { PortWish, RoleEvent } from '../fleet.ts'
import { catchInterrupt } from '../interrupt.ts'
import { type LocalFleet, makeDataFolder, openLocalFleet } from '../local-fleet.ts'
import { dataFolder, freePort } from '../local-redis/index.ts'
import { called, type Print, printerOf, some, troubleReporter } from '../say.ts'
import { type CliSettings, whatIsOpened } from '../settings.ts'

export type UpOptions = { data?: string; port?: number; gateways: number; fetchers: number; json?: boolean }

/** First port tried for the console; if it is taken, any free port. */
const USUAL_PORT = 7_070
/** First port tried for permits. */
const PERMITS_PORT = 7_071

export async function up(options: UpOptions): Promise<ExitCode> {
  const { env } = process
  const settings = await settingsToStart()
  const dataDir = resolve(options.data ?? dataFolder(env))
  const shape = {
    gateways: options.gateways,
    fetchers: options.fetchers,
    console: await consolePort(options.port ?? settings.port),
    ...(mayGivePermits(env) ? { permits: 1, permitsPort: { usual: PERMITS_PORT } } : {}),
  }
  return withEarlyFleet(shape, (fleet) => runUntilStopped(fleet, settings, dataDir, printerOf(options.json)))
}

async function runUntilStopped(
  fleet: EarlyFleet,
  settings: CliSettings,
  dataDir: string,
  print: Print,
): Promise<ExitCode> {
  const { env } = process
  let local: LocalFleet | undefined
  const interrupt = catchInterrupt(() => (local === undefined ? process.exit(FAILED) : local.fleet.kill()))
  try {
    await makeDataFolder(dataDir)
    const login = await consoleLogin(env, dataDir)
    const pages = pagesIn(dataDir, env, settings)
    local = await openLocalFleet({
      settings,
      env: {
        ...env,
        ARCHIVE_DIR: pages,
        ARCHIVE_MAX_BYTES: env.ARCHIVE_MAX_BYTES || USUAL_MAX_BYTES,
        CONSOLE_PASSWORD: login.password,
      },
      dataDir: join(dataDir, 'redis'),
      whenTaken: 'refuse',
      crawl: { run: 'default', out: dataDir, pages },
      fleet,
      onEvent: listener(print),
      print,
    })
    introduce(print, local, { dataDir, pages }, login)
    await aborted(interrupt.signal)
    print('stopping', 'stopping: requests in flight end first; Ctrl-C again ends at once')
    await local.finish()
    await local.close()
    const stored = local.redis.kind === 'embedded' ? `; what waits is stored in ${dataDir}` : ''
    print('stopped', `stopped${stored}`, { dataDir })
    return DONE
  } finally {
    interrupt.release()
  }
}

/** Limit for the pages that the fleet keeps, unless ARCHIVE_MAX_BYTES is set: 20 GB. */
const USUAL_MAX_BYTES = '20000000000'

/** Folder or store for pages. '': pages are not kept, or the operator's sink decides. */
function pagesIn(dataDir: string, { PAGE_SINK }: NodeJS.ProcessEnv, { archiveDir }: CliSettings): string {
  return archiveDir ?? ((PAGE_SINK || 'warc') === 'warc' ? join(dataDir, 'pages') : '')
}

/** A phrase that says where pages are kept. */
const pagesKept = (folder: string, { pageSink, store }: CliSettings): string =>
  pageSink === 's3' ? `go to ${store} by way of ${folder}` : `kept in ${folder} (ARCHIVE_MAX_BYTES)`

function listener(print: Print): (event: RoleEvent) => void {
  const reportTrouble = troubleReporter(print)
  return (event) => {
    const { kind, ...data } = event
    if (kind === 'ready') print(kind, undefined, data)
    else reportTrouble(event)
  }
}

/** Whether to start a permits service: beyond loopback, only if permits need a token. */
export const mayGivePermits = ({ HOST, DECORUM_PERMIT_TOKENS }: NodeJS.ProcessEnv): boolean =>
  !HOST || isLoopback(HOST) || Boolean(DECORUM_PERMIT_TOKENS)

function introduce(
  print: Print,
  { redis, fleet, settings }: LocalFleet,
  { dataDir, pages }: { dataDir: string; pages: string },
  { user, password, file }: ConsoleLogin,
): void {
  const [board] = fleet.of('console')
  const [permits] = fleet.of('permits')
  const permitsUrl = permits === undefined ? undefined : `http://127.0.0.1:${permits.port}/`
  const consoleUrl = `http://127.0.0.1:${board?.port ?? 0}/`
  const decorum = called(process.env)
  const embedded = redis.kind === 'embedded'
  const count = (role: 'gateway' | 'fetcher') => some(fleet.of(role).length, role)
  // A terminal may show the password; a log file that stderr is written to may not.
  const secret = process.stderr.isTTY ? password : `in ${file}`
  const lines = [
    'Decorum is up.',
    `  console   ${consoleUrl}   user ${user}, password ${file === undefined ? 'as CONSOLE_PASSWORD says' : secret}`,
    ...(permitsUrl === undefined ? [] : [`  permits   ${permitsUrl}   for crawlers that fetch by themselves`]),
    `  Redis     ${redis.place}${embedded ? `, data in ${dataDir}; for programs of yours: eval "$(${decorum.replace(' --', ' --silent --')} env)"` : ''}`,
    `  fleet     ${count('gateway')}, ${count('fetcher')}; more: ${embedded ? '' : `REDIS_URL=${redis.place} `}${decorum} fetcher`,
    `  enqueue   ${decorum} enqueue urls.txt     outcomes   ${decorum} outcomes --follow`,
    ...(pages === '' ? [] : [`  pages     ${pagesKept(pages, settings)}; PAGE_SINK=none keeps none`]),
    ...whatIsOpened(settings).map((line) => `  ${line}`),
    'Ctrl-C drains and stops; what waits stays stored.',
  ]
  const facts = {
    console: consoleUrl,
    permits: permitsUrl,
    consoleUser: user,
    consolePasswordFile: file,
    redis: redis.place,
    redisDir: redis.dir,
    dataDir,
  }
  print('up', lines.join('\n'), facts)
}

/**
 * The requested port; without a request the usual one, or any free port if that is taken.
 * @throws CommandError when the requested port is taken
 */
async function consolePort(requested: number | undefined): Promise<PortWish> {
  if (requested === undefined) return { usual: USUAL_PORT }
  if (requested === 0 || (await freePort(requested)) === requested) return requested
  throw new CommandError(`port ${requested} is in use: give --port another number, or 0 for any free one`)
}
