/** Whatever a page or a comment of this repository points to exists: files, anchors, sections, decisions. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => path !== '' && existsSync(join(root, path)))
const pages = tracked.filter((path) => path.endsWith('.md'))
const sources = tracked.filter((path) => /\.(ts|mjs|lua|py|yml)$/.test(path))
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8')
const isThere = (path: string): boolean => existsSync(join(root, path))

/** The anchors that a Markdown page offers, as GitHub makes them from its headings. */
function anchorsOf(path: string): Set<string> {
  const headings = [...textOf(path).matchAll(/^#{1,6} +(.+)$/gm)].map(([, heading = '']) => heading)
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[`*]|\[([^\]]*)\]\([^)]*\)/g, '$1')
        .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
        .replaceAll(' ', '-'),
    ),
  )
}

/** The numbered sections of a page: `## 6. …` or `### 6.2 …`. */
const sectionsOf = (path: string): Set<string> =>
  new Set([...textOf(path).matchAll(/^#{2,4} +(\d+(?:\.\d+)*)\.? /gm)].map(([, number = '']) => number))

function brokenLinks(page: string): string[] {
  const broken: string[] = []
  for (const [, target = ''] of textOf(page).matchAll(/\]\(([^)\s]+)\)/g)) {
    if (/^[a-z]+:/.test(target)) continue
    const [file = '', anchor] = target.split('#')
    const path = file === '' ? page : normalize(join(dirname(page), file))
    if (!isThere(path)) broken.push(`${page}: ${target} does not exist`)
    else if (anchor !== undefined && statSync(join(root, path)).isFile() && !anchorsOf(path).has(anchor))
      broken.push(`${page}: ${target} has no such heading`)
  }
  return broken
}

/** A path of this repository, written out, such as `docs/audit.md`, and the section of it that is meant. */
const CITATION =
  /(?<![\w/.-])((?:docs|test|packages|services|bench|scripts|deploy|integrations)\/[\w./-]*\w\/?)(?:[`)]* §(\d+(?:\.\d+)*))?/g
/** Its layout is a sketch of folders, some of which are still to come. */
const SKETCH = 'docs/spec/design.md'
/** A file named without its folder, such as `reserve.lua`. */
const BARE = /`([\w-]+\.(?:lua|ts|mjs))`/g
const names = new Set(tracked.map((path) => basename(path)))
/** Made when the program runs or is packed; not part of the repository. */
const MADE = /\/(dist|node_modules|out)(\/|$)/

function brokenCitations(source: string, text: string): string[] {
  const broken: string[] = []
  for (const [cited, path = '', section] of text.matchAll(CITATION)) {
    if (MADE.test(path)) continue
    if (!isThere(path)) broken.push(`${source}: ${cited}`)
    else if (section !== undefined && path.endsWith('.md') && !sectionsOf(path).has(section))
      broken.push(`${source}: ${cited} has no such section`)
  }
  for (const [, number = ''] of text.matchAll(/\bdecision (\d{4})\b/g))
    if (!tracked.some((path) => path.startsWith(`docs/decisions/${number}-`)))
      broken.push(`${source}: decision ${number}`)
  return broken
}

/** Comments alone: a string of the code may name a file that a test makes. */
const commentsOf = (path: string): string =>
  [...textOf(path).matchAll(/\/\*[\s\S]*?\*\/|(?<!:)\/\/[^\n]*|^\s*--[^\n]*|--\[\[[\s\S]*?\]\]|^\s*#[^\n]*/gm)]
    .map(([comment]) => comment)
    .join('\n')

describe('references', () => {
  test('every link of a page leads to a file, and to a heading where it names one', () => {
    expect(pages.length).toBeGreaterThan(10)
    expect(pages.flatMap(brokenLinks)).toEqual([])
  })

  test('every path and section that a page names in words exists', () => {
    expect(pages.filter((page) => page !== SKETCH).flatMap((page) => brokenCitations(page, textOf(page)))).toEqual([])
  })

  test('every file that a page names without its folder exists', () => {
    const gone = pages
      .filter((page) => page !== 'CHANGELOG.md')
      .flatMap((page) => [...textOf(page).matchAll(BARE)].map(([, name = '']) => ({ page, name })))
      .filter(({ name }) => !names.has(name))
    expect(gone).toEqual([])
  })

  test('every page of docs is reached from its index', () => {
    const linked = (index: string): string[] =>
      [...textOf(index).matchAll(/\]\(([^)#\s]+)/g)].map(([, target = '']) => normalize(join(dirname(index), target)))
    const reached = new Set([...linked('docs/README.md'), ...linked('docs/decisions/README.md')])
    const lost = pages.filter((page) => page.startsWith('docs/') && page !== 'docs/README.md' && !reached.has(page))
    expect(lost).toEqual([])
  })

  test('every path, section and decision that a comment cites exists', () => {
    expect(sources.flatMap((source) => brokenCitations(source, commentsOf(source)))).toEqual([])
  })

  test('a section of a page of ours is cited with the path of the page', () => {
    const LONELY = /(?<![\w/])(design|spec|reliability|glossary)\b[\w/.]*[`)]* §/g
    const lonely = sources.flatMap((source) =>
      [...commentsOf(source).matchAll(LONELY)].map(([cited]) => `${source}: ${cited}`),
    )
    expect(lonely).toEqual([])
  })
})
