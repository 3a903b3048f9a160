/** `decorum up`: a whole small fleet on this machine, until Ctrl-C. */
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { privateFolder } from '@decorum/local-redis'
import { type ConsoleLogin, consoleLogin } from '../console-password.ts'
import { CommandError, DONE, type ExitCode, FAILED, messageOf, UsageError } from '../exit.ts'
import type { RoleEvent } from '../fleet.ts'
import { aborted, catchInterrupt } from '../interrupt.ts'
import { type LocalFleet, openLocalFleet } from '../local-fleet.ts'
import { called, troubleTeller, type Voice, voiceOf } from '../say.ts'
import { type CliSettings, dataFolder, readCliSettings, whatIsOpened } from '../settings.ts'

export type UpOptions = { data?: string; port?: number; gateways: number; fetchers: number; json?: boolean }

/** Where the console is looked for first; any free port when somebody else is there. */
const USUAL_PORT = 7_070

export async function up(options: UpOptions): Promise<ExitCode> {
  const { env } = process
  const settings = readCliSettings(env)
  const voice = voiceOf(options.json === true)
  const dataDir = resolve(options.data ?? dataFolder(env))
  let local: LocalFleet | undefined
  const interrupt = catchInterrupt(() => (local === undefined ? process.exit(FAILED) : local.kill()))
  try {
    const login = await loginIn(dataDir, env)
    local = await openLocalFleet({
      settings,
      env: { ...env, CONSOLE_PASSWORD: login.password },
      dataDir: join(dataDir, 'redis'),
      whenTaken: 'refuse',
      crawl: { run: 'default', out: dataDir, pages: settings.archiveDir ?? '' },
      gateways: options.gateways,
      fetchers: options.fetchers,
      console: await consolePort(options.port ?? settings.port),
      onEvent: listener(voice),
      log: (line) => voice.say('redis', line),
    })
    introduce(voice, local, settings, dataDir, login)
    await aborted(interrupt.signal)
    voice.say('stopping', 'stopping: what is in flight is settled first; Ctrl-C again ends at once')
    await local.finish()
    await local.close()
    voice.say('stopped', local.redis.kind === 'embedded' ? `stopped; what waits is stored in ${dataDir}` : 'stopped', {
      dataDir,
    })
    return DONE
  } finally {
    interrupt.release()
  }
}

function listener(voice: Voice): (event: RoleEvent) => void {
  const tellTrouble = troubleTeller(voice)
  return (event) => {
    if (event.kind === 'ready') voice.say('ready', undefined, { name: event.name, pid: event.pid, port: event.port })
    else tellTrouble(event)
  }
}

async function loginIn(dataDir: string, env: NodeJS.ProcessEnv): Promise<ConsoleLogin> {
  try {
    await privateFolder(dataDir)
    return await consoleLogin(env, dataDir)
  } catch (error) {
    throw new UsageError(`no data can be kept in ${dataDir}: ${messageOf(error)}`)
  }
}

function introduce(
  voice: Voice,
  { redis, fleet }: LocalFleet,
  settings: CliSettings,
  dataDir: string,
  { user, password, file }: ConsoleLogin,
): void {
  const [board] = fleet.of('console')
  const consoleUrl = `http://127.0.0.1:${board?.port ?? 0}/`
  const decorum = called(process.env)
  const embedded = redis.kind === 'embedded'
  const count = (role: 'gateway' | 'fetcher'): string =>
    `${fleet.of(role).length} ${role}${fleet.of(role).length === 1 ? '' : 's'}`
  // A terminal may show the password, a log that stderr is written to may not.
  const secret = process.stderr.isTTY ? password : `in ${file}`
  const lines = [
    'Decorum is up.',
    `  console   ${consoleUrl}   user ${user}, password ${file === undefined ? 'as CONSOLE_PASSWORD says' : secret}`,
    `  Redis     ${redis.place}${embedded ? `, data in ${dataDir}, its password in ${join(redis.dir ?? dataDir, 'redis.json')}` : ''}`,
    `  fleet     ${count('gateway')}, ${count('fetcher')}; more: ${embedded ? '' : `REDIS_URL=${redis.place} `}${decorum} fetcher`,
    `  enqueue   ${decorum} enqueue urls.txt     outcomes   ${decorum} outcomes --follow`,
    ...whatIsOpened(settings).map((line) => `  ${line}`),
    'Ctrl-C drains and stops; what waits stays stored.',
  ]
  voice.say('up', lines.join('\n'), {
    console: consoleUrl,
    consoleUser: user,
    ...(file === undefined ? {} : { consolePasswordFile: file }),
    redis: redis.place,
    ...(redis.dir === undefined ? {} : { redisDir: redis.dir }),
    dataDir,
  })
}

/**
 * A port that was asked for, or the usual one when it is free, or any (0).
 * @throws CommandError when the port that was asked for is taken
 */
async function consolePort(asked: number | undefined): Promise<number> {
  if (asked === 0) return 0
  const port = asked ?? USUAL_PORT
  if (await isFree(port)) return port
  if (asked === undefined) return 0
  throw new CommandError(`port ${port} is in use: give --port another number, or 0 for any free one`)
}

function isFree(port: number): Promise<boolean> {
  const server = createServer()
  return new Promise((answer) => {
    server.once('error', () => answer(false))
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => answer(true)))
  })
}
