/** The tested worker, in a separate process group: started, stopped and continued as a whole, ended with its children. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { CommandError, messageOf } from '../exit.ts'
import { POOL } from './settings.ts'

export type Worker = Awaited<ReturnType<typeof startWorker>>

const LAST_WORDS = 10
const KILL_AFTER_MS = 5_000
/** Longest wait for the rest of the output: a process that has left the group may keep the pipe open for ever. */
const LAST_WORDS_MS = 2_000

/**
 * @param command  {url} and {pool} in its arguments are replaced by the values of DECORUM_URL and DECORUM_POOL
 * @throws CommandError when it cannot be started
 */
export async function startWorker(command: string[], url: string) {
  const child = await spawned(command, url)
  const lastWords: string[] = []
  if (child.stderr)
    createInterface({ input: child.stderr }).on('line', (line) => {
      if (line.trim() !== '' && lastWords.push(line) > LAST_WORDS) lastWords.shift()
    })
  const closed = once(child, 'close')
  const ended = once(child, 'exit').then(() => true)
  const gone = new AbortController()
  let isStopping = false
  child.once('exit', (code, signal) => {
    if (!isStopping) gone.abort(signal ?? `exit code ${code}`)
  })
  const sendSignal = (signal: NodeJS.Signals) => {
    if (child.pid === undefined) return // 0 would be this process's group
    try {
      process.kill(-child.pid, signal)
    } catch {} // the group is empty
  }
  // If process.exit() ends this process (a second Ctrl-C, a reader that has closed the pipe), nothing else would end the worker.
  const kill = () => sendSignal('SIGKILL')
  process.once('exit', kill)
  const worker = {
    get isRunning() {
      return child.exitCode === null && child.signalCode === null
    },
    /** Aborts when the worker ends although conform has not ended it; the reason is its signal or exit code. */
    gone: gone.signal,
    /** The last lines of its stderr; complete after `end`. */
    lastWords,
    /** Sends a signal to the worker and its children. */
    signal(signal: NodeJS.Signals) {
      isStopping ||= signal === 'SIGTERM' || signal === 'SIGKILL'
      sendSignal(signal)
    },
    endsWithin: (ms: number) => Promise.race([ended, sleep(ms, false, { ref: false })]),
    /** Resolves when neither the worker nor one of its children runs. */
    async end() {
      worker.signal('SIGCONT')
      worker.signal('SIGTERM')
      await worker.endsWithin(KILL_AFTER_MS)
      worker.signal('SIGKILL') // its children too, which may ignore SIGTERM
      await Promise.race([closed, sleep(LAST_WORDS_MS, undefined, { ref: false })])
      process.off('exit', kill)
    },
  }
  return worker
}

async function spawned(command: string[], url: string): Promise<ChildProcess> {
  const [program = '', ...args] = command.map((text) => text.replaceAll('{url}', url).replaceAll('{pool}', POOL))
  try {
    const child = spawn(program, args, {
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: true, // a separate process group, which is stopped and continued as a whole
      env: { ...process.env, DECORUM_URL: url, DECORUM_POOL: POOL },
    })
    await once(child, 'spawn')
    return child
  } catch (error) {
    throw new CommandError(`conform: the worker did not start: ${messageOf(error)}`)
  }
}
