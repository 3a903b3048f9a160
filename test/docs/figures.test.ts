/** The figures of docs/figures.md: each number in bold, and its commit, stand in the page that the row names; and those of README.md. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8')
const ROW =
  /^\|(?<what>[^|]+)\|(?<figure>[^|]+)\|(?<commit>[^|]+)\| \[[^\]]+\]\((?<source>[^)#]+)(?:#(?<section>[^)]+))?\) \|$/gm

test.each([['docs/figures.md', 15]])(
  'every figure of %s stands in the source that it names, at the commit that it names',
  (page, least) => {
    const rows = [...textOf(page).matchAll(ROW)].map((row) => row.groups as Record<string, string>)
    expect(rows.length).toBeGreaterThanOrEqual(least)
    const missing: string[] = []
    for (const { what = '', figure = '', commit = '', source = '', section } of rows) {
      const text = sectionOf(textOf(join(dirname(page), source)), section)
      const wanted = [...figure.matchAll(/\*\*([^*]+)\*\*/g)].map(([, number = '']) => number)
      expect(wanted.length, what).toBeGreaterThan(0)
      if (commit.trim() !== '') wanted.push(commit.trim())
      for (const one of wanted) if (!says(text, one)) missing.push(`${what.trim()}: ${one} is not in ${source}`)
    }
    expect(missing).toEqual([])
  },
)

/** A number of its own: 0 is not found in 10, nor 715 in 7152. */
const says = (text: string, number: string): boolean =>
  new RegExp(`(?<![\\w.,])${number.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}(?![\\w]|[.,]\\d)`).test(text)

/** What stands under a heading, as far as the next one of the same depth. */
function sectionOf(text: string, anchor: string | undefined): string {
  if (anchor === undefined) return text
  const parts = text.split(/^(?=## )/m)
  const found = parts.find((part) => slugOf(/^## (.+)$/m.exec(part)?.[1] ?? '') === anchor)
  if (found === undefined) throw new Error(`there is no heading for #${anchor}`)
  return found
}

const slugOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-')

test('the four rows of the README are those of docs/peers.md, and its figure of the storm is the one of docs/promises.md', () => {
  const numbersOf = (row: string): string[] => row.match(/\d[\d,]*/g)?.slice(0, 7) ?? []
  const rowsOf = (page: string): string[][] =>
    textOf(page)
      .split('\n')
      .filter((line) => /^\| \d+ crawlers/.test(line))
      .map((line) => numbersOf(line.replaceAll('*', '')))
  expect(rowsOf('README.md')).toHaveLength(4)
  expect(rowsOf('README.md').map((row) => row.slice(0, 6))).toEqual(
    rowsOf('docs/peers.md').map((row) => row.slice(0, 6)),
  )
  const [, requests = ''] = /: ([\d,]+) requests under 30 minutes/.exec(textOf('README.md')) ?? []
  expect(says(textOf('docs/promises.md'), requests)).toBe(true)
})
