/**
 * Tests and benches use packages as any other reader does: through the entry points that a package.json exports
 * (`@decorum/ledger`, `@decorum/cli/testing`), not by the path of a source file. So a source file can be moved or split
 * without a change to its tests.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const listed = (...paths: string[]): string[] =>
  execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', ...paths], {
    cwd: root,
    encoding: 'utf8',
  })
    .split('\n')
    .filter((path) => path !== '' && existsSync(join(root, path)))
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8')

/** More imports by path than this are not wanted: a test that knows inner files breaks with every change of them. */
const LIMIT = 20

/** The path of an import or re-export, static or dynamic, that leads into a package past its entry points. */
const PAST_A_FACE = /\b(?:from|import)\s*\(?\s*'(?:\.\.\/)+((?:packages|services)\/[^']+)'/g

test(`at most ${LIMIT} imports of tests and benches name a source file instead of a package`, () => {
  const past = listed('test', 'bench')
    .filter((path) => /\.(ts|mjs|js)$/.test(path))
    .flatMap((path) => [...textOf(path).matchAll(PAST_A_FACE)].map(([, file]) => `${path}: ${file}`))
  expect(past.length, past.join('\n')).toBeLessThanOrEqual(LIMIT)
})

test('the first file of each package says what the package is and where to start', () => {
  const packages = listed('packages/*/package.json', 'services/*/package.json')
  expect(packages.length).toBeGreaterThan(10)
  const silent = packages
    .map((path) =>
      join(path, '..', (JSON.parse(textOf(path)) as { exports: Record<string, string> }).exports['.'] ?? ''),
    )
    .filter((face) => !/^\/\*\*[\s\S]*?\b[Ss]tart at\b[\s\S]*?\*\//.test(textOf(face)))
  expect(silent).toEqual([])
})

test('no service depends on another service, and no package but the cli on a service', () => {
  const packages = listed('packages/*/package.json', 'services/*/package.json').map((path) => {
    const { name, dependencies = {} } = JSON.parse(textOf(path)) as {
      name: string
      dependencies?: Record<string, string>
    }
    return { path, name, needs: Object.keys(dependencies) }
  })
  const services = new Set(packages.filter(({ path }) => path.startsWith('services/')).map(({ name }) => name))
  const wrong = packages
    .filter(({ name }) => name !== '@decorum/cli')
    .flatMap(({ name, needs }) => needs.filter((need) => services.has(need)).map((need) => `${name}: ${need}`))
  expect(wrong).toEqual([])
})

test.each(['audit', 'cli', 'client', 'robots'])(
  'each source file of %s is imported or exported: it is no workspace, so the search for dead code passes it over',
  (name) => {
    const folder = `packages/${name}`
    const sources = listed(`${folder}/src/*.ts`)
    const named = sources.flatMap((path) =>
      [...textOf(path).matchAll(/'((?:\.{1,2}\/)?[\w./-]+\.ts)'/g)].map(([, other = '']) => join(path, '..', other)),
    )
    const exported = [...textOf(`${folder}/package.json`).matchAll(/"\.\/(src\/[^"]+\.ts)"/g)].map(([, path]) => path)
    const known = new Set([...named, ...exported.map((path) => join(folder, path ?? ''))])
    expect(sources.length).toBeGreaterThan(10)
    expect(sources.filter((path) => !known.has(path))).toEqual([])
  },
)
