/** docs/dependencies.md against the package.json files: each direct runtime dependency has a row with its reason, and no other has. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8')

type Versions = Record<string, string>
type Manifest = { name: string; dependencies?: Versions; optionalDependencies?: Versions; devDependencies?: Versions }
const runtimeOf = ({ dependencies, optionalDependencies }: Manifest): Versions => ({
  ...dependencies,
  ...optionalDependencies,
})
const manifests = execFileSync(
  'git',
  ['ls-files', 'package.json', 'packages/*/package.json', 'services/*/package.json'],
  {
    cwd: root,
    encoding: 'utf8',
  },
)
  .split('\n')
  .filter((path) => path !== '' && existsSync(join(root, path)))
  .map((path) => JSON.parse(textOf(path)) as Manifest)
const isOurs = (name: string): boolean => name.startsWith('@decorum/')
const shortName = ({ name }: Manifest): string => name.replace('@decorum/', '')

/** library → who uses it, by the table before the first sub-heading */
const [table = ''] = textOf('docs/dependencies.md').split('\n## ')
const told = new Map(
  [...table.matchAll(/^\| (`[^|]+) \| ([^|]+) \| [^|]+ \|$/gm)].flatMap(([, names = '', users = '']) =>
    [...names.matchAll(/`([^`]+)`/g)].map(([, name = '']) => [name, users.split(', ').sort()] as const),
  ),
)

test('each runtime dependency stands in the table with those that use it', () => {
  const used = new Map<string, string[]>()
  for (const manifest of manifests)
    for (const name of Object.keys(runtimeOf(manifest)))
      if (!isOurs(name)) used.set(name, [...(used.get(name) ?? []), shortName(manifest)].sort())
  expect(used.size).toBeGreaterThan(10)
  expect(Object.fromEntries(told)).toEqual(Object.fromEntries(used))
})

test('every version is exact, and one library has one version in the whole project', () => {
  const versions = new Map<string, Set<string>>()
  for (const manifest of manifests)
    for (const [name, version] of Object.entries({ ...manifest.devDependencies, ...runtimeOf(manifest) }))
      if (!isOurs(name)) versions.set(name, (versions.get(name) ?? new Set()).add(version))
  const inexact = [...versions].filter(([, all]) => [...all].some((one) => !/^\d+\.\d+\.\d+$/.test(one)))
  expect(inexact).toEqual([])
  expect([...versions].filter(([, all]) => all.size > 1)).toEqual([])
})
