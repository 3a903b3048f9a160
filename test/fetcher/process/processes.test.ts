/** A parent and its fetching processes on a real Redis: frozen, blocked, killed and stopped. */

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { main } from '@decorum/fetcher'
import { readConfig, superviseFetching } from '@decorum/fetcher/testing'
import { openLedger } from '@decorum/ledger'
import { pino } from 'pino'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { childrenOf } from '../../storm/worker.ts'
import { redisForTest } from '../../support/redis.ts'

const redis = await redisForTest()
/** Fleets of their own, because a fleet agrees on one sink and on one set of deadlines. */
const [blockedFleet, orphanedFleet, sinklessFleet, emptyFleet] = (
  await Promise.all(Array.from({ length: 4 }, () => redisForTest()))
).map(({ url }) => ({ REDIS_URL: url }))
const ledger = await openLedger({ redis: redis.url, partitions: 1 })
afterAll(() => ledger.close())
const settings = {
  ...process.env,
  REDIS_URL: redis.url,
  DECORUM_CONTACT: 'https://example.com/bot',
  DECORUM_ALLOW_ADDRESSES: '127.0.0.0/8',
  FETCH_PROCESSES: '2',
  FETCH_CONCURRENCY: '101',
  LOG_LEVEL: 'warn',
}
async function family(over: Record<string, string> = {}) {
  const lines: { msg: string; silentMs?: number }[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const env = { ...settings, ...over }
  const fetching = await superviseFetching(readConfig(env), env, log)
  onTestFinished(() => fetching.stop()) // so that no process of it is started again during another test
  return { fetching, lines, said: () => lines.map(({ msg }) => msg) }
}
/** A dead process that nobody has buried yet is dead. */
const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return process.platform !== 'linux' || !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}
const slots = async () =>
  (await ledger.members())
    .filter(({ role }) => role === 'fetcher')
    .map((member) => member.slots)
    .toSorted((a, b) => a - b)

test('children share the slots; figures are sums; a frozen one is killed after five silent seconds and started again', async () => {
  const { fetching, lines, said } = await family()
  expect(fetching.isReady()).toBe(true)
  await expect.poll(slots).toEqual([50, 51])
  await expect.poll(() => fetching.registry.metrics()).toContain('\ndecorum_fetcher_slots 101\n') // of both
  const [first = 0, second = 0] = fetching.pids()

  process.kill(first, 'SIGSTOP')
  await expect.poll(() => isAlive(first)).toBe(false)
  const { silentMs } = lines.find(({ msg }) => msg.endsWith('silent: killed')) ?? {}
  expect(silentMs).toBeGreaterThanOrEqual(5_000) // rounded
  expect(said()).toContain('a fetching process is silent: killed')
  await expect.poll(() => fetching.pids().includes(first)).toBe(false)
  await expect.poll(() => fetching.isReady()).toBe(true)
  expect(fetching.pids()).toContain(second)

  process.kill(second, 'SIGKILL')
  await expect.poll(() => fetching.pids().includes(second)).toBe(false)
  await expect.poll(() => fetching.isReady()).toBe(true)
  expect(await fetching.registry.metrics()).toMatch(/decorum_fetcher_restarts_total 2\n/)

  const last = fetching.pids()
  await fetching.stop()
  expect(last.map(isAlive)).toEqual([false, false])
  // the killed ones are forgotten after a while, the others have said goodbye
  await expect.poll(slots).toEqual([])
})

/** A sink stands in for whatever might block: at SIGUSR2 the loop turns no more. */
async function blockingSink() {
  const folder = await mkdtemp(join(tmpdir(), 'decorum-blocked-'))
  afterAll(() => rm(folder, { recursive: true, force: true }))
  const [path, note] = [join(folder, 'sink.mjs'), join(folder, 'blocked')]
  await writeFile(
    path,
    `import { writeFileSync } from 'node:fs'
    process.once('SIGUSR2', () => {
      writeFileSync(${JSON.stringify(note)}, '')
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
    })
    export const openSink = async () => ({ keepsBodies: false, store() {}, close() {} })`,
  )
  return {
    env: { FETCH_PROCESSES: '1', PAGE_SINK: path },
    /** resolves when it is blocked */
    async block(pid = 0): Promise<void> {
      process.kill(pid, 'SIGUSR2')
      await expect.poll(() => existsSync(note)).toBe(true)
    },
  }
}

