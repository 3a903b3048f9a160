/** The package as strangers get it: packed, installed in an empty folder, its README's example run by Node 20 and later. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { env, expectWellPacked, nodes, type Packed, packAndInstall, repo, run } from '../../robots/support/packed.ts'

let packed: Packed
let installed: string

beforeAll(() => {
  packed = packAndInstall(['robots', 'audit'])
  installed = join(packed.user, 'node_modules/@decorum/audit')
})

afterAll(() => rmSync(packed.folder, { recursive: true, force: true }))

test('the tarball holds JavaScript with declarations for every module, a README and the licence', () => {
  const dist = readdirSync(join(installed, 'dist'), { recursive: true })
  const modules = readdirSync(join(repo, 'packages/audit/src'), { recursive: true }) as string[]
  for (const name of modules.filter((file) => file.endsWith('.ts')))
    for (const ending of ['.js', '.d.ts']) expect(dist).toContain(name.replace(/\.ts$/, ending))
  for (const name of ['README.md', 'LICENSE']) expect(existsSync(join(installed, name))).toBe(true)
})

test('its manifest asks for @decorum/robots alone, and what it holds imports nothing else of ours', () => {
  const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as Record<string, unknown>
  expect(manifest.dependencies).toEqual({ '@decorum/robots': '0.2.0' })
  for (const field of ['private', 'scripts']) expect(manifest[field], field).toBeUndefined()
  for (const field of ['repository', 'homepage', 'bugs', 'license']) expect(manifest[field], field).toBeDefined()
  const ours = new Set<string>()
  for (const name of readdirSync(join(installed, 'dist'), { recursive: true }) as string[]) {
    if (!name.endsWith('.js') && !name.endsWith('.d.ts')) continue
    const text = readFileSync(join(installed, 'dist', name), 'utf8')
    for (const [, from] of text.matchAll(/from '(@decorum\/[^']+)'/g)) ours.add(from as string)
  }
  expect([...ours]).toEqual(['@decorum/robots'])
})

test('publint and TypeScript find no fault in it and in what it depends on; `npm pack` works beside the npmrc of the repository', () => {
  for (const tarball of packed.tarballs) expectWellPacked(tarball, packed.user) // made by `npm pack` alone
})

test('packing leaves the manifest of the workspace as it was', () => {
  const before = readFileSync(join(repo, 'packages/audit/package.json'), 'utf8')
  expect(readFileSync(join(packed.sources[1]!, 'package.json'), 'utf8')).toBe(before)
})

test("every Node of this machine from 20 on runs the README's example", () => {
  const [, example] = /```js\n(.*?)```/s.exec(readFileSync(join(installed, 'README.md'), 'utf8')) ?? []
  expect(example).toContain('auditLogs')
  const line = (second: number, path: string): string =>
    `192.0.2.1 - - [20/Nov/2026:13:00:0${second} +0000] "GET ${path} HTTP/1.1" 200 5 "-" "bot/1" 179000000${second}.000 0.000\n`
  writeFileSync(join(packed.user, 'access.log.1.gz'), gzipSync(line(0, '/robots.txt')))
  writeFileSync(join(packed.user, 'example.mjs'), example as string)
  const used = nodes()
  for (const node of used) {
    for (const [log, code, said] of [
      [line(2, '/a') + line(5, '/b'), 4, 'could be judged'],
      [line(2, '/a') + line(2, '/b'), 1, '1 violation'],
    ] as const) {
      writeFileSync(join(packed.user, 'access.log'), log)
      const result = exitOf(node, ['example.mjs'], packed.user)
      expect(result.said, node).toContain(said)
      expect(result.code, node).toBe(code)
      expect(readFileSync(join(packed.user, 'report.html'), 'utf8')).toContain(said)
    }
  }
  console.info(`ran by ${used.map((node) => run(node, ['--version'], packed.folder).trim()).join(', ')}`)
})

test('TypeScript reads its declarations (NodeNext, strict, skipLibCheck off)', () => {
  writeFileSync(
    join(packed.user, 'use.ts'),
    `import { agentsOf, openAudit, type PaceGroups, type Report } from '@decorum/audit'
const paceGroups: PaceGroups = { hostLane: () => undefined, above: () => [], needsAddress: false }
const agents = agentsOf({ profile: 'rfc9309', minDelayMs: 1_000, maxDelayMs: 10_000 })
export const report: Report = openAudit({ agents, paceGroups }).report()
`,
  )
  const types = ['--types', '', '--lib', 'es2022,dom', '--module', 'nodenext', '--moduleResolution', 'nodenext']
  run('tsc', ['--noEmit', '--strict', '--skipLibCheck', 'false', ...types, 'use.ts', '--ignoreConfig'], packed.user)
})

function exitOf(command: string, args: string[], cwd: string): { code: number; said: string } {
  try {
    return { code: 0, said: execFileSync(command, args, { cwd, env, encoding: 'utf8' }) }
  } catch (error) {
    const { status, stdout } = error as { status: number; stdout: string }
    return { code: status, said: stdout }
  }
}
