/** The command by which docs/content.md makes one index of many: its lines are in the order of octets, in whatever language it runs. */
import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import cases from '../fetcher/unit/surt-cases.json' with { type: 'json' }

/** A machine's usual language sorts `)` after letters, or not at all. @returns the environment of a shell in it; undefined: it cannot be made here */
function english(place: string): NodeJS.ProcessEnv | undefined {
  try {
    execFileSync('localedef', ['-i', 'en_US', '-f', 'UTF-8', join(place, 'en_US.UTF-8')], { stdio: 'ignore' })
  } catch {
    return undefined
  }
  const { LC_ALL: _, ...env } = process.env
  return { ...env, LOCPATH: place, LANG: 'en_US.UTF-8' }
}
const inOctets = (lines: string[]): string[] => lines.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))

test('indexes merged as docs/content.md says are one index', async ({ skip }) => {
  const place = await mkdtemp(join(tmpdir(), 'decorum-merge-'))
  onTestFinished(() => rm(place, { recursive: true, force: true }))
  const env = english(place)
  if (env === undefined) return skip('no localedef, so no language in which the order would differ')
  const command = /`([^`\n]*sort -m [^`\n]*)`/.exec(
    await readFile(new URL('../../docs/content.md', import.meta.url), 'utf8'),
  )?.[1]
  const keys = (cases as [string, string][]).map(([, key], at) => `${key} 20261120000000 {"offset":"${at}"}`)
  const parts = [0, 1, 2].map((part) => inOctets(keys.filter((_, at) => at % 3 === part)))
  for (const [part, lines] of parts.entries()) await writeFile(join(place, `${part}.cdxj`), `${lines.join('\n')}\n`)
  const merge = (text: string): string[] =>
    execFileSync('sh', ['-c', text], { cwd: place, env, encoding: 'utf8', maxBuffer: 10_000_000 }).trimEnd().split('\n')
  expect(merge('sort -m *.cdxj'), 'a language in which the order is another one').not.toEqual(inOctets(keys))
  expect(merge(command ?? 'false')).toEqual(inOctets(keys))
})
