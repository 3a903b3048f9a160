/** A child that stands for this process: same terminal, signals passed on, its exit code ours, and never outliving us. */
import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { pathToFileURL } from 'node:url'
import { root } from './say.mjs'

const SAME_SIGNAL_MS = 500
const PARENT_CHECK_MS = 500

/**
 * Runs a program of ours in the foreground. It stands in a session of its own and hears each signal from us alone:
 * under `npm start` one Ctrl-C arrives twice, from the terminal and from npm, and the second would mean "at once".
 * @returns {Promise<number>} its exit code; 128 + signal when it was killed
 */
export function inForeground(node, args, { env, cwd }) {
  const watch = ['--import', pathToFileURL(`${root}/scripts/with-launcher.mjs`).href]
  const child = spawn(node, [...watch, ...args], {
    cwd,
    env: { ...env, DECORUM_LAUNCHER: String(process.pid) },
    detached: true,
    stdio: ['inherit', 'inherit', 'inherit', 'pipe'], // the fourth ends with us: see with-launcher.mjs
  })
  const lastAt = new Map()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      const again = performance.now() - (lastAt.get(signal) ?? Number.NEGATIVE_INFINITY) < SAME_SIGNAL_MS
      lastAt.set(signal, performance.now())
      if (!again) child.kill(signal)
    })
  }
  // npm passes SIGINT and SIGTERM on, but cannot pass on that it was killed: we notice that we were handed over.
  const parent = process.ppid
  const orphaned = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(orphaned)
    child.kill('SIGTERM')
  }, PARENT_CHECK_MS)
  if (process.env.npm_lifecycle_event === undefined) clearInterval(orphaned) // a shell may leave us, as with nohup
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      clearInterval(orphaned)
      resolve(signal ? 128 + constants.signals[signal] : (code ?? 1))
    })
  })
}
