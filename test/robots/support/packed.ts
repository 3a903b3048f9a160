/** Packages as strangers get them: packed by npm as it would be typed, and installed in a folder of their own. */
import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { expect } from 'vitest'

export const repo = join(import.meta.dirname, '../../..')
const bin = join(repo, 'node_modules/.bin')

export const env: NodeJS.ProcessEnv = {
  ...process.env,
  PATH: `${bin}${delimiter}${process.env.PATH}`,
  npm_config_update_notifier: 'false',
}
// What the test runner was started with must not reach the npm that a user would type.
for (const name of Object.keys(env)) if (/^npm_(?!config_cache|config_update)/i.test(name)) delete env[name]

export function run(command: string, args: string[], cwd: string): string {
  return execFileSync(command, args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

export type Packed = {
  /** a folder of the test's own; all others lie in it */
  folder: string
  /** tarballs, and the folders that they were packed in, in the order of the names */
  tarballs: string[]
  sources: string[]
  /** a project that has installed them all */
  user: string
}

/**
 * The repository as far as packing looks at it: packing changes a manifest for a moment, and others may be reading it in the repository itself.
 * @returns the copy, one for each folder
 */
export function repositoryCopy(folder: string): string {
  const copy = join(folder, 'repository')
  if (existsSync(copy)) return copy
  mkdirSync(copy)
  for (const name of [
    'package.json',
    'package-lock.json',
    'tsconfig.base.json',
    '.npmrc',
    'scripts',
    'packages',
    'services',
  ])
    cpSync(join(repo, name), join(copy, name), {
      recursive: true,
      filter: (path) => !/\/(node_modules|dist|\.neighbours)$/.test(path),
    })
  if (existsSync(join(repo, 'packages/cli/node_modules')))
    symlinkSync(join(repo, 'packages/cli/node_modules'), join(copy, 'packages/cli/node_modules'))
  mkdirSync(join(copy, 'node_modules/@decorum'), { recursive: true })
  for (const name of readdirSync(join(repo, 'node_modules')).filter((one) => one !== '@decorum'))
    symlinkSync(join(repo, 'node_modules', name), join(copy, 'node_modules', name))
  for (const name of readdirSync(join(repo, 'node_modules/@decorum')))
    symlinkSync(readlinkSync(join(repo, 'node_modules/@decorum', name)), join(copy, 'node_modules/@decorum', name))
  return copy
}

/** @param names  folders of packages/; those that a package depends on come with it */
export function packAndInstall(names: string[]): Packed {
  const folder = mkdtempSync(join(tmpdir(), `package-${names.join('-')}-`))
  const copy = repositoryCopy(folder)
  const sources = names.map((name) => join(copy, 'packages', name))
  const tarballs = sources.map((source) => {
    run('npm', ['pack', '--pack-destination', folder], source)
    return join(
      folder,
      readdirSync(folder).find(
        (name) => name.includes(`-${source.split('/').at(-1)}-`) && name.endsWith('.tgz'),
      ) as string,
    )
  })
  const user = join(folder, 'user')
  mkdirSync(user)
  writeFileSync(join(user, 'package.json'), '{ "name": "user", "private": true, "type": "module" }')
  run('npm', ['install', '--offline', '--no-audit', '--no-fund', ...tarballs], user)
  return { folder, tarballs, sources, user }
}

/**
 * What those who publish packages look at: publint, and that TypeScript finds declarations without a fault behind each entry point of the
 * installed package, both as Node resolves it and as bundlers do.
 */
export function expectWellPacked(tarball: string, user: string): void {
  expect(run('publint', ['--strict', tarball], tmpdir()), tarball).toContain('All good!')
  const manifest = run('tar', ['xzOf', tarball, 'package/package.json'], tmpdir())
  const { name, exports } = JSON.parse(manifest) as { name: string; exports: Record<string, unknown> }
  const entries = Object.keys(exports).filter((path) => !path.endsWith('.json'))
  expect(entries).toContain('.')
  const lines = entries.map(
    (path, nth) => `import * as entry${nth} from '${name}${path.slice(1)}'\nexport { entry${nth} }\n`,
  )
  writeFileSync(join(user, 'entries.ts'), lines.join(''))
  const types = [
    '--types',
    'node',
    '--typeRoots',
    join(repo, 'node_modules/@types'),
    '--lib',
    'es2024',
    '--target',
    'es2024',
  ]
  const strictly = ['--noEmit', '--strict', '--skipLibCheck', 'false', ...types, 'entries.ts', '--ignoreConfig']
  for (const [module, resolution] of [
    ['nodenext', 'nodenext'],
    ['esnext', 'bundler'],
  ] as const)
    run('tsc', ['--module', module, '--moduleResolution', resolution, ...strictly], user)
}

/** Nodes on this machine: ours, and those of the PATH from 20 on. */
export function nodes(): string[] {
  const found = (process.env.PATH ?? '')
    .split(delimiter)
    .map((path) => join(path, 'node'))
    .filter((path) => existsSync(path) && !path.startsWith(repo))
  return [process.execPath, ...new Set(found)].filter(
    (node) => Number(/^v(\d+)/.exec(run(node, ['--version'], repo))?.[1]) >= 20,
  )
}
