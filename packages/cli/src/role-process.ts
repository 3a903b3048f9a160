/** One role as a child process: started, awaited until it is ready, restarted when it crashes. */
import { type ChildProcess, type ForkOptions, fork } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { forkEarly, forkEnv, withSmallHeap } from '@decorum/runtime/early-process'
import { CommandError, messageOf, USAGE, UsageError } from './exit.ts'
import type { Role } from './roles.ts'

/** The line by which a role process reports to its parent that it is ready, at any log level. */
export type StartedLine = { started: { port: number } }

/** A JSON line on the stdout of a role process (pino's shape). */
export type RoleLine = { level: number; msg: string } & Record<string, unknown>

export type RoleEvent =
  | { kind: 'ready'; name: string; pid: number; port: number }
  /** `starting`: a message about its settings, which every process of the role prints */
  | { kind: 'line'; name: string; line: RoleLine; starting: boolean }
  | { kind: 'died'; name: string; pid: number; how: string; againInMs: number }

/** A number: only that port; `usual`: that port, or any free one if it is taken. */
export type PortWish = number | { usual: number }

export type RoleProcessOptions = {
  role: Role
  /** its name in logs, e.g. 'fetcher-2' */
  name: string
  /** may be a promise: the process loads its modules meanwhile, and is killed if the promise is rejected */
  env: NodeJS.ProcessEnv | Promise<NodeJS.ProcessEnv>
  /** port of its HTTP side; 0 or absent: any free one */
  port?: PortWish
  onEvent: (event: RoleEvent) => void
}

const CLI = fileURLToPath(new URL('main.ts', import.meta.url))
/** Longest start, from when the environment is known, on a machine that may be very busy; a process that ends is reported sooner. */
const READY_MS = 90_000
/** The first restart follows after 0.5 s, each further one after twice the time, up to 10 s; a minute without a crash resets this. */
const FIRST_BACK_OFF_MS = 500
const LAST_BACK_OFF_MS = 10_000
const FORGIVEN_AFTER_MS = 60_000
const LAST_WORDS_LINES = 20
/** Messages until this long after a process is ready count as messages about its settings, because its logger may be late. */
const STARTING_MS = 1_000

export class RoleProcess {
  readonly role: Role
  readonly name: string
  readonly #options: RoleProcessOptions
  #child: ChildProcess | undefined
  /** Port of its HTTP side, 0 before it is ready. */
  port = 0
  #wantedPort: number
  /** How often it has been restarted. */
  restarts = 0
  #backOffMs = FIRST_BACK_OFF_MS
  readonly #stopping = new AbortController()

  constructor(options: RoleProcessOptions) {
    this.#options = options
    this.role = options.role
    this.name = options.name
    const { port = 0 } = options
    this.#wantedPort = typeof port === 'number' ? port : port.usual
  }

  /** Process id while it runs. */
  get pid(): number | undefined {
    return this.#child?.exitCode === null && this.#child.signalCode === null ? this.#child.pid : undefined
  }

