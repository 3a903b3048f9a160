/**
 * Each alert is fired by its fault: a fleet of real processes, Debian's Prometheus that scrapes them, the rules of deploy/prometheus with shorter
 * times. A fault lasts until its alert has fired, so nothing here depends on how fast the machine is. Only DecorumVersionsMixed is left to
 * promtool: it takes a second release.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '@decorum/cli/local-redis/testing'
import { openFrontier } from '@decorum/client'
import { ORDERS, queueOptions } from '@decorum/protocol'
import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { ROWS } from '../../deploy/grafana/fleet.ts'
import { alertsOf, alertsText } from '../../deploy/prometheus/alerts.ts'
import { decorum, folder, type Running, site, startDecorum } from '../cli/decorum.ts'
import { openLink } from '../storm/link.ts'
import { childrenOf } from '../storm/worker.ts'
import { startRedis } from '../support/redis.ts'

const hasPrometheus = spawnSync('prometheus', ['--version']).status === 0
const LEASE_MS = 9_000
const QUARANTINE_MS = 5_000
const OUTCOMES_LIMIT = 500
/** At least four scrapes, and half a minute at most. A span has to hold the time for which a fetcher stands still. */
const SHORTER = {
  shorten: (seconds: number) => Math.min(30, Math.max(8, Math.round(seconds / 60))),
  window: (seconds: number) => Math.min(30, Math.max(10, Math.round(seconds / 20))),
  unreadLimit: OUTCOMES_LIMIT,
}
/** Needs a second release. */
const LEFT_OUT = ['DecorumVersionsMixed']

type Watch = {
  ask(query: string): Promise<{ status: string; data?: { result: unknown[] } }>
  /** Resolves when the alert has fired since `since`, ms; keeps the fault going meanwhile. */
  fires(alert: string, fault?: () => Promise<unknown>): Promise<void>
  fired: Set<string>
}

async function startPrometheus(targets: Record<string, number[]>): Promise<Watch> {
  const dir = await mkdtemp(join(inject('redisFolder'), 'alerts-'))
  const port = await freePort()
  const jobs = Object.entries(targets).map(([job, ports]) => ({
    job_name: job,
    static_configs: [{ targets: ports.map((one) => `127.0.0.1:${one}`) }],
  }))
  const global = { scrape_interval: '2s', scrape_timeout: '2s', evaluation_interval: '1s' }
  await writeFile(join(dir, 'alerts.yml'), alertsText(SHORTER))
  const config = { global, rule_files: [join(dir, 'alerts.yml')], scrape_configs: jobs }
  await writeFile(join(dir, 'prometheus.yml'), JSON.stringify(config))
  const child = spawn(
    'prometheus',
    [
      `--config.file=${join(dir, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(dir, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: 'ignore' },
  )
  onTestFinished(async () => {
    if (child.exitCode !== null) return
    child.kill('SIGTERM')
    await once(child, 'exit')
  })
  const fired = new Set<string>()
  const ask: Watch['ask'] = async (query) => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(query)}`).catch(
      () => undefined,
    )
    return answer === undefined ? { status: 'away' } : ((await answer.json()) as Awaited<ReturnType<Watch['ask']>>)
  }
  const fires: Watch['fires'] = async (alert, fault = () => sleep(500)) => {
    const since = Date.now()
    for (;;) {
      await fault()
      const seconds = Math.ceil((Date.now() - since) / 1_000) + 1
      const { data } = await ask(`last_over_time(ALERTS{alertname="${alert}",alertstate="firing"}[${seconds}s])`)
      if ((data?.result.length ?? 0) > 0) break
    }
    fired.add(alert)
  }
  return { ask, fires, fired }
}

/** @returns the port of its metrics */
async function ready(role: Running): Promise<number> {
  await role.hears('"msg":"ready"')
  for (const line of role.said().split('\n')) {
    if (!line.includes('"msg":"ready"')) continue
    const { port } = JSON.parse(line) as { port?: number }
    if (port !== undefined) return port
  }
  throw new Error(role.said())
}

