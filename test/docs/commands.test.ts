/** Each command that a page, an example or a unit names can be typed: its words and its options exist. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildProgram } from '@decorum/cli'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
type Command = ReturnType<typeof buildProgram>
const program: Command = buildProgram(() => undefined)
const files = execFileSync('git', ['ls-files', '*.md', '*.sh', '*.service', '*.yaml', '*.yml'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => path !== '' && path !== 'CHANGELOG.md' && !path.startsWith('docs/decisions/')) // as it was then

type Named = { file: string; words: string[] }
/** In prose between backticks, in code from the start of a line, behind settings, `sudo`, or in a shell's `$(…)`. */
const TYPED = /(?:^|[`(]|=\S* )(?:\S+\/)?(?:decorum|npm start --) ([a-z-][^`\n]*)/gm
const commandsOf = (file: string): Named[] =>
  [...readFileSync(join(root, file), 'utf8').matchAll(TYPED)].flatMap(([, line = '']) => {
    const words = (line.split(/ #| {2}| [|>&;]|\$\(|[)"']|, | … /)[0] ?? '').trim().split(/\s+/)
    return (words[0] ?? '').split('|').map((first) => ({ file, words: [first, ...words.slice(1)] }))
  })

/** What is wrong with it. */
function fault(words: string[]): string | undefined {
  let command: Command = program
  for (const [n, word] of words.entries()) {
    if (word === '--') break
    if (word.startsWith('--')) {
      const [name = ''] = word.replace(/[.,:;]$/, '').split('=')
      if (name !== '--help' && !command.options.some(({ long }) => long === name)) return `${name} is no option`
      continue
    }
    const below = command.commands.find((one) => one.name() === word)
    if (below !== undefined) command = below
    else if (command === program && n === 0) return `there is no command '${word}'`
    else if (command.registeredArguments.length === 0 && n > 0 && words[n - 1] === command.name())
      return `'${command.name()}' has no '${word}'`
  }
  return undefined
}

test('every command that is named exists, with its options', () => {
  const named = files.flatMap(commandsOf)
  expect(named.length).toBeGreaterThan(80)
  expect(
    named.flatMap(({ file, words }) => {
      const why = fault(words)
      return why === undefined ? [] : [`${file}: ${words.join(' ')}: ${why}`]
    }),
  ).toEqual([])
  expect(fault(['fleet']), 'a former form is none').toBeDefined()
  expect(fault(['origin', 'https://a.example', '--gap', '5'])).toBe('--gap is no option')
})
