/** The package as strangers get it: packed, installed in a folder of its own, run by Node 20 and later, bundled. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { env, nodes, packAndInstall, repo, run } from './support/packed.ts'

let folder: string
let installed: string
let source: string

beforeAll(() => {
  const all = packAndInstall(['robots'])
  folder = all.folder
  source = all.sources[0] as string
  installed = join(all.user, 'node_modules/@decorum/robots')
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('the tarball', () => {
  test('holds plain JavaScript with declarations, maps and the sources they point to, a README and the licence', () => {
    const dist = readdirSync(join(installed, 'dist'))
    for (const name of readdirSync(join(repo, 'packages/robots/src')).map((file) => file.slice(0, -3)))
      for (const ending of ['.js', '.js.map', '.d.ts', '.d.ts.map']) expect(dist).toContain(`${name}${ending}`)
    for (const name of ['README.md', 'LICENSE', 'package.json']) expect(existsSync(join(installed, name))).toBe(true)
    const { sources } = JSON.parse(readFileSync(join(installed, 'dist/parse.js.map'), 'utf8')) as { sources: string[] }
    for (const source of sources) expect(existsSync(join(installed, 'dist', source))).toBe(true)
  })
  test('its manifest points to the JavaScript, asks for nothing and runs nothing', () => {
    const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as Record<string, unknown>
    expect(manifest).toMatchObject({ type: 'module', sideEffects: false, dependencies: {}, engines: { node: '>=20' } })
    expect(manifest.exports).toMatchObject({
      '.': { types: './dist/index.d.ts', default: './dist/index.js' },
      './cache': { types: './dist/cache.d.ts', default: './dist/cache.js' },
      './package.json': './package.json',
    })
    expect(manifest.bin).toEqual({ robots: './dist/command.js' })
    for (const field of ['repository', 'homepage', 'bugs', 'license']) expect(manifest[field], field).toBeDefined()
    expect(manifest.scripts).toBeUndefined()
    expect(manifest.private).toBeUndefined()
  })
  test('packing leaves the manifest of the workspace as it was', () => {
    const before = readFileSync(join(repo, 'packages/robots/package.json'), 'utf8')
    expect(readFileSync(join(source, 'package.json'), 'utf8')).toBe(before)
    expect(existsSync(join(source, '.package.workspace.json'))).toBe(false)
  })
  test('npm publish --dry-run would publish the same files', async () => {
    // npm asks which versions are there already: this registry knows none, and no network is needed.
    const registry = createServer((_, response) => void response.writeHead(404).end('{}')).listen(0, '127.0.0.1')
    await once(registry, 'listening')
    const { port } = registry.address() as AddressInfo
    const args = ['publish', '--dry-run', '--json', '--registry', `http://127.0.0.1:${port}/`]
    const { stdout } = await promisify(execFile)('npm', args, { cwd: source, env })
    registry.close()
    expect(stdout).toContain('dist/index.js')
    expect(stdout).toContain('dist/index.d.ts')
  })
  test('no module of it imports anything but its neighbours', () => {
    for (const name of readdirSync(join(repo, 'packages/robots/src')).filter((file) => file !== 'command.ts')) {
      const text = readFileSync(join(repo, 'packages/robots/src', name), 'utf8')
      for (const [, from] of text.matchAll(/^(?:import|export)[^']* from '([^']+)'/gm))
        expect(from).toMatch(/^\.\/[\w-]+\.ts$/)
      // The cache fetches and has a clock; nothing else does.
      if (name !== 'cache.ts')
        expect(text, name).not.toMatch(
          /\b(?:process|Buffer|require|setTimeout|Date\.now|Math\.random|console)\b[.(]|\bfetch\(/,
        )
    }
  })
  test('its modules import each other in no circle, types included', () => {
    const src = join(repo, 'packages/robots/src')
    const imports = new Map(
      readdirSync(src).map((name) => [
        name,
        [...readFileSync(join(src, name), 'utf8').matchAll(/from '\.\/([\w-]+\.ts)'/g)].map(([, to]) => to as string),
      ]),
    )
    const reaches = (from: string, to: string, seen = new Set<string>()): boolean =>
      (imports.get(from) ?? []).some((next) => next === to || (!seen.has(next) && reaches(next, to, seen.add(next))))
    expect(imports.size).toBeGreaterThan(20)
    expect([...imports.keys()].filter((name) => reaches(name, name))).toEqual([])
  })
})

describe('in use', () => {
  const program = `import { judge, needsRules, parseRobots, parseRetryAfter, policies, productToken, step, unknownOrigin } from '@decorum/robots'
import { parseRules, readings } from '@decorum/robots/rules'
const robots = parseRobots('User-agent: *\\nDisallow: /a*c$\\nCrawl-delay: 2', { policy: policies.rfc9309 })
const light = parseRules('User-agent: *\\nDisallow: /a*c$\\nCrawl-delay: 2', { policy: readings.rfc9309 })
const state = step(unknownOrigin, { kind: 'answered', status: 200, hash: 'h', jitter: 0 }, 1000)
console.log(JSON.stringify([robots.isAllowed('https://h.example/abc', 'me'), robots.explain('/abc', 'me').rule, robots.crawlDelay('me'),
  needsRules(state, policies.decorum, 1001), judge({ ...state, rules: robots }, '/abc', 'me', policies.decorum, 1001).kind, parseRetryAfter('5', 0), productToken('A/1'), light.isAllowed('/abc', 'me'), light.crawlDelay('me')]))
`
  const expected = [false, { type: 'disallow', pattern: '/a*c$', line: 2 }, 2, 'h', 'refused', 5000, 'a', false, 2]

  test('every Node of this machine from 20 on runs it', () => {
    const user = join(folder, 'user')
    writeFileSync(join(user, 'use.mjs'), program)
    const used = nodes()
    for (const node of used) expect(JSON.parse(run(node, ['use.mjs'], user))).toEqual(expected)
    console.info(`ran by ${used.map((node) => run(node, ['--version'], folder).trim()).join(', ')}`)
  })
  test('its command runs', () => {
    const file = join(folder, 'robots.txt')
    writeFileSync(file, 'user-agent: *\ndisallow: /a\n')
    const said = run(
      'npx',
      ['--no-install', 'robots', 'check', 'https://h.example/a', '--robots', file],
      join(folder, 'user'),
    )
    expect(said).toContain('DISALLOWED under decorum')
  })
  test('Deno and Bun run it, those that this machine has', () => {
    const user = join(folder, 'user')
    writeFileSync(join(user, 'use.mjs'), program)
    const found = (name: string): boolean =>
      (env.PATH ?? '').split(delimiter).some((path) => existsSync(join(path, name)))
    if (found('bun')) expect(JSON.parse(run('bun', ['use.mjs'], user))).toEqual(expected)
    if (found('deno')) expect(JSON.parse(run('deno', ['run', '--no-remote', 'use.mjs'], user))).toEqual(expected)
    console.info(`ran by ${['bun', 'deno'].filter(found).join(', ') || 'neither: none is installed'}`)
  })
  test.each(['nodenext', 'bundler'])(
    'TypeScript reads its declarations (moduleResolution %s), without types of Node',
    (resolution) => {
      const user = join(folder, 'user')
      writeFileSync(
        join(user, 'use.ts'),
        `${program.replace('console.log', 'export const all = ')}\nexport const kind: 'allowed' | 'refused' | 'wait' | 'ask' = judge(state, '/', ['a', 'b'], { ...policies.decorum, firstRetryMs: 1 }, 0).kind\n`,
      )
      const module = resolution === 'nodenext' ? 'nodenext' : 'esnext'
      run(
        'tsc',
        [
          '--noEmit',
          '--strict',
          '--skipLibCheck',
          'false',
          '--exactOptionalPropertyTypes',
          '--lib',
          'es2022,dom',
          '--types',
          '',
          '--module',
          module,
          '--moduleResolution',
          resolution,
          'use.ts',
          '--ignoreConfig',
        ],
        user,
      )
    },
  )
  test('bundled for a browser, minified and gzipped, it stays as small as it is, and a part of it is a part', async () => {
    const size = async (code: string): Promise<number> => {
      const { outputFiles } = await build({
        stdin: { contents: code, resolveDir: dirname(dirname(dirname(installed))) },
        bundle: true,
        minify: true,
        format: 'esm',
        platform: 'neutral',
        write: false,
        mainFields: ['module', 'main'],
      })
      return gzipSync(outputFiles[0]?.contents as Uint8Array, { level: 9 }).length
    }
    const all = await size("export * from '@decorum/robots'")
    const retryAfter = await size("export { parseRetryAfter } from '@decorum/robots'")
    const states = await size("export { step } from '@decorum/robots'")
    console.info(`gzipped: all ${all}, step ${states}, parseRetryAfter ${retryAfter} octets`)
    const parse = await size("export * from '@decorum/robots/parse'")
    const rules = await size("export * from '@decorum/robots/rules'")
    console.info(`parseRobots ${parse}, parse and match alone ${rules}`)
    expect(all).toBeLessThan(15_850)
    expect(parse).toBeLessThan(12_800)
    expect(rules).toBeLessThan(10_000)
    expect(retryAfter).toBeLessThan(1_300)
    expect(states).toBeLessThan(1_600)
  })
})
