/**
 * The packages of the lock file, installed once. A stamp inside node_modules says for which lock file, so that a
 * second start asks npm nothing; of several first starts one installs and the others wait. Runs on any Node ≥ 20
 * with an empty node_modules.
 */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { root, SetupError, say } from './say.mjs'

const stampFile = join(root, 'node_modules', '.decorum-lock')
const lockFolder = join(root, '.cache', 'setup.lock')
const ownerFile = join(lockFolder, 'owner.json')
const UNWRITTEN_MS = 10_000 // a lock folder this old without an owner's name was left by a killed start

/**
 * Installs what package-lock.json asks for, unless it is there.
 * @param {{ again?: boolean }} [options]  again: install even so, because something is missing all the same
 */
export async function ensureDependencies({ again = false } = {}) {
  if (!again && upToDate()) return
  await alone(async () => {
    if (!again && upToDate()) return // another start did it while we waited
    rmSync(stampFile, { force: true })
    const count = Object.keys(readJson(join(root, 'package-lock.json')).packages).length
    say(`installing ${count} packages with npm ci, once per lock file`)
    const startedAt = Date.now()
    await npmCi()
    writeFileSync(stampFile, wantedStamp())
    say(`packages installed in ${Math.round((Date.now() - startedAt) / 1000)} s`)
  })
}

function wantedStamp() {
  return createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex')
}

function upToDate() {
  const stamp = readOr(stampFile, '').trim()
  if (stamp === wantedStamp()) return true
  if (stamp !== '' || !installedByHand()) return false
  writeFileSync(stampFile, wantedStamp())
  return true
}

/** Whether somebody ran `npm ci` himself: npm's own record of node_modules then agrees with the lock file. */
function installedByHand() {
  const wanted = readJson(join(root, 'package-lock.json'))?.packages ?? {}
  const found = readJson(join(root, 'node_modules', '.package-lock.json'))?.packages
  if (!found) return false
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === '') return true
    return found[path] ? found[path].version === entry.version : entry.optional === true
  })
}

/** `npm ci`, quiet; its own words are shown only when it fails. */
async function npmCi() {
  let result = await npm('ci')
  // A lock file written against a registry that lacks some foreign platforms' packages does not list those, and then
  // `npm ci` refuses it. They are optional: `npm install` takes the versions of the lock file and goes on without.
  if (result.failure && lacksForeignPlatforms(result.output)) result = await npm('install', '--no-save')
  if (result.failure) throw new SetupError(explain(result.failure, result.output))
}

function lacksForeignPlatforms(output) {
  const out = output.split('\n').filter((line) => /^npm (error|ERR!) (Missing|Invalid): /.test(line))
  return out.length > 0 && out.every((line) => / Missing: \S+@ from lock file$/.test(line)) // no version: not to be had
}

async function npm(...task) {
  const ours = basename(process.env.npm_execpath ?? '').startsWith('npm') // not yarn's or pnpm's
  const [command, ...before] = ours ? [process.execPath, process.env.npm_execpath] : ['npm']
  // Whatever the user's settings leave out, the tests need; EBADENGINE is expected under the machine's own Node.
  const options = ['--include=dev', '--include=optional', '--no-audit', '--no-fund', '--loglevel=error']
  const patience = ['--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=5000']
  const child = spawn(command, [...before, ...task, ...options, ...patience], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  writeFileSync(ownerFile, JSON.stringify({ pids: [process.pid, child.pid] }))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
    })
  }
  const failure = await new Promise((resolve) => {
    child.once('error', (error) => resolve(error))
    child.once('close', (code, signal) => resolve(code === 0 ? undefined : (signal ?? `exit code ${code}`)))
  })
  return { failure, output }
}

function explain(failure, output) {
  if (failure.code === 'ENOENT') return 'npm was not found: install Node 24 together with npm, then try again'
  if (failure instanceof Error) return `npm could not be started: ${failure.message}`
  const network = /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ERR_SOCKET_TIMEOUT)\b/.exec(
    output,
  )
  if (network) {
    return `npm could not reach its registry (${network[1]}): check the network, the proxy and \`npm config get registry\``
  }
  const errors = output.split('\n').filter((line) => /^npm (error|ERR!)/.test(line) && !line.includes('complete log'))
  return `npm ci failed (${failure}):\n${errors.slice(0, 6).join('\n') || output.trim().split('\n').slice(-6).join('\n')}`
}

/** Runs `work` while no other start does; a lock left by a killed start is taken over. */
async function alone(work) {
  mkdirSync(join(root, '.cache'), { recursive: true })
  for (let told = false; !take(lockFolder); ) {
    if (!told) say('another start is installing the packages, waiting for it')
    told = true
    if (abandoned()) takeOver()
    else await sleep(200)
  }
  writeFileSync(ownerFile, JSON.stringify({ pids: [process.pid] }))
  try {
    await work()
  } finally {
    rmSync(lockFolder, { recursive: true, force: true })
  }
}

/** mkdir is the one step that exactly one of many wins. */
function take(folder) {
  try {
    mkdirSync(folder)
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw new SetupError(`the folder ${folder} cannot be made (${error.code})`)
  }
}

function abandoned() {
  const pids = readJson(ownerFile)?.pids
  if (pids) return !pids.some(alive)
  try {
    return Date.now() - statSync(lockFolder).mtimeMs > UNWRITTEN_MS
  } catch {
    return false // gone in the meantime
  }
}

/** Removes an abandoned lock. Under a lock of its own, else a slow waiter would remove the next owner's. */
function takeOver() {
  const second = `${lockFolder}.takeover`
  if (!take(second)) {
    if (Date.now() - (statSync(second, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()) > UNWRITTEN_MS) {
      rmSync(second, { recursive: true, force: true })
    }
    return
  }
  try {
    if (abandoned()) rmSync(lockFolder, { recursive: true, force: true })
  } finally {
    rmSync(second, { recursive: true, force: true })
  }
}

function alive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

function readOr(path, otherwise) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return otherwise
  }
}

function readJson(path) {
  try {
    return JSON.parse(readOr(path, ''))
  } catch {
    return undefined
  }
}
