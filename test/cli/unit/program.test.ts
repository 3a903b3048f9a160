/** What can be typed: docs/spec/design.md §4. */
import { buildProgram } from '@decorum/cli'
import { FORMER_FORMS } from '@decorum/cli/testing'
import { expect, test } from 'vitest'
import { decorumHere } from '../decorum-here.ts'

type Command = ReturnType<typeof buildProgram>
const program: Command = buildProgram(() => undefined)
const leaves = (of: Command): Command[] =>
  of.commands.flatMap((one) => (one.commands.length === 0 ? [one] : [one, ...leaves(one)]))

test('--help has at most ten commands in its first group, and 22 in all', async () => {
  const { stdout } = await decorumHere(['--help'])
  const groups = [...stdout.matchAll(/^(\S.*):\n((?: {2}\S.*\n(?: {3,}.*\n)*)+)/gm)].map(
    ([, heading = '', lines = '']) => [heading, ...[...lines.matchAll(/^ {2}([a-z]+)/gm)].map(([, name]) => name)],
  )
  expect(groups.filter(([heading]) => heading !== 'Options' && !heading?.startsWith('Settings'))).toEqual([
    ['Crawl', 'demo', 'up', 'crawl', 'guard', 'env', 'enqueue', 'outcomes', 'check', 'audit'],
    [
      'See what the fleet does, and act on it',
      ...['status', 'doctor', 'origin', 'url', 'crawls', 'stop', 'config', 'ledger'],
    ],
    ['One process of a fleet, for containers and services', ...['gateway', 'fetcher', 'console', 'permits', 'proxy']],
  ])
  expect(program.commands.length).toBe(22)
})

test.for(leaves(program).map((command) => [`${command.parent?.name()} ${command.name()}`, command] as const))(
  '%s answers --help and --json, and says in a line what it does',
  ([name, command]) => {
    const help = command.helpInformation()
    expect(help).toContain(name)
    expect(help).toContain('-h, --help')
    expect(command.description()).toMatch(/^\S.{15,120}$/)
    const isGroup = ['url', 'config', 'ledger'].includes(command.name())
    expect(command.options.some((option) => option.long === '--json')).toBe(!isGroup)
  },
)

test('help in front of a command is its --help', async () => {
  expect((await decorumHere(['help', 'url', 'why'])).stdout).toBe((await decorumHere(['url', 'why', '--help'])).stdout)
  expect((await decorumHere(['help'])).stdout).toContain('Usage: decorum [options] [command]')
})

test.for(Object.entries(FORMER_FORMS))('%s: answers with its present form, and does nothing', async ([former, now]) => {
  const words = former.split(' ')
  expect(await decorumHere([...words, 'x', '--json'])).toEqual({
    code: 2,
    stdout: '',
    stderr: `decorum: 'decorum ${former}' is now 'decorum ${now}'\n`,
  })
  const present = now.split(' ').filter((word) => /^[a-z]/.test(word))
  let command: Command | undefined = program
  for (const word of present) command = command?.commands.find((one) => one.name() === word)
  expect(command, now).toBeDefined()
  for (const flag of now.match(/--\w+/g) ?? []) expect(command?.options.map(({ long }) => long)).toContain(flag)
})
