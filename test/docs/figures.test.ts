/** The figures that README.md and docs/figures.md quote: each number in bold, and its commit, stand in the page that the row names. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8')
const ROW =
  /^\|(?<what>[^|]+)\|(?<figure>[^|]+)\|(?<commit>[^|]+)\| \[[^\]]+\]\((?<source>[^)#]+)(?:#(?<section>[^)]+))?\) \|$/gm

test.each([
  ['README.md', 5],
  ['docs/figures.md', 15],
])('every figure of %s stands in the source that it names, at the commit that it names', (page, least) => {
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
})

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
