/**
 * The console as a process: connect, start, stop. It looks at the fleet and passes on what operators ask; it never takes part in
 * fetching. Start at server.ts, which puts it together from access/ (who is answered), api/ (HTTP API), pages/ (HTML), watch/ (what is read of
 * the fleet, metrics) and board.ts (the queue board).
 */
import { readFileSync } from 'node:fs'
import { connectLink, linkTo, openLedger, type RedisLink } from '@decorum/ledger'
import { CANDIDATES, ORDERS, OUTCOME_KINDS, printableLog, queueOptions } from '@decorum/protocol'
import type { RunningService } from '@decorum/runtime'
import { Queue } from 'bullmq'
import { pino } from 'pino'
import { type ConsoleConfig, readConfig } from './config.ts'
import { totalsOf } from './pages/headline.ts'
import { buildServer } from './server.ts'
import { type Look, looker } from './watch/looks.ts'
import { Pace, SAMPLE_MS } from './watch/pace.ts'

/** A Redis that has not answered by then counts as unavailable, ms. */
const PING_MS = 1_000

/**
 * Starts the console. It listens on loopback unless HOST says otherwise.
 * @throws SettingsError on wrong settings; Error with a message for people when the port is taken or Redis is away
 */
export async function main(env: Record<string, string | undefined> = process.env): Promise<RunningService> {
  const config = readConfig(env)
  const log = pino({ ...printableLog, level: config.logLevel })
  const ledger = await openLedger({
    redis: config.redisUrl,
    partitions: config.partitions,
    outcomesLimit: config.outcomesLimit,
    leaseMs: config.leaseMs,
    quarantineMs: config.quarantineMs,
    onNotice: (sentence) => log.warn(sentence),
  })
  // The connection for what people ask fails at once while Redis is unavailable, instead of queueing their requests.
  const redis = linkTo(config.redisUrl, { away: 'fail', lazyConnect: true })
  redis.on('error', (error) => log.warn({ err: error.message }, 'redis'))
  await connectLink(redis, PING_MS).catch(() => undefined) // it goes on trying; readyz tells
  const queues = ledger.tags.flatMap((tag) =>
    [CANDIDATES, ORDERS].map((name) => {
      const options = { connection: redis, ...queueOptions(tag), skipMetasUpdate: true, skipWaitingForReady: true }
      return new Queue(name, options).on('error', () => undefined) // the connection has logged it already
    }),
  )
  const pace = new Pace()
  const look = looker(ledger)
  const sampler = setInterval(() => void sample(look, pace), SAMPLE_MS)
  sampler.unref()

  async function stop(): Promise<void> {
    clearInterval(sampler)
    await server.close()
    await Promise.allSettled(queues.map((queue) => queue.close()))
    redis.disconnect()
    await ledger.close()
  }
  const redisAnswers = () => answers(redis)
  const { server } = await buildServer({ config, ledger, look, pace, queues, redisAnswers, log, version: version() })
  try {
    await server.listen({ host: config.host, port: config.port })
  } catch (error) {
    await stop()
    throw readable(error, config)
  }
  const address = server.server.address()
  const port = typeof address === 'object' && address !== null ? address.port : config.port
  const host = config.host.includes(':') ? `[${config.host.replace(/^\[|\]$/g, '')}]` : config.host
  log.info({ role: 'console', port, url: `http://${host}:${port}/` }, 'ready')
  return { port, stop }
}

/** A look that fails is 'blind', not an error; then there is nothing to sample. */
async function sample(look: () => Promise<Look>, pace: Pace): Promise<void> {
  const seen = await look()
  if (seen.kind === 'seen' && seen.away === 0)
    pace.add(totalsOf(seen.partitions, OUTCOME_KINDS).outcomes, performance.now())
}

async function answers(redis: RedisLink): Promise<boolean> {
  if (redis.status !== 'ready') return false
  const late = new Promise<boolean>((resolve) => setTimeout(resolve, PING_MS, false).unref())
  return Promise.race([
    redis.ping().then(
      () => true,
      () => false,
    ),
    late,
  ])
}

/** The code stays: the command line prints a taken port in its own words. */
function readable(error: unknown, { host, port }: ConsoleConfig): Error {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const text = startErrors[code]?.(host, port)
  if (text === undefined) return error instanceof Error ? error : new Error(String(error))
  return Object.assign(new Error(text, { cause: error }), { code, address: host, port })
}

const startErrors: Record<string, (host: string, port: number) => string> = {
  EADDRINUSE: (host, port) => `port ${port} of ${host} is in use: set PORT to another one, or to 0 for any free one`,
  EACCES: (host, port) => `port ${port} of ${host} may not be opened by this user`,
  EADDRNOTAVAIL: (host) => `HOST=${host} is no address of this machine`,
  ENOTFOUND: (host) => `HOST=${host} is no address of this machine`,
}

function version(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}
