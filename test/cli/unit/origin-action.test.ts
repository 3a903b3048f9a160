/** `decorum origin`: what may be typed together, and what each action needs. */

import { buildProgram } from '@decorum/cli'
import { type ActionOptions, readAction, UsageError } from '@decorum/cli/testing'
import { expect, test } from 'vitest'

test.for([
  [{ pause: true, block: true, reason: 'x' }, 'one thing at a time: --pause or --block'],
  [{ pause: true }, '--pause needs --reason'],
  [{ block: true }, '--block needs --reason'],
  [{ drop: true, reason: ' ' }, '--drop needs --reason'],
  [{ delay: 5_000, reason: 'x' }, '--delay needs its end'],
  [{ delay: 999_999_999, for: 1_000, reason: 'x' }, 'at most 7 days'],
  [{ resume: true, for: 1_000 }, '--resume has no --for'],
  [{ reason: 'x' }, '--reason belongs to an action'],
  [{ agent: 'x' }, '--agent belongs to an action'],
  [{ pause: true, agent: 'x', reason: 'x' }, '--pause applies to every agent'],
] as [ActionOptions, string][])('%o is refused', ([options, sentence]) => {
  expect(() => readAction(options)).toThrow(UsageError)
  expect(() => readAction(options)).toThrow(sentence)
})

test('nothing but looking is no action', () => {
  expect(readAction({})).toBeUndefined()
})

test.for([
  ['90s', 90_000],
  ['30m', 1_800_000],
  ['1h30m', 5_400_000],
  ['7d', 604_800_000],
] as const)('--for %s', async ([text, ms]) => {
  expect(await typed(['--for', text])).toMatchObject({ for: ms })
})

test.for(['1 hour', '1h!', 'h', '0s', '-1h', '9999d', '1H'])('--for %o is refused', async (text) => {
  await expect(typed(['--for', text])).rejects.toThrow('A length such as 90s')
})

test.for(['0', 'soon', '-5', '1.5'])('--delay %s is refused', async (text) => {
  await expect(typed(['--delay', text])).rejects.toThrow('A whole number from 1')
})

/** The options as commander reads them; the action itself does not run. */
async function typed(args: string[]): Promise<unknown> {
  const command = buildProgram(() => undefined).commands.find((one) => one.name() === 'origin')
  if (command === undefined) throw new Error('there is no such command')
  command.configureOutput({ writeErr: () => undefined })
  let seen: unknown
  command.action((_origin, options) => {
    seen = options
  })
  await command.parseAsync(['http://a.example', ...args], { from: 'user' })
  return seen
}
