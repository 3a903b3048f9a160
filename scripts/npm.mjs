/** npm, asked to install the lock file: bounded in time where its registry is away, and silent unless it fails. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { basename } from 'node:path'
import { root, SetupError } from './say.mjs'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP']

/** Whoever starts what root installed may read it, whatever the umask of root: there is no secret in a package. */
export async function readableByOthers(work) {
  const umask = process.umask()
  process.umask(umask & ~0o055)
  try {
    await work()
  } finally {
    process.umask(umask)
  }
}

/**
 * `npm ci`, quiet; its output is shown only when it fails.
 * @param {(pid: number | undefined) => void} started  told the process id of each npm
 * @param {string} [folder]  whose lock file is installed
 * @throws {SetupError} with a sentence for a person
 */
export async function npmCi(started, folder = root) {
  // Against a registry that does not answer, npm tries package after package for many minutes: ask once beforehand.
  const ping = await npm(started, folder, 'ping', '--fetch-retries=1', '--fetch-timeout=20000')
  const away = ping.failure && networkTrouble(ping.output)
  const result = await npm(started, folder, 'ci', ...(away ? ['--offline'] : [])) // npm's cache may hold it all
  if (result.failure) throw new SetupError(explain(result.failure, away ? ping.output : result.output))
}

/** The code of a failure that a retry would not change: no way to the registry, or none that is trusted. */
function networkTrouble(output) {
  const codes =
    /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT|SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_[A-Z_]+|CERT_HAS_EXPIRED)\b/
  return codes.exec(output)?.[1]
}

async function npm(started, cwd, ...task) {
  // Not yarn's or pnpm's; and `npm ci` may have removed the packaged Node that runs this: then that of the PATH does it.
  const ours = basename(process.env.npm_execpath ?? '').startsWith('npm') && existsSync(process.execPath)
  const [command, ...before] = ours ? [process.execPath, process.env.npm_execpath] : ['npm']
  // The tests need what the user's settings may leave out; EBADENGINE is expected under the machine's own Node.
  const options = ['--include=dev', '--include=optional', '--no-audit', '--no-fund', '--loglevel=error']
  const patience = ['--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=5000']
  // When this process is ended meanwhile, npm is ended as well; the next start takes the lock over.
  let told
  const leave = (signal) => {
    told = signal
    child.kill(signal)
  }
  for (const signal of SIGNALS) process.on(signal, leave)
  const child = spawn(command, [...before, ...task, ...options, ...patience], {
    cwd,
    env: { ...process.env, DECORUM_SET_UP: 'yes' }, // see scripts/node24/launcher/node.sh
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  started(child.pid)
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
  for (const signal of SIGNALS) process.off(signal, leave)
  if (told) process.exit(128 + constants.signals[told])
  return { failure, output }
}

function explain(failure, output) {
  if (failure.code === 'ENOENT') return 'npm was not found: install Node 24 together with npm, then try again'
  if (failure instanceof Error) return `npm could not be started: ${failure.message}`
  const network = networkTrouble(output)
  if (network) {
    return `npm could not reach its registry (${network}): check the network, the proxy and \`npm config get registry\``
  }
  const errors = output.split('\n').filter((line) => /^npm (error|ERR!)/.test(line) && !line.includes('complete log'))
  return `npm ci failed (${failure}):\n${errors.slice(0, 6).join('\n') || output.trim().split('\n').slice(-6).join('\n')}`
}