describe.skipIf(!hasPrometheus)('with prometheus on the PATH', () => {
  test('every alert fires when its fault is made, and every query of the dashboard is answered', async () => {
    const redis = await startRedis({ appendonly: true })
    onTestFinished(() => redis.stop())
    const link = await openLink(redis.port)
    onTestFinished(() => link.close())
    const settings = {
      REDIS_URL: redis.url,
      LEASE_MS: String(LEASE_MS),
      QUARANTINE_MS: String(QUARANTINE_MS),
      FETCH_DEADLINE_MS: '6000',
      OUTCOMES_LIMIT: String(OUTCOMES_LIMIT),
      DEFAULT_DELAY_MS: '5',
    }
    const start = (role: string, more: Record<string, string> = {}, largestFileKiB?: number): Running =>
      startDecorum([role], {
        env: { ...settings, ...more },
        ...(largestFileKiB === undefined ? {} : { largestFileKiB }),
      })
    const gateway = start('gateway')
    await ready(gateway)
    const linked = start('gateway', { REDIS_URL: `redis://127.0.0.1:${link.port}` })
    const supervised = start('fetcher', { FETCH_PROCESSES: '4' })
    // No file of it may grow, as on a full disk
    const alone = start('fetcher', { FETCH_PROCESSES: '0', ARCHIVE_DIR: await folder() }, 1)
    const board = start('console')
    const [linkedPort, supervisedPort, alonePort, boardPort, gatewayPort] = await Promise.all(
      [linked, supervised, alone, board, gateway].map(ready),
    )
    const watch = await startPrometheus({
      gateway: [gatewayPort ?? 0, linkedPort ?? 0],
      fetcher: [supervisedPort ?? 0, alonePort ?? 0],
      console: [boardPort ?? 0],
    })
    const { fires } = watch

    // Pages, a group that reads one outcome and is never heard of again, and a page for each answer of the site
    let heldBack = 0
    const { origin } = await site((request, response) => {
      if (request.url !== '/slow') return false
      heldBack++
      setTimeout(() => response.end('late'), 3_000).unref()
      return true
    })
    const frontier = await openFrontier({ redis: redis.url })
    onTestFinished(() => frontier.close())
    let pages = 0
    const visit = async (count: number): Promise<void> => {
      await frontier.enqueue(Array.from({ length: count }, () => ({ url: `${origin}/page-${pages++}` })))
      await sleep(1_000)
    }
    await visit(1)
    for await (const _ of frontier.outcomes({ group: 'silent', max: 1 })) break

    const kill9 = async (): Promise<void> => {
      for (const pid of childrenOf(supervised.child.pid ?? 0)) process.kill(pid, 'SIGKILL')
      await sleep(6_000) // an end soon after a start makes it wait longer before the next
    }
    const unreadable = new Queue(ORDERS, { connection: { url: redis.url }, ...queueOptions('{decorum:0}') })
    unreadable.on('error', () => undefined) // Redis ends before it does
    onTestFinished(() => unreadable.close())
    const silent = fires('DecorumReaderSilent')
    await Promise.all([
      fires('DecorumPagesNotKept', () => visit(10)),
      fires('DecorumFetcherRestarts', kill9),
      fires('DecorumOrdersUnreadable', async () => {
        await unreadable.add('orders', { orders: [{ of: 'another version' }] })
        await sleep(1_000)
      }),
      // A process that stands still now and then
      fires('DecorumEventLoopBlocked', async () => {
        linked.child.kill('SIGSTOP')
        await sleep(1_500)
        linked.child.kill('SIGCONT')
        await sleep(300)
      }),
    ])

    const answers = await Promise.all(
      ROWS.flatMap(({ panels }) => panels.flatMap(({ queries }) => queries)).map(async ({ expr }) => {
        const { status, data } = await watch.ask(expr.replaceAll('$__rate_interval', '1m'))
        return [status === 'success' && Array.isArray(data?.result) ? 'answered' : 'refused', expr]
      }),
    )
    expect(answers.filter(([how]) => how !== 'answered')).toEqual([])

    const admin = new Redis(redis.url, { maxRetriesPerRequest: null })
    admin.on('error', () => undefined)
    onTestFinished(() => admin.disconnect())
    await fires('DecorumLedgerSlow', async () => {
      await admin.call('CLIENT', 'PAUSE', '900', 'ALL')
      await sleep(1_000)
    })

    // Another tool pauses a queue
    await unreadable.pause()
    await fires('DecorumTrouble')
    await unreadable.resume()

    // One gateway is cut off while the configuration changes
    link.hurt('silent')
    const file = join(await folder(), 'fleet.yaml')
    await writeFile(file, 'MAX_ATTEMPTS: 4\n')
    const { code, stderr } = await decorum(['config', 'apply', file, '--reason', 'a test', '--yes'], {
      env: { REDIS_URL: redis.url },
    })
    expect([code, stderr]).toEqual([0, expect.anything()])
    const cutOff = Promise.all([fires('DecorumConfigDrift'), fires('DecorumLedgerCallsFail')]).then(() => link.heal())

    // Meanwhile a fetcher stands still in the middle of its exchanges, for longer than their leases
    supervised.child.kill('SIGTERM')
    await supervised.result
    await fires('DecorumStaleLeases', async () => {
      const before = heldBack
      await frontier.enqueue([{ url: `${origin}/slow`, priority: 'high' }])
      for (let waited = 0; heldBack === before && waited < 20_000; waited += 50) await sleep(50)
      alone.child.kill('SIGSTOP')
      await sleep(LEASE_MS + QUARANTINE_MS + 4_000) // and until a gateway has given the lane back
      alone.child.kill('SIGCONT')
      await sleep(6_000)
    })
    await Promise.all([cutOff, silent])

    await fires('DecorumOutcomesUnread', () => visit(pages < 2 * OUTCOMES_LIMIT ? 100 : 0))
    alone.child.kill('SIGTERM')
    await alone.result
    await frontier.enqueue([{ url: `${origin}/never` }])
    await Promise.all([fires('DecorumFetcherMissing'), fires('DecorumStalled'), fires('DecorumLate')])

    await redis.kill9()
    await fires('DecorumLedgerDown')
    await redis.restart()
    await fires('DecorumHeld')

    for (const one of [gateway, linked]) one.child.kill('SIGTERM')
    await fires('DecorumGatewayMissing')
    expect([...watch.fired, ...LEFT_OUT].toSorted()).toEqual(
      alertsOf()
        .map(({ alert }) => alert)
        .toSorted(),
    )
  })
})
