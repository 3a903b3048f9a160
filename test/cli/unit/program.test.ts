/** What can be typed: docs/spec/design.md §4. */
import { buildProgram } from '@decorum/cli'
import { expect, test } from 'vitest'

const program = buildProgram(() => undefined)

test('all the commands are there', () => {
  expect(program.commands.map((command) => command.name())).toEqual([
    'up',
    'crawl',
    'demo',
    'guard',
    'conform',
    'check',
    'enqueue',
    'outcomes',
    'why',
    'cancel',
    'readers',
    'crawls',
    'origin',
    'sitemaps',
    'partitions',
    'doctor',
    'upgrade',
    'config',
    'stop',
    'fleet',
    'status',
    'top',
    'completion',
    'audit',
    'gateway',
    'fetcher',
    'console',
    'permits',
    'proxy',
  ])
})

test.for(program.commands.map((command) => [command.name(), command] as const))(
  '%s answers --help and --json, and says in a line what it does',
  ([name, command]) => {
    expect(command.options.map((option) => option.long)).toContain('--json')
    const help = command.helpInformation()
    expect(help).toContain(`Usage: decorum ${name}`)
    expect(help).toContain('-h, --help')
    expect(command.description()).toMatch(/^\S.{20,120}$/)
  },
)
