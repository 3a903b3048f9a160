/** Runs the guarded command: it gets this terminal and the signals that reach this process; when it ends, the guard ends. */
import { type ChildProcess, spawn } from 'node:child_process'
import { constants } from 'node:os'
import { messageOf } from '../exit.ts'
import { warn } from '../terminal.ts'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const
/** Exit codes of a shell: no such command, and a command that cannot be run. */
const NOT_FOUND = 127
const NOT_RUN = 126
/** Exit code of a shell for a command ended by a signal: this plus the number of the signal. */
const BY_SIGNAL = 128

/**
 * @param umask  the operator's umask, for the command
 * @returns its exit code, or the one that a shell would give: for the signal that ended it, and for a command that cannot be run
 */
export function runGuarded(
  [program = '', ...args]: string[],
  env: NodeJS.ProcessEnv,
  umask: number,
): Promise<{ code: number; hasRun: boolean }> {
  return new Promise((resolve) => {
    let child: ChildProcess | undefined
    const pass = (signal: NodeJS.Signals) => {
      // A terminal also sends the signal to the command, for which a second one may mean to stop at once.
      if (process.stdin.isTTY && (signal === 'SIGINT' || signal === 'SIGQUIT')) return
      child?.kill(signal)
    }
    // Set up before the command runs: a signal in between would end this process, and leave the command without a proxy. Node calls `pass`
    // after all of this is done.
    for (const signal of SIGNALS) process.on(signal, pass)
    // Whenever this process exits, it ends the command: without the proxy, every request of the command would fail
    const endCommand = () => void child?.kill('SIGTERM')
    process.once('exit', endCommand)
    const end = (code: number, hasRun = true) => {
      process.off('exit', endCommand)
      for (const signal of SIGNALS) process.off(signal, pass)
      resolve({ code, hasRun })
    }
    const own = process.umask(umask)
    const started = spawn(program, args, { stdio: 'inherit', env })
    process.umask(own)
    child = started
    started.once('error', (error: NodeJS.ErrnoException) => {
      if (started.pid !== undefined) return // a signal could not be sent
      const isMissing = error.code === 'ENOENT'
      warn(`decorum: ${isMissing ? `there is no command ${program}` : `${program} cannot be run: ${messageOf(error)}`}`)
      end(isMissing ? NOT_FOUND : NOT_RUN, false)
    })
    started.once('exit', (code, signal) => end(code ?? BY_SIGNAL + (signal === null ? 0 : constants.signals[signal])))
  })
}
