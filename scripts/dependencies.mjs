/**
 * The packages of the lock file, installed once. A stamp inside node_modules says for which lock file, so that a
 * second start asks npm nothing; of several first starts one installs and the others wait. Runs on any Node ≥ 20
 * with an empty node_modules.
 */
import { createHash } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { alone } from './alone.mjs'
import { npmCi, readableByOthers } from './npm.mjs'
import { root, say } from './say.mjs'

const stampFile = join(root, 'node_modules', '.decorum-lock')

/** Installs what package-lock.json asks for, unless it is there. */
export async function ensureDependencies() {
  if (upToDate()) return
  await alone(async (own) => {
    if (upToDate()) return // another start did it meanwhile
    rmSync(stampFile, { force: true })
    const count = Object.keys(readJson(join(root, 'package-lock.json')).packages).length
    say(`installing ${count} packages with npm ci, once per lock file`)
    const startedAt = Date.now()
    await readableByOthers(async () => {
      await npmCi(own)
      writeFileSync(stampFile, wantedStamp())
    })
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
  try {
    writeFileSync(stampFile, wantedStamp())
  } catch {
    // installed by another user: compared again at each start
  }
  return true
}

/** Whether `npm ci` was run by hand: npm's own record of node_modules then agrees with the lock file. */
function installedByHand() {
  const wanted = readJson(join(root, 'package-lock.json'))?.packages ?? {}
  const found = readJson(join(root, 'node_modules', '.package-lock.json'))?.packages
  if (!found) return false
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === '') return true
    return found[path] ? found[path].version === entry.version : entry.optional === true
  })
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
