/** Runs a child in place of this process: same terminal, signals passed on, its exit code returned; it ends when this process ends. */
import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { pathToFileURL } from 'node:url'
import { root } from './say.mjs'

/** The second of two equal signals within this is a copy of the first. */
const SAME_SIGNAL_MS = 500
const PARENT_CHECK_MS = 500

/**
 * Runs a program of this project in the foreground. It has a session of its own and gets each signal from this process alone:
 * under `npm start` one Ctrl-C arrives twice, from the terminal and from npm, and the second would mean "at once".
 * @returns {Promise<number>} its exit code; 128 + signal when it was killed
 */
export function inForeground(node, args, { env, cwd, sameSignalMs = SAME_SIGNAL_MS }) {
  const watch = ['--import', pathToFileURL(`${root}/scripts/with-launcher.mjs`).href]
  // Before the child starts: a signal that comes as soon as it runs is passed on, too.
  const lastAt = new Map()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      const again = performance.now() - (lastAt.get(signal) ?? Number.NEGATIVE_INFINITY) < sameSignalMs
      lastAt.set(signal, performance.now())
      if (!again) child.kill(signal)
    })
  }
  const child = spawn(node, [...watch, ...args], {
    cwd,
    env: { ...env, DECORUM_LAUNCHER: String(process.pid) },
    detached: true,
    stdio: ['inherit', 'inherit', 'inherit', 'pipe'], // the fourth closes when this process ends: see with-launcher.mjs
  })
  // npm passes SIGINT and SIGTERM on, but not that it was killed: a change of the parent process shows that.
  const parent = process.ppid
  const orphaned = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(orphaned)
    child.kill('SIGTERM')
  }, PARENT_CHECK_MS)
  if (process.env.npm_lifecycle_event === undefined) clearInterval(orphaned) // a shell may end before this process, as with nohup
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      clearInterval(orphaned)
      resolve(signal ? 128 + constants.signals[signal] : (code ?? 1))
    })
  })
}
