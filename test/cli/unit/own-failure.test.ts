/** What `conform` does when its own Redis or fleet fails, and how it ends what it has started. */
import { LedgerUnavailableError } from '@decorum/ledger'
import { expect, test } from 'vitest'
import { patiently, roleTrouble, runAll } from '../../../packages/cli/src/conform/own-failure.ts'

const NEVER = new AbortController().signal
const away = new LedgerUnavailableError('view', 'no answer')

test('a call that Redis does not answer is made again', async () => {
  const answers = [away, away, undefined]
  const call = async (): Promise<string> => {
    const error = answers.shift()
    if (error !== undefined) throw error
    return 'answered'
  }
  expect(await patiently(call, NEVER)).toBe('answered')
  expect(answers).toEqual([])
})

test('it is not made again when the time is over, when nobody needs it, or when asking again is no help', async () => {
  let calls = 0
  const fails = (error: Error) => async (): Promise<never> => {
    calls++
    throw error
  }
  await expect(patiently(fails(away), NEVER, 0)).rejects.toBe(away)
  await expect(patiently(fails(away), AbortSignal.abort())).rejects.toBe(away)
  await expect(patiently(fails(new RangeError('a bug')), NEVER)).rejects.toThrow('a bug')
  expect(calls).toBe(3)
})

test('an end that fails keeps none of the others from running, and the first error is told last', async () => {
  const ran: string[] = []
  const end = (name: string, error?: Error) => async (): Promise<void> => {
    ran.push(name)
    if (error) throw error
  }
  const [first, second] = [new Error('first'), new Error('second')]
  await expect(runAll([end('a', first), end('b'), end('c', second), end('d')])).rejects.toBe(first)
  expect(ran).toEqual(['a', 'b', 'c', 'd'])
})

test('the end of a process is passed over once where it is expected; that it cannot be started again is told', () => {
  const told: string[] = []
  const { onRoleEvent, expect: expectEnd } = roleTrouble((why) => told.push(why))
  const died = { kind: 'died', name: 'permits-1', pid: 7, how: 'SIGKILL', againInMs: 500 } as const
  expectEnd(7)
  onRoleEvent(died)
  expect(told).toEqual([])
  const line = { level: 50, msg: 'permits-1 was not ready after 90 s' }
  onRoleEvent({ kind: 'line', name: 'permits-1', line, starting: false })
  onRoleEvent({ ...died, how: 'exit code null' })
  onRoleEvent({ ...died, name: 'gateway-1', pid: 8 })
  expect(told).toEqual(['permits-1 ended (permits-1 was not ready after 90 s)', 'gateway-1 ended (SIGKILL)'])
})
