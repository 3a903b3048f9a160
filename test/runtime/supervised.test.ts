/** Real processes under a supervisor: one that ends, one that cannot be started, and one that is odd in its environment. */

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { systemClock } from '@decorum/protocol'
import { SupervisedProcess } from '@decorum/runtime/supervised-process'
import { pino } from 'pino'
import { expect, onTestFinished, test, vi } from 'vitest'

const IDLE = new URL('support/idle-child.ts', import.meta.url).pathname
const LATE = new URL('support/late-child.ts', import.meta.url).pathname

function idleProcess() {
  const said: string[] = []
  const log = pino({}, { write: (line: string) => void said.push((JSON.parse(line) as { msg: string }).msg) })
  const child = new SupervisedProcess({ name: 'child', module: IDLE, env: process.env, log, clock: systemClock })
  onTestFinished(() => child.kill())
  return { child, said }
}

test('a process whose supervisor ended while it was loading ends before it works', async () => {
  const child = fork(LATE)
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child, 'message')
  const gone = once(child, 'exit')
  child.disconnect()
  expect(await gone).toEqual([1, null])
})

/** Of the first `fork` tells by an event, the second it throws. */
test.each([
  ['is not there', '/nonexistent/node'],
  ['cannot be named', `/${'x'.repeat(5_000)}`],
])('a process whose program %s: the first start says why, a later one is tried again', async (_, program) => {
  const { execPath } = process
  onTestFinished(() => {
    process.execPath = execPath
  })
  process.execPath = program
  await expect(idleProcess().child.start()).rejects.toThrow(/^a child ended before it worked \(spawn .*E\w+\)$/)
  process.execPath = execPath
  const { child, said } = idleProcess()
  await child.start()
  await expect.poll(() => child.isReady()).toBe(true)
  process.execPath = program
  child.kill()
  await expect.poll(() => said).toContain('a child did not start')
  process.execPath = execPath
  await expect.poll(() => child.isReady()).toBe(true)
  await child.stop(1_000)
  expect(child.isReady()).toBe(false)
})

test('how a process reaches its supervisor is not taken from what stands in the environment already', async () => {
  vi.stubEnv('NODE_CHANNEL_FD', '')
  vi.stubEnv('NODE_CHANNEL_SERIALIZATION_MODE', 'advanced')
  onTestFinished(() => void vi.unstubAllEnvs())
  const { child } = idleProcess()
  await child.start()
  await child.stop(1_000)
})
