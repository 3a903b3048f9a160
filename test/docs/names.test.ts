/**
 * Names in code use the words of docs/glossary.md. Words that the glossary does not use, and words that make a person of a
 * process, may be no part of an identifier; in prose and in strings they may stand.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))

const NOT_USED: ReadonlySet<string> = new Set([
  ...['visitor', 'visitors', 'parked', 'shut', 'door', 'gap', 'gaps', 'octet', 'octets'],
  ...['say', 'says', 'saying', 'said', 'tell', 'tells', 'told', 'speak', 'speaks', 'spoken', 'voice'],
  ...['ask', 'asks', 'asking', 'asked', 'asker', 'hear', 'hears', 'heard', 'learn', 'learns', 'learned', 'taught'],
  ...['look', 'looks', 'looking', 'looked', 'eyes', 'blind', 'knows', 'believed', 'mind', 'minds'],
])

/** Names that are stored, or that programs outside read, and so stay. */
const STAYS: readonly [file: RegExp, name: string, why: string][] = [
  [/^packages\/ledger\/src\/(crawls\/list|layout|views\/view-partition)\.ts$/, 'parked', 'a count as Redis stores it'],
  [
    /^packages\/(robots\/src\/(origin-state|judge)|ledger\/src\/records\/state-text|politeness\/src\/admission\/dead-origin)\.ts$/,
    'heard',
    'a member of the stored robots state',
  ],
  [/^packages\/robots\/src\/(origin-state|judge)\.ts$/, 'Heard', 'its type'],
  [/^packages\/ledger\/src\/views\/view-names\.ts$/, 'looked', 'a member of answers of the console'],
  [/^packages\/protocol\/src\/outcome\.ts$/, 'says', 'a member of outcomes'],
  [/^services\/console\/src\/api\/(answers|list-origins)\.ts$/, 'looked', 'a member of answers of the console'],
  [/^services\/console\/src\/pages\/origins-page\.ts$/, 'looked', 'the same'],
  [/^services\/console\/src\/api\/answers\.ts$/, 'heard', 'a member of the stored robots state'],
  [/^services\/console\/src\/watch\/(history|recent)\.ts$/, 'parked', 'a count as Redis stores it'],
  [
    /^services\/(console\/src\/api\/outcome-event|fetcher\/src\/page\/fetch-page|permits\/src\/(leased|order-end))\.ts$/,
    'says',
    'a member of outcomes',
  ],
  [/^packages\/cli\/src\/(commands\/doctor|doctor\/findings)\.ts$/, 'says', 'a member of the JSON of doctor'],
  [/^packages\/cli\/src\/(ask-robots|commands\/check)\.ts$/, 'asked', 'a member of the JSON of check'],
  [
    /^packages\/cli\/src\/(conform\/world|synthetic-web\/(web-process))\.ts$/,
    'heard',
    'what sites of tests have received; tests read it',
  ],
  [/^packages\/cli\/src\/synthetic-web\/web-process\.ts$/, 'said', 'a kind of message to them'],
  [/^services\/proxy\/src\/authority\.ts$/, 'OctetString', 'a type of ASN.1'],
]

/** Comments, strings and regular expressions; of a template only what stands in `${…}` is code. */
const NO_CODE: Record<string, RegExp> = {
  ts: /\/\/[^\n]*|(?<=[(=,:[!&|?{;]\s*)\/(?![*/])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/|\/\*[\s\S]*?\*\/|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\$]|\\.|\$(?!\{)|\$\{(?:[^`{}]|`[^`]*`|\{[^{}]*\})*\})*`/g,
  lua: /--\[\[[\s\S]*?\]\]|--[^\n]*|'(?:[^'\\\n]|\\.)*'/g,
}
const codeIn = (text: string): string =>
  text.startsWith('`') ? (text.match(/\$\{[^`}]*/g) ?? []).join(' ').replace(/'[^']*'|"[^"]*"/g, '') : ' '
const PARTS = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g

function wrongNames(file: string): string[] {
  const code = readFileSync(join(root, file), 'utf8').replace(
    NO_CODE[file.split('.').at(-1) as string] as RegExp,
    codeIn,
  )
  const names = new Set(code.match(/[A-Za-z_$][\w$]*/g))
  return [...names].filter(
    (name) =>
      name.match(PARTS)?.some((part) => NOT_USED.has(part.toLowerCase())) &&
      !STAYS.some(([where, stays]) => where.test(file) && stays === name),
  )
}

test('identifiers use the words of the glossary, and nothing is personified', () => {
  const files = execFileSync('git', ['ls-files', 'packages', 'services'], { cwd: root, encoding: 'utf8' })
    .split('\n')
    .filter((file) => /\/src\/.*\.(ts|lua)$/.test(file))
  expect(files.length).toBeGreaterThan(300)
  expect(files.flatMap((file) => wrongNames(file).map((name) => `${file}: ${name}`))).toEqual([])
})

test('each exception is needed', () => {
  for (const [where, name, why] of STAYS) {
    const files = execFileSync('git', ['ls-files', 'packages', 'services'], { cwd: root, encoding: 'utf8' }).split('\n')
    const holds = (file: string): boolean => new RegExp(`\\b${name}\\b`).test(readFileSync(join(root, file), 'utf8'))
    expect(files.filter((file) => where.test(file)).every(holds), `${name}: ${why}`).toBe(true)
  }
})
