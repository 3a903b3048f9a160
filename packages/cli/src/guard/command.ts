/**
 * `decorum guard -- COMMAND …`: runs any unchanged crawler behind a separate proxy. It uses this user's running fleet, or starts one, and
 * reports at the end what was held, refused and sent. Standard output belongs to the command; Decorum's output goes to stderr.
 */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { http } from '@decorum/runtime/node-http'
import { settingsToStart } from '../agreed-settings.ts'
import type { EarlyFleet } from '../early-fleet.ts'
import { CommandError, messageOf, UsageError } from '../exit.ts'
import { makeDataFolder, openLocalFleet } from '../local-fleet.ts'
import { dataFolder } from '../local-redis/index.ts'
import { printerOf, troubleReporter } from '../say.ts'
import { whatIsOpened } from '../settings.ts'
import { jsonLine, warn } from '../terminal.ts'
import { agentNamed } from '../typed.ts'
import { guardedEnv, loginOf } from './environment.ts'
import { runGuarded } from './run.ts'
import { guardSummary, type ProxyCounts } from './summary.ts'
import { writeTrust } from './trust.ts'

export type GuardOptions = {
  agent?: string
  crawl?: string
  tunnels?: boolean
  inspect?: boolean
  hosts?: string
  json?: boolean
}

const ANSWER_MS = 5_000

export async function guardCommand(command: string[], options: GuardOptions, fleet: EarlyFleet): Promise<number> {
  if (command.length === 0) throw new UsageError('guard: the command of a crawler is needed after --')
  const { env } = process
  const umask = process.umask(0o077)
  const settings = await settingsToStart()
  agentNamed(settings.agents, options.agent) // throws if the agent is unknown
  const folder = dataFolder(env)
  if (settings.redisUrl === undefined) await makeDataFolder(folder)
  const inspects = options.inspect !== false && !options.tunnels
  // With --json, each message is a line of JSON, also on stderr.
  const print = printerOf(options.json, (value) => warn(jsonLine(value).trimEnd()), 'decorum: ')
  const local = await openLocalFleet({
    settings,
    env: {
      ...env,
      PROXY_TUNNELS: options.tunnels ? 'yes' : 'no',
      PROXY_CA: inspects ? env.PROXY_CA || 'memory' : '',
      PROXY_HOSTS: options.hosts ?? env.PROXY_HOSTS ?? '',
    },
    dataDir: join(folder, 'redis'),
    whenTaken: 'join',
    fleet,
    onEvent: troubleReporter(print),
    print,
  })
  try {
    const [proxy] = local.fleet.of('proxy')
    if (proxy === undefined) throw new CommandError('the proxy has not come up')
    for (const line of whatIsOpened(local.settings)) print('opened', line)
    const trust = inspects ? await writeTrust(await textOf(proxy.port, '/v1/ca.pem'), env) : {}
    const guarded = guardedEnv(env, proxy.port, loginOf(options.agent, options.crawl))
    const { code, hasRun } = await runGuarded(command, { ...guarded, ...trust }, umask)
    if (!hasRun) return code
    const counts = await textOf(proxy.port, '/v1/counts').then(
      (answered) => JSON.parse(answered) as ProxyCounts,
      (error: Error) => error,
    )
    if (counts instanceof Error) print('counts', `the counts of the proxy are unknown: ${messageOf(counts)}`)
    else print('summary', guardSummary(counts), { code, ...counts })
    return code
  } finally {
    await local.close()
  }
}

/** Reads an answer of the proxy itself. Without `fetch`, which the environment may send through another proxy. */
async function textOf(port: number, path: string): Promise<string> {
  const request = http.get({ host: '127.0.0.1', port, path, agent: false, timeout: ANSWER_MS })
  request.once('timeout', () => request.destroy(new Error('it does not answer')))
  const [answer] = (await once(request, 'response')) as [IncomingMessage]
  const answered = await text(answer)
  if (answer.statusCode === 200) return answered
  throw new CommandError(`the proxy answers ${path} with ${answer.statusCode}`)
}
