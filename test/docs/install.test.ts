/** What people are told to install is what this repository defines, and until it is published it comes from a tarball. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => path !== '' && existsSync(join(root, path)))
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8')

type Manifest = { name?: string; version?: string; bin?: object; scripts?: Record<string, string> }
const manifests = tracked
  .filter((path) => /^(packages|services)\/[^/]+\/package\.json$/.test(path))
  .map((path) => ({ folder: dirname(path), ...(JSON.parse(textOf(path)) as Manifest) }))
/** Packages that `npm pack` makes something installable of. */
const packed = manifests.filter(({ scripts }) => scripts?.prepack !== undefined)
const tarballOf = ({ name = '', version }: Manifest): string => `${name.slice(1).replace('/', '-')}-${version}.tgz`

/** In prose and in code: what follows the words, up to the end of the command. */
const INSTALLING =
  /\b(npm (?:install|i|add)|npx(?: --\S+)*|pnpm (?:add|dlx)|yarn add|bunx?(?: add)?|pip3? install|pipx (?:install|run)|uv add|uvx)((?: +[^\s`'"|;&#)]+)+)/g
type Told = { page: string; tool: string; names: string[] }
const told: Told[] = tracked
  .filter((path) => /\.(md|sh|py|mjs|js|html|yml|yaml|service)$/.test(path) && path !== 'CHANGELOG.md')
  .flatMap((page) =>
    [...textOf(page).matchAll(INSTALLING)].map(([, tool = '', rest = '']) => {
      const words = rest.trim().split(/ +/)
      return { page, tool, names: tool.startsWith('npx') ? words.slice(0, 1) : words }
    }),
  )
const isOfOurs = (name: string): boolean => /decorum/i.test(name)

test('no page tells anybody to install or run a name of ours that this repository does not define', () => {
  const names = told.flatMap(({ page, tool, names: all }) => all.filter(isOfOurs).map((name) => ({ page, tool, name })))
  expect(names.length).toBeGreaterThan(5)
  const isDefined = (tool: string, name: string): boolean => {
    if (!/^(npm|npx)/.test(tool)) return false // nothing of ours is on another registry
    if (name.endsWith('.tgz')) return packed.some((one) => name.endsWith(`/${tarballOf(one)}`))
    return tool.startsWith('npx') && packed.some((one) => one.name === name && one.bin !== undefined)
  }
  expect(names.filter(({ tool, name }) => !isDefined(tool, name))).toEqual([])
})

test('whoever is told to install a tarball reads on the same page how it is made', () => {
  for (const { page, names } of told)
    for (const name of names.filter((one) => isOfOurs(one) && one.endsWith('.tgz'))) {
      const { folder } = packed.find((one) => name.endsWith(`/${tarballOf(one)}`)) ?? {}
      expect(textOf(page), `${page}: ${name}`).toContain(`(cd ${folder} && npm pack)`)
    }
})

test('no Python file of ours has or imports a name that PyPI gives to others', () => {
  const files = tracked.filter((path) => path.endsWith('.py'))
  expect(files.filter((path) => path.endsWith('/decorum.py'))).toEqual([])
  const importing = tracked.filter(
    (path) => /\.(py|md|ts)$/.test(path) && /^(from decorum |import decorum$)/m.test(textOf(path)),
  )
  expect(importing).toEqual([])
})

test('all packages have one version, which the command prints and the changelog begins with', () => {
  const versions = new Set([
    ...manifests.map(({ version }) => version),
    (JSON.parse(textOf('package.json')) as Manifest).version,
  ])
  expect([...versions]).toHaveLength(1)
  const [version] = versions
  expect(textOf('packages/cli/src/program.ts')).toContain(`.version('${version}'`)
  expect(/^## \[(\d.*?)\] - \d{4}-\d\d-\d\d$/m.exec(textOf('CHANGELOG.md'))?.[1]).toBe(version)
})
