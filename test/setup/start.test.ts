/** `npm start` in a project of its own, with an npm that notes what it is asked: no network, no real packages. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, inject, onTestFinished, test } from 'vitest'
import { missingFrom, unverifiedIn } from '../../scripts/complete-lock.mjs'

const LOCK = {
  packages: { '': {}, 'node_modules/a': { version: '1.0.0' }, 'node_modules/x': { version: '1.0.0', optional: true } },
}
/** An install that succeeds, as npm leaves it. */
const INSTALLS = `mkdir -p node_modules; echo '{"packages":{"node_modules/a":{"version":"1.0.0"}}}' > node_modules/.package-lock.json`

/** The Node 24 for machines whose own is older, as npm unpacks it and where it lies then. */
const UNPACKED = `node_modules/node-${process.platform}-${process.arch}/bin`
const PACKAGED = 'node_modules/.node24/bin'

type Project = { dir: string; bin: string; npmCalls(): string[] /** who starts it */; uid?: number }

/** A folder with our scripts, a command that prints what it was told, and an npm made of `lines` of shell. */
async function project(npm: string, ping = 'exit 0', below = inject('redisFolder')): Promise<Project> {
  const dir = await mkdtemp(join(below, 'start-'))
  const bin = join(dir, 'bin')
  cpSync(join(import.meta.dirname, '..', '..', 'scripts'), join(dir, 'scripts'), { recursive: true })
  mkdirSync(join(dir, 'packages', 'cli', 'src'), { recursive: true })
  mkdirSync(bin)
  writeFileSync(
    join(dir, 'packages', 'cli', 'src', 'main.ts'),
    'console.log(JSON.stringify({ args: process.argv.slice(2), cwd: process.cwd(), path: process.env.PATH }))\n' +
      'process.exitCode = process.argv.includes("fail") ? 3 : 0\n',
  )
  writeFileSync(join(dir, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(dir, 'package-lock.json'), JSON.stringify(LOCK))
  writeFileSync(
    join(bin, 'npm'),
    `#!/bin/sh\n[ "$1" = ping ] && { ${ping}; }\necho "$1 $2" >> ${join(dir, 'npm.calls')}\n${npm}\n`,
    {
      mode: 0o755,
    },
  )
  for (const tool of ['sh', 'mkdir', 'sleep']) symlinkSync(join('/bin', tool), join(bin, tool))
  const calls = join(dir, 'npm.calls')
  return { dir, bin, npmCalls: () => (existsSync(calls) ? readFileSync(calls, 'utf8').trim().split('\n') : []) }
}

function begin({ dir, bin, uid }: Project, args: string[] = [], env: NodeJS.ProcessEnv = {}): ChildProcess {
  return spawn(process.execPath, [join(dir, 'scripts', 'start.mjs'), ...args], {
    cwd: dir,
    env: { PATH: bin, ...env },
    ...(uid === undefined ? {} : { uid, gid: uid }),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

async function start(where: Project, args?: string[], env?: NodeJS.ProcessEnv) {
  const child = begin(where, args, env)
  const [out, said, [code]] = await Promise.all([
    text(child.stdout as NodeJS.ReadableStream),
    text(child.stderr as NodeJS.ReadableStream),
    once(child, 'exit'),
  ])
  const told = out ? (JSON.parse(out) as { args: string[]; cwd: string; path: string }) : undefined
  return { told, said, code: code as number }
}

test('the first start installs, the second does not call npm, a changed lock file installs again', async () => {
  const here = await project(INSTALLS)
  expect((await start(here)).said).toMatch(/^decorum: installing 3 packages.*\ndecorum: packages installed in \d+ s\n$/)
  expect((await start(here)).said).toBe('')
  expect(here.npmCalls()).toEqual(['ci --include=dev'])
  writeFileSync(join(here.dir, 'package-lock.json'), JSON.stringify({ ...LOCK, name: 'changed' }))
  await start(here)
  expect(here.npmCalls()).toHaveLength(2)
})

const NOBODY = 65_534
test.skipIf(process.getuid?.() !== 0)(
  '(as root) what root installs under any umask is started by another user',
  async () => {
    const umask = process.umask(0o022)
    const here = await project(INSTALLS, 'exit 0', tmpdir())
    process.umask(0o077)
    onTestFinished(() => {
      process.umask(umask)
      rmSync(here.dir, { recursive: true })
    })
    chmodSync(here.dir, 0o755) // mkdtemp gives it to root alone
    const other = { ...here, uid: NOBODY }
    expect(await start(other)).toMatchObject({
      code: 1,
      said: expect.stringMatching(/may not write to .* as its owner/),
    })
    expect((await start(here)).code).toBe(0)
    expect((await start(other)).said).toBe('')
    rmSync(join(here.dir, 'node_modules', '.decorum-lock')) // as after `npm ci` by hand
    expect(await start(other)).toMatchObject({ code: 0, said: '' })
    expect(here.npmCalls()).toHaveLength(1)
  },
)

test('five first starts at once install once, and all five run', async () => {
  const here = await project(`sleep 0.5; ${INSTALLS}`)
  const results = await Promise.all(Array.from({ length: 5 }, () => start(here)))
  expect(results.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0])
  expect(here.npmCalls()).toHaveLength(1)
})

test('an install that was killed half-way is done again by the next start', async () => {
  const here = await project(`mkdir -p node_modules; [ -e second ] && { ${INSTALLS}; exit 0; }; exec sleep 60`)
  const child = begin(here)
  await once(child.stderr as NodeJS.ReadableStream, 'data')
  await expect.poll(() => here.npmCalls().length).toBe(1)
  const owner = join(here.dir, '.cache', 'setup.lock', 'owner.json')
  const npm = () => (JSON.parse(readFileSync(owner, 'utf8')) as { pids: number[] }).pids[1] as number
  await expect.poll(() => process.kill(npm(), 0)).toBe(true) // the one that answered the ping is gone
  child.kill('SIGKILL')
  await once(child, 'exit')
  process.kill(npm())
  writeFileSync(join(here.dir, 'second'), '')
  const next = await start(here)
  expect([next.code, here.npmCalls().length]).toEqual([0, 2])
})

test('packages that were installed by hand are used as they are', async () => {
  const here = await project('exit 1')
  mkdirSync(join(here.dir, 'node_modules'))
  const record = { packages: { 'node_modules/a': { version: '1.0.0' } } }
  writeFileSync(join(here.dir, 'node_modules', '.package-lock.json'), JSON.stringify(record))
  expect((await start(here)).code).toBe(0)
  expect(here.npmCalls()).toEqual([])
})

test('the lock file names the optional packages of every platform, or npm ci would refuse it', () => {
  const lock = JSON.parse(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8'))
  expect(missingFrom(lock).map(({ name }) => name)).toEqual([]) // mended by: node scripts/complete-lock.mjs
})

test('the lock file has a hash for every package that any platform could install', () => {
  const lock = JSON.parse(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8'))
  expect(unverifiedIn(lock)).toEqual([]) // mended by: node scripts/complete-lock.mjs
})

test.each([
  [
    'a registry that goes away',
    'echo "npm error code ENOTFOUND" >&2; exit 1',
    'npm could not reach its registry (ENOTFOUND)',
  ],
  [
    'another lock file',
    'echo "npm error Missing: b@2.0.0 from lock file" >&2; exit 1',
    'Missing: b@2.0.0 from lock file',
  ],
])('%s: one clear sentence and exit code 1', async (_, npm, sentence) => {
  const here = await project(npm)
  const { code, said } = await start(here)
  expect(said).toContain(sentence)
  expect(said).not.toContain('    at ') // no stack
  expect(code).toBe(1)
})

test('a registry that does not answer is asked once; then npm may use what it has, and nothing more', async () => {
  const refuses = 'echo "npm error code ECONNREFUSED" >&2; exit 1'
  const without = await project('echo "npm error code ENOTCACHED" >&2; exit 1', refuses)
  const { code, said } = await start(without)
  expect(said).toContain('npm could not reach its registry (ECONNREFUSED)')
  expect([code, without.npmCalls()]).toEqual([1, ['ci --offline']])
  const withCache = await project(INSTALLS, refuses)
  expect((await start(withCache)).code).toBe(0)
})

test('a registry that has no ping is no reason to stop', async () => {
  const here = await project(INSTALLS, 'echo "npm error code E404" >&2; exit 1')
  expect((await start(here)).code).toBe(0)
})

test('ended during the install (SIGTERM), it leaves no npm running', async () => {
  const here = await project('exec sleep 60')
  const child = begin(here)
  const owner = join(here.dir, '.cache', 'setup.lock', 'owner.json')
  const ownedBy = (): string[] => (existsSync(owner) ? (readFileSync(owner, 'utf8').match(/\d+(?=[,\]])/g) ?? []) : [])
  await expect.poll(() => [here.npmCalls().length, ownedBy().length]).toEqual([1, 2])
  const npmPid = ownedBy()[1]
  child.kill('SIGTERM')
  expect(await once(child, 'exit')).toEqual([143, null])
  await expect.poll(() => existsSync(`/proc/${npmPid}`)).toBe(false)
})

test('no npm: the sentence says what to install', async () => {
  const here = await project(INSTALLS)
  const { code, said } = await start({ ...here, bin: join(here.dir, 'scripts') })
  expect(said).toContain('npm was not found: install Node 24 together with npm')
  expect(code).toBe(1)
})

const pretend = (version: string) => ({
  NODE_OPTIONS: `--import "data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'${version}'}})"`,
})

test('on a Node older than 20 nothing is tried', async () => {
  const here = await project(INSTALLS)
  const { code, said } = await start(here, [], pretend('18.19.0'))
  expect(said).toContain('too old to set Decorum up: install Node 24')
  expect([code, here.npmCalls()]).toEqual([1, []])
})

/** Installs the packages, and in the folder of Node 24 that one. */
const INSTALLS_NODE = `case $PWD in
*/.cache/node24) mkdir -p ${UNPACKED}; echo '#!/bin/sh
exec ${process.execPath} "$@"' > ${UNPACKED}/node; /bin/chmod +x ${UNPACKED}/node;;
*) ${INSTALLS};; esac`

test('on Node 20 the packaged Node 24 runs the command, comes first on its PATH, and is installed once', async () => {
  const here = await project(INSTALLS_NODE)
  const { code, told } = await start(here, [], pretend('20.9.0'))
  expect(code).toBe(0)
  expect(told?.path.split(':').slice(0, 2)).toEqual([join(here.dir, 'node_modules', '.bin'), join(here.dir, PACKAGED)])
  expect(realpathSync(join(here.dir, 'node_modules', '.bin', 'node'))).toBe(join(here.dir, PACKAGED, 'node'))
  expect(existsSync(join(here.dir, '.cache', 'node24'))).toBe(false)
  await start(here, [], pretend('20.9.0'))
  expect(here.npmCalls()).toHaveLength(2) // the packages and Node
})

test('started by the packaged Node 24, which npm ci removes, it is installed again', async () => {
  const here = await project(`/bin/rm -rf ${PACKAGED}; ${INSTALLS_NODE}`)
  const node = join(here.dir, PACKAGED, 'node')
  mkdirSync(dirname(node), { recursive: true })
  copyFileSync(process.execPath, node)
  const cli = join(here.bin, 'npm-cli.cjs')
  const npm = JSON.stringify(join(here.bin, 'npm'))
  writeFileSync(cli, `require('node:child_process').execFileSync(${npm}, process.argv.slice(2), { stdio: 'inherit' })`)
  const env = { PATH: here.bin, npm_execpath: cli }
  const child = spawn(node, [join(here.dir, 'scripts', 'start.mjs')], { cwd: here.dir, env, stdio: 'ignore' })
  expect(await once(child, 'exit')).toEqual([0, null])
  expect(here.npmCalls()).toHaveLength(2)
  expect(existsSync(node)).toBe(true)
})

test('on Node 24 no other is installed', async () => {
  const here = await project(INSTALLS_NODE)
  expect((await start(here)).code).toBe(0)
  expect(here.npmCalls()).toHaveLength(1)
  expect(existsSync(join(here.dir, PACKAGED))).toBe(false)
})

test('what npm ci links as node_modules/.bin/node installs Node 24 where the first on the PATH is older, and else is that one', async () => {
  const here = await project(INSTALLS_NODE)
  const own = join(here.dir, 'own')
  mkdirSync(own)
  const launcher = join(here.dir, 'scripts/node24/launcher/node.sh')
  mkdirSync(join(here.dir, 'node_modules', '.bin'), { recursive: true })
  symlinkSync(launcher, join(here.dir, 'node_modules', '.bin', 'node'))
  const print = (version: string, more: NodeJS.ProcessEnv = {}): string => {
    writeFileSync(join(own, 'node'), `#!/bin/sh\nexec ${process.execPath} "$@"`, { mode: 0o755 })
    return execFileSync(
      join(here.dir, 'node_modules/.bin/node'),
      ['-p', 'process.argv.length + " " + process.version', 'a b'],
      {
        env: {
          ...pretend(version),
          ...more,
          PATH: [join(here.dir, 'node_modules/.bin'), own, here.bin, '/usr/bin', '/bin'].join(':'),
        },
        encoding: 'utf8',
      },
    )
  }
  expect(print('24.1.0')).toBe(`2 ${process.version}\n`)
  expect(existsSync(join(here.dir, PACKAGED))).toBe(false)
  const bySetUp = { DECORUM_SET_UP: 'yes' }
  expect(print('20.9.0', bySetUp), 'the set-up that it would wait for waits for it').toBe(`2 ${process.version}\n`)
  expect(existsSync(join(here.dir, PACKAGED))).toBe(false)
  expect(print('20.9.0')).toBe(`2 ${process.version}\n`)
  expect(existsSync(join(here.dir, PACKAGED, 'node'))).toBe(true)
  print('20.9.0')
  expect(here.npmCalls()).toHaveLength(1)
})

test('on Node 20 without a packaged Node 24, the sentence names what to install', async () => {
  const here = await project(INSTALLS)
  const { code, said } = await start(here, [], pretend('20.9.0'))
  expect(said).toMatch(/no package brings Node 24 to this machine .*: install Node 24\n$/)
  expect([code, here.npmCalls().length]).toEqual([1, 2])
})

test('no command means up; arguments and the exit code pass; FILE is relative to where npm was typed', async () => {
  const here = await project(INSTALLS)
  expect((await start(here)).told?.args).toEqual(['up'])
  const typed = dirname(here.dir)
  const npmEnv = { INIT_CWD: typed, npm_lifecycle_event: 'start' }
  const { told, code } = await start(here, ['--', 'crawl', 'a b.txt', 'fail'], npmEnv)
  expect(told).toMatchObject({ args: ['crawl', 'a b.txt', 'fail'], cwd: typed })
  expect(code).toBe(3)
})