  /** @throws UsageError for wrong settings, CommandError with its last output if the process ends, and if it is not ready in time */
  async start(): Promise<void> {
    const child = await this.#launch().catch(async (error: unknown) => {
      if (typeof this.#options.port !== 'object') throw error
      await this.#options.env // rejected: the process is not needed
      // The port may have been taken since it was checked. Any other failure will occur again, and is reported then.
      this.#wantedPort = 0
      return this.#launch()
    })
    this.#watch(child, Date.now())
  }

  /**
   * SIGTERM, then SIGKILL after `graceMs`. Resolves when it has ended; it is not restarted.
   * @returns whether it ended in order, with every lease completed
   */
  async stop(graceMs: number): Promise<boolean> {
    this.#stopping.abort()
    const child = this.#child
    if (child === undefined || this.pid === undefined) return child?.exitCode === 0
    const gone = once(child, 'exit')
    child.kill('SIGTERM')
    const patience = setTimeout(() => killGroup(child), graceMs)
    await gone
    clearTimeout(patience)
    return child.exitCode === 0
  }

  /** Ends it at once; it is not restarted. */
  kill(): void {
    this.#stopping.abort()
    if (this.#child !== undefined) killGroup(this.#child)
  }

  async #launch(): Promise<ChildProcess> {
    const { role, name, onEvent } = this.#options
    // Other programs know these ports, so a restart keeps them.
    const keepsPort = this.port !== 0 && (role === 'console' || role === 'permits' || role === 'proxy')
    const own = { PORT: String(keepsPort ? this.port : this.#wantedPort) }
    const child = forkWith([role], this.#options.env, own)
    this.#child = child
    const lastWords: string[] = []
    let startedAt = Number.POSITIVE_INFINITY
    const { promise: ready, resolve: isReady } = Promise.withResolvers<number>()
    const onText = (text: string) => {
      const now = performance.now()
      const started = startedPort(text)
      if (started === undefined) {
        if (lastWords.push(text) > LAST_WORDS_LINES) lastWords.shift()
        onEvent({ kind: 'line', name, line: readLine(text), starting: now < startedAt + STARTING_MS })
      } else {
        startedAt = now
        isReady(started)
      }
    }
    for (const stream of [child.stdout, child.stderr]) if (stream) createInterface({ input: stream }).on('line', onText)
    const ended = new AbortController()
    const closed = once(child, 'close', { signal: ended.signal }).then(
      ([code, signal]) => {
        const words = lastWords
          .map((text) => readLine(text).msg)
          .join('\n')
          .replace(/^decorum: /, '')
        const why = words || `${name} ended before it was ready (${signal ?? `exit code ${code}`})`
        throw code === USAGE ? new UsageError(why) : new CommandError(why) // the parent has the same settings
      },
      (error: unknown) => {
        throw new CommandError(`${name} could not be started: ${messageOf(error)}`) // such as: no process or file descriptor is left
      },
    )
    const late = Promise.resolve(this.#options.env).then(async () => {
      await sleep(READY_MS, undefined, { signal: ended.signal })
      killGroup(child)
      throw new CommandError(`${name} was not ready after ${READY_MS / 1_000} s`)
    })
    for (const loser of [closed, late]) loser.catch(() => undefined)
    try {
      this.port = await Promise.race([ready, closed, late])
    } finally {
      ended.abort()
    }
    onEvent({ kind: 'ready', name, pid: child.pid ?? 0, port: this.port })
    return child
  }

  /** Restarts the process after each crash, after longer and longer pauses, until stop() is called. */
  #watch(child: ChildProcess, since: number): void {
    const revive = async (code: number | null, signal: NodeJS.Signals | null) => {
      if (this.#stopping.signal.aborted) return
      if (Date.now() - since > FORGIVEN_AFTER_MS) this.#backOffMs = FIRST_BACK_OFF_MS
      const againInMs = this.#backOffMs
      this.#backOffMs = Math.min(againInMs * 2, LAST_BACK_OFF_MS)
      const { name, onEvent } = this.#options
      onEvent({ kind: 'died', name, pid: child.pid ?? 0, how: signal ?? `exit code ${code}`, againInMs })
      try {
        await sleep(againInMs, undefined, { signal: this.#stopping.signal })
        this.restarts++
        const next = await this.#launch()
        if (this.#stopping.signal.aborted) next.kill('SIGTERM')
        this.#watch(next, Date.now())
      } catch (error) {
        if (this.#stopping.signal.aborted) return
        onEvent({ kind: 'line', name, line: { level: 50, msg: messageOf(error) }, starting: false })
        await revive(null, null)
      }
    }
    if (child.exitCode !== null || child.signalCode !== null) void revive(child.exitCode, child.signalCode)
    else child.once('exit', (code, signal) => void revive(code, signal))
  }
}

/** Outside the terminal's process group: Ctrl-C is for the parent, which stops its children in order. */
const FORK = { stdio: ['ignore', 'pipe', 'pipe', 'ipc'], detached: true } satisfies ForkOptions

function forkWith(args: string[], env: RoleProcessOptions['env'], own: NodeJS.ProcessEnv): ChildProcess {
  // the proxy fetches in its main process, for which a small heap would cost CPU
  const execArgv = args[0] === 'proxy' ? process.execArgv : withSmallHeap(process.execArgv)
  if (!(env instanceof Promise)) return fork(CLI, args, { ...FORK, execArgv, env: forkEnv({ ...env, ...own }) })
  const { child, begin } = forkEarly(CLI, args, { ...FORK, execArgv })
  env.then(
    (known) => begin({ ...known, ...own }),
    () => killGroup(child),
  )
  return child
}

/** Kills a process with its children: a fetching process that is frozen or loading its modules would notice its parent's end late. */
function killGroup(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {} // it has just ended
}

function startedPort(text: string): number | undefined {
  if (!text.startsWith('{"started":')) return undefined
  return (JSON.parse(text) as StartedLine).started.port
}

/** pino's level numbers. */
const LEVELS: Record<string, number> = { trace: 10, debug: 20, info: 30, warn: 40, error: 50, fatal: 60 }

/** A line that is no JSON log line, such as a print of a library, is passed on as a warning. */
function readLine(text: string): RoleLine {
  try {
    const line: unknown = JSON.parse(text)
    if (typeof line === 'object' && line !== null && 'msg' in line && 'level' in line) {
      const message = line as { msg: string; level: string | number }
      return { ...message, level: typeof message.level === 'number' ? message.level : (LEVELS[message.level] ?? 40) }
    }
  } catch {}
  return { level: 40, msg: text }
}
