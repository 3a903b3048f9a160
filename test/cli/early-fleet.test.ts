/** Processes of a fleet that are started before their settings are known. */
import type { ChildProcess } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { readFileSync } from 'node:fs'
import type { RoleEvent } from '@decorum/cli'
import { earlyFleet } from '@decorum/cli/testing'
import { expect, onTestFinished, test, vi } from 'vitest'
import { fleetEnv } from '../journey/fleet.ts'
import { childrenOf } from '../storm/worker.ts'
import { redisForTest } from '../support/redis.ts'
import { startDecorum } from './decorum.ts'

const redis = await redisForTest()

test('they go by the settings that they are told, and by no others; they drain and end as others do', async () => {
  vi.stubEnv('LOG_LEVEL', 'nonsense') // of the process that starts them
  vi.stubEnv('NODE_CHANNEL_SERIALIZATION_MODE', 'advanced')
  onTestFinished(() => void vi.unstubAllEnvs())
  const events: RoleEvent[] = []
  const early = earlyFleet({ gateways: 1, fetchers: 1, console: true })
  const fleet = await early.begin(fleetEnv(redis.url), (event) => events.push(event))
  onTestFinished(() => fleet.kill())
  expect(fleet.members.map(({ name, port }) => [name, port > 0])).toEqual([
    ['gateway-1', true],
    ['fetcher-1', true],
    ['console', true],
  ])
  expect(events.filter(({ kind }) => kind === 'ready')).toHaveLength(3)
  expect(await fleet.stop()).toBe(true)
})

test('wrong settings are told in the same words as without an early start', async () => {
  const begin = earlyFleet({ gateways: 0, fetchers: 1 }).begin(
    fleetEnv(redis.url, { FETCH_CONCURRENCY: '0' }),
    () => {},
  )
  await expect(begin).rejects.toMatchObject({
    name: 'UsageError',
    message: expect.stringContaining('FETCH_CONCURRENCY'),
  })
})

test('the processes of a fleet that is not needed end, with those that they have started, and none is started again', async () => {
  const started: ChildProcess[] = []
  const note = (message: unknown): void => void started.push((message as { process: ChildProcess }).process)
  subscribe('child_process', note)
  onTestFinished(() => void unsubscribe('child_process', note))
  const early = earlyFleet({ gateways: 1, fetchers: 1, console: { usual: 7_070 } })
  expect(started).toHaveLength(3)
  const [, fetcher] = started
  const fetching = await onlyChildOf(fetcher as ChildProcess)
  process.kill(fetching, 'SIGSTOP') // it cannot notice that it is alone
  early.cancel()
  await expect(early.begin(fleetEnv(redis.url), () => {})).rejects.toThrow('the fleet is not needed')
  await expect.poll(() => started.every(({ signalCode }) => signalCode === 'SIGKILL')).toBe(true)
  await expect.poll(() => readProcessState(fetching)).toBe('gone')
  expect(started).toHaveLength(3)
})

test('a fetcher that is ended while its fetching process loads ends without a word; one that loses that process says so', async () => {
  // It never gets further, however late this test sees it.
  const loads =
    "if (process.argv[1]?.endsWith('/process/child.ts')) await new Promise(() => setInterval(() => {}, 1_000))"
  const NODE_OPTIONS = `--import "data:text/javascript,${loads}"`
  const startFetcher = async () => {
    const { child, result } = startDecorum(['fetcher'], {
      env: fleetEnv(redis.url, { FETCH_PROCESSES: '1', NODE_OPTIONS }) as Record<string, string>,
    })
    return { child, result, fetching: await onlyChildOf(child) }
  }
  const [interrupted, bereft] = await Promise.all([startFetcher(), startFetcher()])
  interrupted.child.kill('SIGINT') // as a terminal does, to both
  process.kill(interrupted.fetching, 'SIGINT')
  process.kill(bereft.fetching, 'SIGKILL')
  expect(await interrupted.result).toMatchObject({ code: 0, stderr: '' })
  expect(await bereft.result).toMatchObject({
    code: 1,
    stderr: 'decorum: a fetching process ended before it worked (SIGKILL)\n',
  })
})

/** Never 0: a signal to that would go to the whole process group of the tests. */
async function onlyChildOf({ pid }: ChildProcess): Promise<number> {
  let children: number[] = []
  await expect.poll(() => (children = childrenOf(pid as number))).toHaveLength(1)
  return children[0] as number
}

/** A dead process that nobody has buried yet is gone. */
function readProcessState(pid: number): string {
  try {
    const state = /^\d+ \(.*\) (\w)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1] ?? ''
    return state === 'Z' ? 'gone' : state
  } catch {
    return 'gone'
  }
}
