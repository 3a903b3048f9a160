/** The command and the client as strangers get them: packed as their pages say, and installed in an empty folder without a registry. */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { publint } from 'publint'
import { afterAll, expect, test } from 'vitest'
import { expectWellPacked, repo, repositoryCopy, run, env as typedEnv } from '../robots/support/packed.ts'
import { readOutcomes, site, startDecorum } from './decorum.ts'

const root = mkdtempSync(join(tmpdir(), 'decorum-packed-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const packed = new Map<string, string>()
/** By `npm pack` alone, as its page says. */
function pack(name: 'cli' | 'client'): string {
  const known = packed.get(name)
  if (known !== undefined) return known
  const umask = process.umask(0o077) // of a careful packer
  const folder = join(repositoryCopy(root), 'packages', name)
  const before = readFileSync(join(folder, 'package.json'), 'utf8')
  const made = run('npm', ['pack', '--silent', '--pack-destination', root], folder).trim()
  process.umask(umask)
  expect(readFileSync(join(folder, 'package.json'), 'utf8')).toBe(before)
  const tarball = join(root, made.split('\n').at(-1) ?? '')
  packed.set(name, tarball)
  return tarball
}
const users = new Map<string, string>()
function install(tarball: string): string {
  const known = users.get(tarball)
  if (known !== undefined) return known
  const user = mkdtempSync(join(root, 'user-'))
  writeFileSync(join(user, 'package.json'), '{ "name": "user", "private": true }')
  run('npm', ['install', '--offline', '--no-audit', '--no-fund', tarball], user)
  users.set(tarball, user)
  return user
}
const megabytes = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0) / 1e6

test.each(['cli', 'client'] as const)(
  'every file of the packed %s may be read by whoever did not install it',
  (name) => {
    const modes = run('tar', ['tvzf', pack(name)], root)
      .trim()
      .split('\n')
    expect(modes.length).toBeGreaterThan(10)
    expect(modes.filter((line) => !/^-rw(-r--r--|xr-xr-x) /.test(line))).toEqual([])
  },
)

const NOBODY = 65_534
test.skipIf(process.getuid?.() !== 0)('(as root) installed by root, the command is run by another user', () => {
  const user = install(pack('cli'))
  for (const folder of [root, user]) chmodSync(folder, 0o755) // mkdtemp gives them to root alone
  const env = { ...typedEnv, HOME: '/nonexistent' }
  const helped = execFileSync(process.execPath, [join(user, 'node_modules/@decorum/cli/dist/src/main.js'), '--help'], {
    uid: NOBODY,
    gid: NOBODY,
    cwd: user,
    env,
    encoding: 'utf8',
  })
  expect(helped).toContain('Usage: decorum')
})

test('`npx @decorum/cli crawl urls.txt` in an empty folder, from the tarball alone', async () => {
  const user = install(pack('cli'))
  expect(readdirSync(join(user, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual(['@decorum'])
  const installed = join(user, 'node_modules/@decorum/cli')
  const files = readdirSync(installed, { recursive: true }) as string[]
  expect(files.filter((name) => name.endsWith('.ts'))).toEqual([])
  for (const name of ['README.md', 'LICENSE']) expect(files).toContain(name)
  const size = megabytes(join(user, 'node_modules'))
  expect(size).toBeLessThan(120)
  console.info(`@decorum/cli installed: ${size.toFixed(1)} MB without Node`)

  const readme = readFileSync(join(installed, 'README.md'), 'utf8')
  expect(readme).toContain('npx @decorum/cli crawl urls.txt')
  const { origin } = await site()
  writeFileSync(join(user, 'urls.txt'), Array.from({ length: 12 }, (_, n) => `${origin}/${n}\n`).join(''))
  // What npx runs: the link in .bin. Only Node's own folder comes before it
  const program = join(user, 'node_modules/.bin/decorum')
  const crawl = startDecorum(['crawl', 'urls.txt'], {
    program,
    cwd: user,
    env: { DECORUM_CONTACT: 'https://example.com/bot' },
  })
  expect(await crawl.result).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('12 URLs, each with its outcome'),
  })
  const outcomes = await readOutcomes(join(user, 'decorum-out/outcomes.ndjson'))
  expect(outcomes.map(({ kind }) => kind)).toEqual(outcomes.map(() => 'fetched'))
  expect(readdirSync(join(user, 'decorum-out/pages')).some((name) => name.endsWith('.warc.gz'))).toBe(true)
  const typed = execFileSync('npx', ['--offline', '@decorum/cli', '--help'], {
    cwd: user,
    env: typedEnv,
    encoding: 'utf8',
  })
  expect(typed).toContain('Usage: decorum')
  // Some other Node may be the first on the PATH of a machine.
  const older = join(user, 'older.mjs')
  writeFileSync(older, "Object.defineProperty(process.versions, 'node', { value: '20.20.2' })")
  expect(await startDecorum(['--help'], { program, env: { NODE_OPTIONS: `--import ${older}` } }).result).toEqual({
    code: 2,
    stdout: '',
    stderr: 'decorum: Node 24 or newer is needed; this is Node 20.20.2\n',
  })
  const { code, stdout } = await startDecorum(['check', `${origin}/x`], { program, cwd: user }).result
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('allowed') })
})

test('publint and TypeScript find no fault in the tarballs', async () => {
  expectWellPacked(pack('client'), install(pack('client')))
  // The command brings its libraries along, of which some are packed oddly; it is no library, and so it has no types
  const installed = join(install(pack('cli')), 'node_modules/@decorum/cli')
  const { messages } = await publint({ pkgDir: installed, pack: false, strict: true })
  const said = messages.map((message) => JSON.stringify(message)).filter((text) => !text.includes('dist/node_modules/'))
  expect(said).toEqual([])
  expect(JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))).not.toHaveProperty('types')
})

test('the client: its types are right, and little is installed', () => {
  const tarball = pack('client')
  const user = install(tarball)
  const size = megabytes(join(user, 'node_modules'))
  expect(size).toBeLessThan(15)
  console.info(`@decorum/client installed: ${size.toFixed(1)} MB`)
  const installed = join(user, 'node_modules/@decorum/client')
  expect(JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))).not.toHaveProperty('dependencies')
  // A name that a module lacks stops the import: `hash` came with 20.12, and the package is for every 20
  const imports =
    readFileSync(join(installed, 'dist/index.js'), 'utf8').match(/^import \{[^}]*\} from "(node:)?crypto"/gm) ?? []
  expect(imports.filter((line) => /\bhash\b/.test(line))).toEqual([])
  mkdirSync(join(user, 'src'))
  writeFileSync(
    join(user, 'src/use.ts'),
    `import { type Candidate, openFrontier, type Outcome } from '@decorum/client'
const candidate: Candidate = { url: 'https://example.org/', method: 'HEAD', headers: { 'accept-language': 'de' }, redirects: 'report' }
// @ts-expect-error a field that does not exist
export const wrong: Candidate = { url: 'https://example.org/', methods: 'HEAD' }
export const says = (outcome: Outcome): string[] => (outcome.kind === 'fetched' ? (outcome.says?.robots ?? []) : [])
export const send = async (): Promise<void> => void (await (await openFrontier({ redis: 'redis://127.0.0.1' })).enqueue([candidate]))
`,
  )
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
  run(
    'tsc',
    [
      '--noEmit',
      '--strict',
      '--skipLibCheck',
      'false',
      ...types,
      '--module',
      'nodenext',
      'src/use.ts',
      '--ignoreConfig',
    ],
    user,
  )
})
