/**
 * A process that is started before its environment is known. It loads its modules meanwhile, which is most of what a start takes
 * (docs/decisions/0010-compiled-code-is-kept.md): the roles while Redis is started, what fetches while its supervisor is loaded.
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
  /** Tells it the whole of its environment, upon which it begins. When it has ended already, its exit says so. */
  begin(env: Env): void
}

/**
 * For processes that do not fetch: V8's young generation stays small. Measured 2026-11-23: a gateway at rest has 115 MB instead of 137,
 * 160 instead of 212 when it serves 1,000 lanes, with the CPU it had before; a process that fetches would need an eighth more CPU.
 */
const SMALL_HEAP = '--max-semi-space-size=4'
const SAYS_HEAP = /max[-_]semi[-_]space[-_]size/

/** Options of node with a small young generation, unless this process was started with a size of its own. */
export const withSmallHeap = (execArgv: string[], { NODE_OPTIONS = '' }: Env = process.env): string[] =>
  [...execArgv, NODE_OPTIONS].some((text) => SAYS_HEAP.test(text)) ? execArgv : [...execArgv, SMALL_HEAP]
export const withoutSmallHeap = (execArgv: string[]): string[] => execArgv.filter((option) => option !== SMALL_HEAP)

/** An environment for `fork`, which tells a process by two variables how it reaches its parent: what stands there already would come first. */
export const forkEnv = (env: Env): Env => ({
  ...env,
  NODE_CHANNEL_FD: undefined,
  NODE_CHANNEL_SERIALIZATION_MODE: undefined,
})

/** Set in a process whose environment follows as its first message. */
const FOLLOWS = 'DECORUM_ENVIRONMENT_FOLLOWS'

/** @param module  path of a module that calls `ownEnvironment` before it reads a setting */
export function forkEarly(module: string, args: string[], options: Omit<ForkOptions, 'env'>): EarlyProcess {
  const child = fork(module, args, { ...options, env: forkEnv({ ...process.env, [FOLLOWS]: 'yes' }) })
  const ended = new Promise<ProcessEnd>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
    child.on('error', (error) => {
      if (child.pid === undefined) resolve({ code: null, signal: null, error }) // no process or no file descriptor is left
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

/** The environment of this process: the one it was started with, or the one that its parent tells it. Ends with its parent. */
export async function ownEnvironment(): Promise<NodeJS.ProcessEnv> {
  if (process.env[FOLLOWS] === undefined || process.connected === undefined) return process.env // or nobody is there to tell
  const end = (): void => process.exit(1)
  process.once('disconnect', end)
  if (!process.connected) end() // it ended while the modules of this process were loaded
  const [sent] = (await once(process, 'message')) as [Env]
  process.off('disconnect', end) // what follows decides by itself how it ends
  const { NODE_COMPILE_CACHE } = process.env // this process has decided it
  for (const name of Object.keys(process.env)) if (sent[name] === undefined) delete process.env[name]
  for (const [name, value] of Object.entries({ NODE_COMPILE_CACHE, ...sent }))
    if (value !== undefined) process.env[name] = value
  return process.env
}
