/** A fetcher that is frozen between its lease and its first byte sends nothing when it thaws. */

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as passes } from 'node:timers/promises'
import { OWN_STALL_MS, SEND_WINDOW_MS, STALL_CHECK_MS } from '@decorum/sending/testing'
import { expect, test } from 'vitest'
import { answerOf, rawOrigin } from '../../fetcher/support/raw-origin.ts'

const CHILD = new URL('../../fetcher/support/frozen-child.ts', import.meta.url).pathname

async function lookingUp(port: number): Promise<ChildProcess> {
  const child = fork(CHILD, [String(port), 'waits'])
  expect((await once(child, 'message'))[0]).toBe('looking up')
  return child
}
async function verdict(child: ChildProcess): Promise<{ kind: string; why: string }> {
  child.send('go')
  const [result] = await once(child, 'message')
  await once(child, 'exit')
  return result as { kind: string; why: string }
}

test('SIGSTOP for longer than the send window: the lease is too old, the site sees no request', async () => {
  const site = await rawOrigin(answerOf(200).toString('latin1'))
  const child = await lookingUp(site.port)
  child.kill('SIGSTOP')
  await passes(SEND_WINDOW_MS + 1_500) // the freeze itself
  const said = verdict(child) // the answer to its look-up lies there when it thaws
  child.kill('SIGCONT')
  expect(await said).toMatchObject({ kind: 'not-sent' })
  expect(site.asked).toEqual([])
})

test('SIGSTOP for a part of the send window in which nothing came of the look-up: the site is not blamed', async () => {
  const site = await rawOrigin(answerOf(200).toString('latin1'))
  const child = await lookingUp(site.port)
  const said = once(child, 'message')
  child.kill('SIGSTOP')
  await passes(OWN_STALL_MS + STALL_CHECK_MS + 500) // the freeze itself
  child.kill('SIGCONT')
  const [result] = await said
  expect(result).toEqual({ kind: 'not-sent', why: 'this process was kept from running before it could send' })
  child.kill()
})

test('without the freeze the same exchange is sent', async () => {
  const site = await rawOrigin(answerOf(200).toString('latin1'))
  const child = fork(CHILD, [String(site.port)]) // nobody keeps it waiting: its lease is young when it sends
  const said: unknown[] = []
  child.on('message', (message) => said.push(message))
  await once(child, 'close')
  expect(said).toMatchObject(['looking up', { kind: 'answered' }])
  expect(site.asked.length).toBe(1)
})
