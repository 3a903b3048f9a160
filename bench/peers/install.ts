/**
 * Installs the peers of table.ts into a folder of this user, outside of the tree: `node bench/peers/install.ts [KEY…]`.
 * Each ecosystem's own client does it, with whatever it is set to use on this machine.
 */
import { execFile, execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { programOf } from '../../test/support/programs.ts'
import { PEERS, type Peer, type Source } from './table.ts'

const run = promisify(execFile)
const HERE = import.meta.dirname

/** What an install needs of the machine, and what it is called there. */
const TOOLS: Record<Source['from'], string[]> = {
  pip: ['python3'],
  npm: ['npm'],
  go: ['go'],
  cargo: ['cargo'],
  maven: ['mvn', 'javac'],
  system: [],
}

/** What runs a peer: its program, what goes before the arguments, and what its file wants in the environment. */
export type Installed = { command: string[]; env: Record<string, string>; version: string }

/** A compiled program is built anew when its file changes, and everything when the releases do. */
function folderOf(peer: Peer): string {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache')
  const { source } = peer
  const isCompiled =
    source.from === 'go' || source.from === 'cargo' || (source.from === 'maven' && source.main !== undefined)
  const stated = JSON.stringify(peer.source) + (isCompiled ? readFileSync(join(HERE, peer.file), 'utf8') : '')
  const hash = createHash('sha256').update(stated).digest('hex').slice(0, 8)
  return join(cache, 'decorum', 'peers', `${peer.key}-${hash}`)
}

/** @returns how it is run, or a sentence that says what is missing */
export function findPeer(peer: Peer): Installed | string {
  const program = peer.source.from === 'system' ? peer.source.program : peer.program
  const path = program && programOf(program)
  if (program !== undefined && path === undefined) return `${program} is not installed on this machine`
  const folder = folderOf(peer)
  if (peer.source.from !== 'system' && !existsSync(join(folder, 'done')))
    return `it is not installed (node bench/peers/install.ts ${peer.key})`
  const file = join(HERE, peer.file)
  const version = peer.version ?? versionOf(path ?? '')
  const found = (command: string[], env: Record<string, string> = {}): Installed => ({ command, env, version })
  switch (peer.source.from) {
    case 'pip':
      // -I: this folder has files that are called like the packages
      return found([join(folder, 'venv/bin/python'), '-I', file])
    case 'npm': {
      // A module finds its packages from where it lies
      copyFileSync(file, join(folder, peer.file))
      if (peer.key !== 'chromium') return found([process.execPath, join(folder, peer.file)])
      return {
        ...found([process.execPath, join(folder, peer.file)], { PEER_CHROMIUM: path ?? '' }),
        version: versionOf(path ?? ''),
      }
    }
    case 'go':
      return found([join(folder, 'peer')])
    case 'cargo':
      return found([join(folder, 'target/release/peer')])
    case 'maven': {
      const { main } = peer.source
      const jars = join(folder, 'jars')
      if (programOf('java') === undefined) return 'java is not installed on this machine'
      if (main === undefined) return found([process.execPath, file], { PEER_JARS: jars })
      return found(['java', '-cp', `${join(jars, '*')}:${folder}`, main])
    }
    default:
      return found(['/bin/sh', file])
  }
}

/** The first number with a dot that it says of itself. */
const versionOf = (program: string): string =>
  /\d+(\.\d+)+/.exec(execFileSync(program, ['--version'], { encoding: 'utf8' }))?.[0] ?? 'unknown'

/** @throws Error of the client that installs */
async function install(peer: Peer): Promise<void> {
  const folder = folderOf(peer)
  const file = join(HERE, peer.file)
  const making = `${folder}.making`
  rmSync(making, { recursive: true, force: true })
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(making, { recursive: true })
  const write = (name: string, text: string): void => {
    mkdirSync(join(making, name, '..'), { recursive: true })
    writeFileSync(join(making, name), text)
  }
  const go = (program: string, ...args: string[]): Promise<unknown> =>
    run(program, args, { cwd: making, maxBuffer: 64 * 1024 ** 2 })
  const { source } = peer
  if (source.from === 'pip') {
    // A virtual environment names its own place, so this one is made where it stays
    renameSync(making, folder)
    await run('python3', ['-m', 'venv', join(folder, 'venv')])
    await run(join(folder, 'venv/bin/pip'), ['install', '--quiet', ...source.packages], { maxBuffer: 64 * 1024 ** 2 })
  } else if (source.from === 'npm') {
    write('package.json', '{ "private": true }')
    await go('npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund', '--save-exact', ...source.packages)
  } else if (source.from === 'go') {
    copyFileSync(file, join(making, 'main.go'))
    await go('go', 'mod', 'init', 'peer')
    await go('go', 'get', source.module)
    await go('go', 'build', '-o', 'peer', '.')
  } else if (source.from === 'cargo') {
    const needed = Object.entries(source.dependencies).map(([name, version]) => `${name} = "${version}"`)
    write(
      'Cargo.toml',
      ['[package]', 'name = "peer"', 'version = "0.1.0"', 'edition = "2021"', '[dependencies]', ...needed, ''].join(
        '\n',
      ),
    )
    mkdirSync(join(making, 'src'))
    copyFileSync(file, join(making, 'src/main.rs'))
    await go('cargo', 'build', '--release', '--quiet')
  } else if (source.from === 'maven') {
    write('pom.xml', pomOf(source.artifacts, source.without))
    await go('mvn', '-q', '-B', 'dependency:copy-dependencies', '-DoutputDirectory=jars')
    if (source.main !== undefined) await go('javac', '-cp', 'jars/*', '-d', '.', file)
  }
  if (source.from !== 'pip') renameSync(making, folder)
  writeFileSync(join(folder, 'done'), '')
}

function pomOf(artifacts: string[], without: string | undefined): string {
  const tags = ['groupId', 'artifactId', 'version']
  const named = (coordinates: string): string =>
    coordinates
      .split(':')
      .map((part, at) => `<${tags[at]}>${part}</${tags[at]}>`)
      .join('')
  const excluded = without === undefined ? '' : `<exclusions><exclusion>${named(without)}</exclusion></exclusions>`
  const dependencies = artifacts.map((one, at) => `<dependency>${named(one)}${at === 0 ? excluded : ''}</dependency>`)
  return `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>${named('peer:peer:1')}
<dependencies>${dependencies.join('')}</dependencies></project>`
}

async function main(keys: string[]): Promise<number> {
  const unknown = keys.filter((key) => !PEERS.some((peer) => peer.key === key))
  if (unknown.length > 0) {
    process.stderr.write(`there is no ${unknown.join(', ')}; there are ${PEERS.map(({ key }) => key).join(', ')}\n`)
    return 2
  }
  for (const peer of PEERS) {
    if (keys.length > 0 && !keys.includes(peer.key)) continue
    const found = findPeer(peer)
    if (typeof found !== 'string') {
      process.stdout.write(`${peer.name} ${found.version}: installed\n`)
      continue
    }
    const missing = TOOLS[peer.source.from].filter((tool) => programOf(tool) === undefined)
    if (peer.source.from === 'system' || missing.length > 0) {
      process.stdout.write(
        `${peer.name}: not installed, ${missing.length > 0 ? `${missing.join(' and ')} missing` : found}\n`,
      )
      continue
    }
    process.stdout.write(`${peer.name} ${peer.version}: being installed\n`)
    await install(peer).then(
      () => process.stdout.write(`${peer.name} ${peer.version}: installed\n`),
      (error: Error) =>
        process.stdout.write(
          `${peer.name}: not installed, ${error.message.trim().split('\n').slice(0, 8).join(' · ')}\n`,
        ),
    )
  }
  return 0
}

if (import.meta.main) process.exitCode = await main(process.argv.slice(2))
