/** A real process under a supervisor that ends. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'

test('a process whose supervisor ended while it was loading ends before it works', async () => {
  const child = fork(new URL('support/late-child.ts', import.meta.url).pathname)
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child, 'message')
  const gone = once(child, 'exit')
  child.disconnect()
  expect(await gone).toEqual([1, null])
})
