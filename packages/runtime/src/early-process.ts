/**
 * A process that is started before its environment is known. Meanwhile it loads its modules, which is most of the time of a start
 * (docs/decisions/0010-compiled-code-is-kept.md): the roles while Redis starts, fetching processes while their supervisor loads.
 */
import { type ChildProcess, type ForkOptions, fork } from 'node:child_process'
import { once } from 'node:events'

export type Env = Record<string, string | undefined>

/** How a process ended, or why it could not be started. */
export type ProcessEnd = { code: number | null; signal: NodeJS.Signals | null; error?: Error }

export type EarlyProcess = {
  readonly child: ChildProcess
  /** Never rejects. */
  readonly ended: Promise<ProcessEnd>
  /** Sends the process its whole environment, and the process begins. If it has already ended, its exit code is reported. */
  begin(env: Env): void
}

/**
 * Keeps V8's young generation small, for processes that do not fetch. Measured 2026-11-23: a gateway at rest has 115 MB instead of 137, 160
 * instead of 212 when it serves 1,000 lanes, with the same CPU; a process that fetches would need an eighth more CPU.
 */
const SMALL_HEAP = '--max-semi-space-size=4'
const SETS_HEAP = /max[-_]semi[-_]space[-_]size/

/** Options of node for a small young generation, unless this process was started with another size. */
export const withSmallHeap = (execArgv: string[], { NODE_OPTIONS = '' }: Env = process.env): string[] =>
  [...execArgv, NODE_OPTIONS].some((text) => SETS_HEAP.test(text)) ? execArgv : [...execArgv, SMALL_HEAP]
export const withoutSmallHeap = (execArgv: string[]): string[] => execArgv.filter((option) => option !== SMALL_HEAP)

/** An environment for `fork`, which passes the channel to the parent in two variables: existing values of these would take precedence. */
export const forkEnv = (env: Env): Env => ({
  ...env,
  NODE_CHANNEL_FD: undefined,
  NODE_CHANNEL_SERIALIZATION_MODE: undefined,
})

/** Set in a process that gets its environment as its first message. */
const FOLLOWS = 'DECORUM_ENVIRONMENT_FOLLOWS'

/** @param module  path of a module that calls `ownEnvironment` before it reads a setting */
export function forkEarly(module: string, args: string[], options: Omit<ForkOptions, 'env'>): EarlyProcess {
  const child = fork(module, args, { ...options, env: forkEnv({ ...process.env, [FOLLOWS]: 'yes' }) })
  const ended = new Promise<ProcessEnd>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
    child.on('error', (error) => {
      if (child.pid === undefined) resolve({ code: null, signal: null, error }) // the system has no process or file descriptor left
    })
  })
  return {
    child,
    ended,
    begin(env) {
      if (child.connected) child.send(env, () => {})
    },
  }
}

/** The environment of this process: the one it was started with, or the one that its parent sends. The process ends with its parent. */
export async function ownEnvironment(): Promise<NodeJS.ProcessEnv> {
  if (process.env[FOLLOWS] === undefined || process.connected === undefined) return process.env // or no parent could send another
  const end = (): void => process.exit(1)
  process.once('disconnect', end)
  if (!process.connected) end() // the parent ended while the modules of this process were loaded
  const [sent] = (await once(process, 'message')) as [Env]
  process.off('disconnect', end) // the code that follows decides how this process ends
  const { NODE_COMPILE_CACHE } = process.env // has already taken effect in this process
  for (const name of Object.keys(process.env)) if (sent[name] === undefined) delete process.env[name]
  for (const [name, value] of Object.entries({ NODE_COMPILE_CACHE, ...sent }))
    if (value !== undefined) process.env[name] = value
  return process.env
}
