/** One start at a time, among processes that share nothing but the project's folder. */
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { root, SetupError, say } from './say.mjs'

const lockFolder = join(root, '.cache', 'setup.lock')
const ownerFile = join(lockFolder, 'owner.json')
const UNWRITTEN_MS = 10_000 // a lock folder this old without an owner's name was left by a killed start

/**
 * Runs `work` while no other start does; a lock left by a killed start is taken over.
 * @param {(own: (pid: number | undefined) => void) => Promise<void>} work  calls `own` with each process that works
 *   on its behalf: the lock is held as long as one of them lives, even if this process does not
 */
export async function alone(work) {
  try {
    mkdirSync(join(root, '.cache'), { recursive: true })
  } catch (error) {
    throw new SetupError(
      `packages have to be installed, and this user may not write to ${root} (${error.code}): start once as its owner`,
    )
  }
  for (let told = false; !take(lockFolder);) {
    if (!told) say('another start is installing the packages, waiting for it')
    told = true
    if (abandoned()) takeOver()
    else await sleep(200)
  }
  const own = (pid) => writeFileSync(ownerFile, JSON.stringify({ pids: [process.pid, pid].filter(Boolean) }))
  own()
  try {
    await work(own)
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
  try {
    return !JSON.parse(readFileSync(ownerFile, 'utf8')).pids.some(alive)
  } catch {
    // not written yet, or never
  }
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
