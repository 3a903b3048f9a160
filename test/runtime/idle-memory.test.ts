/** Memory goes back to the machine when work is over. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { idleWatch } from '@decorum/runtime/idle-memory'
import { expect, onTestFinished, test } from 'vitest'

test('memory is given back once after the start, and once after each stretch of work', () => {
  let [spent, now] = [900, 1_000]
  const isOver = idleWatch(
    () => spent,
    () => now,
  )
  const look = (spentMs: number): boolean => {
    spent += spentMs
    now += 30_000
    return isOver()
  }
  expect(look(6_000), 'a fifth of a core').toBe(false)
  expect(look(900), 'the start is over').toBe(true)
  expect([look(900), look(2_900)]).toEqual([false, false])
  expect([look(3_000), look(20_000)], 'work').toEqual([false, false])
  expect([look(0), look(0)]).toEqual([true, false])
})

test('an idle process does not keep what its work has left behind', async () => {
  const child = fork(new URL('support/garbage-child.ts', import.meta.url).pathname)
  onTestFinished(() => void child.kill('SIGKILL'))
  await expect.poll(async () => ((await once(child, 'message')) as [{ kept: number }])[0].kept).toBeLessThan(0.2)
})