test('a loop that is blocked counts as silence', async () => {
  const sink = await blockingSink()
  const { fetching } = await family({ ...blockedFleet, ...sink.env })
  const [blocked = 0] = fetching.pids()
  await sink.block(blocked)
  await expect.poll(() => isAlive(blocked)).toBe(false)
})

test('children whose parent is killed do not outlive it: at once when they turn, in a few seconds when they are blocked', async () => {
  const orphansOf = async (
    over: Record<string, string>,
    before?: (pid?: number) => Promise<void>,
  ): Promise<number[]> => {
    const parent = fork(new URL('../support/parent.ts', import.meta.url).pathname, { env: { ...settings, ...over } })
    const [pids] = (await once(parent, 'message')) as [number[]]
    await before?.(pids[0])
    parent.kill('SIGKILL')
    return pids
  }
  const sink = await blockingSink()
  const [turning, blocked] = await Promise.all([
    orphansOf({}),
    orphansOf({ ...orphanedFleet, ...sink.env }, sink.block),
  ])
  await expect.poll(() => turning.some(isAlive)).toBe(false)
  await expect.poll(() => blocked.some(isAlive)).toBe(false)
})

test('what stops the first start of a child stops the parent, in the same words', async () => {
  const env = { ...settings, FETCH_PROCESSES: '1', REDIS_URL: 'redis://127.0.0.1:1' }
  await expect(superviseFetching(readConfig(env), env, pino({ level: 'silent' }))).rejects.toMatchObject({
    name: 'LedgerUnavailableError',
    code: 'LEDGER_UNAVAILABLE',
  })
  const sink = { ...env, ...sinklessFleet, PAGE_SINK: './no-such-module.mjs' }
  await expect(superviseFetching(readConfig(sink), sink, pino({ level: 'silent' }))).rejects.toMatchObject({
    name: 'SettingsError',
    message: expect.stringContaining('PAGE_SINK'),
  })
})

test('the whole role: a door, ready when its children are, gone when it stops', async () => {
  const service = await main({ ...settings, LOG_LEVEL: 'silent', FETCH_PROCESSES: '1' })
  const get = async (path: string) => (await fetch(`http://127.0.0.1:${service.port}${path}`)).status
  expect([await get('/livez'), await get('/readyz'), await get('/metrics')]).toEqual([200, 200, 200])
  await service.stop()
  await expect(get('/livez')).rejects.toThrow()
})

test('wrong settings stop the start, and the child that had begun to load ends', async () => {
  const others = childrenOf(process.pid)
  for (const [wrong, word] of [
    [{ FETCH_PROCESSES: '-1' }, 'FETCH_PROCESSES'],
    [{ FETCH_CONCURRENCY: '0' }, 'FETCH_CONCURRENCY'],
    [{ DECORUM_ALLOW_ADDRESSES: '127.0.0.1/99' }, 'DECORUM_ALLOW_ADDRESSES'],
    [{ DECORUM_ALLOW_PORTS: 'x' }, 'DECORUM_ALLOW_PORTS'],
    [{ LEASE_MS: '1000' }, 'FETCH_DEADLINE_MS'],
    [{ DECORUM_AGENTS: '[{"name":"a b"}]' }, 'DECORUM_AGENTS'],
    [{ REDIS_URL: '' }, 'REDIS_URL'],
  ] as const) {
    await expect(main({ ...settings, ...emptyFleet, ...wrong })).rejects.toMatchObject({
      code: 'SETTINGS',
      message: expect.stringContaining(word),
    })
  }
  await expect.poll(() => childrenOf(process.pid).filter((pid) => !others.includes(pid))).toEqual([])
})
