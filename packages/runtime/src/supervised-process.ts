/** One process under its supervisor: started, checked by its heartbeats, killed when silent, restarted when it ended. */

import type { ChildProcess } from 'node:child_process'
import type { Clock, Timer } from '@decorum/protocol/time'
import { within } from '@decorum/protocol/within'
import type { Logger } from 'pino'
import { defined } from './defined.ts'
import { type EarlyProcess, type Env, forkEarly, type ProcessEnd, withoutSmallHeap } from './early-process.ts'
import type { FromChild, MetricsJson, ToChild } from './supervised.ts'

/** Time from the start of a process to its first message. */
const START_MS = 30_000
const METRICS_MS = 2_000
/** Pause between the end of a process and its next start: doubles each time, and is reset after a minute of work. */
const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 10_000
const MINUTE_MS = 60_000

export type SupervisedProcessOptions = {
  /** for the log, e.g. `fetching process` */
  name: string
  /** path of the module; it calls `runSupervised` */
  module: string
  env: Env
  /** the process, if it was already started */
  early?: EarlyProcess
  log: Logger
  clock: Clock
}

/** Starts a process for `supervise`, before its environment is known. */
export const forkSupervised = (module: string): EarlyProcess =>
  forkEarly(module, [], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    execArgv: withoutSmallHeap(process.execArgv),
  })

export class SupervisedProcess {
  restarts = 0
  readonly #options: SupervisedProcessOptions
  #early: EarlyProcess | undefined
  #child: ChildProcess | undefined
  #gone: Promise<ProcessEnd> | undefined
  #heardAt = 0
  #startedAt = 0
  #ready = false
  #stopping = false
  #pauseMs = FIRST_PAUSE_MS
  #restart: Timer | undefined
  #metricsAsked: ((metrics: MetricsJson) => void)[] = []

  constructor(options: SupervisedProcessOptions) {
    this.#options = options
    this.#early = options.early
  }

  /** Resolves when the process works. @throws the error that the process reports */
  async start(): Promise<void> {
    const { name, env } = this.#options
    this.#startedAt = this.#options.clock.monotonic()
    const { child, ended, begin } = this.#early ?? this.#fork()
    this.#early = undefined
    this.#child = child
    this.#gone = ended
    this.#heardAt = this.#startedAt + START_MS
    await new Promise<void>((resolve, reject) => {
      child.on('message', (message: FromChild) => {
        this.#heardAt = this.#options.clock.monotonic()
        if (message.kind === 'beat') this.#ready = message.ready
        else if (message.kind === 'metrics') for (const tell of this.#metricsAsked.splice(0)) tell(message.metrics)
        else if (message.kind === 'failed') reject(errorOf(message))
        else resolve()
      })
      void ended.then((end) => {
        reject(new ProcessEndedError(name, end))
        this.#ended(child, end)
      })
      begin(env)
    })
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  isReady(): boolean {
    return this.#ready && !this.#stopping
  }

  silentForMs(): number {
    return this.#child === undefined ? 0 : this.#options.clock.monotonic() - this.#heardAt
  }

  /** Counts the silence of the process from now on. */
  forgetSilence(): void {
    this.#heardAt = Math.max(this.#heardAt, this.#options.clock.monotonic())
  }

  killSilent(): void {
    const { log, name } = this.#options
    log.error({ child: this.pid, silentMs: Math.round(this.silentForMs()) }, `a ${name} is silent: killed`)
    this.kill()
  }

  /** Ends the process, even if it is stopped (SIGSTOP); the kernel closes its sockets. */
  kill(): void {
    this.#child?.kill('SIGKILL')
  }

  /** Lets the process finish its work; kills it after `patienceMs`. */
  async stop(patienceMs: number): Promise<void> {
    this.#stopping = true
    this.#options.clock.cancel(this.#restart)
    const child = this.#child
    if (child === undefined) return
    this.#say({ kind: 'stop' })
    const timer = this.#options.clock.timeout(() => child.kill('SIGKILL'), patienceMs)
    await this.#gone
    this.#options.clock.cancel(timer)
  }

  /** The metrics of the process; undefined when it does not answer in time. */
  metrics(): Promise<MetricsJson | undefined> {
    if (this.#child === undefined || !this.#ready) return Promise.resolve(undefined)
    const answer = new Promise<MetricsJson>((resolve) => void this.#metricsAsked.push(resolve))
    this.#say({ kind: 'metrics' })
    return within<MetricsJson | undefined>(
      this.#options.clock,
      answer,
      METRICS_MS,
      () => new Error('no metrics'),
    ).catch(() => undefined)
  }

  #say(message: ToChild): void {
    if (this.#child?.connected === true) this.#child.send(message, () => {}) // if the process is gone, its exit is reported
  }

  /** `fork` throws when the system cannot start a process, for example without memory. */
  #fork(): EarlyProcess {
    try {
      return forkSupervised(this.#options.module)
    } catch (error) {
      const end = { code: null, signal: null, error: error as Error }
      this.#ended(undefined, end)
      throw new ProcessEndedError(this.#options.name, end)
    }
  }

  #ended(child: ChildProcess | undefined, { code, signal, error }: ProcessEnd): void {
    if (this.#child !== child) return
    const { name, log } = this.#options
    const worked = this.#ready
    this.#child = undefined
    this.#ready = false
    if (this.#stopping || (!worked && this.restarts === 0)) return // the caller handles a failed first start
    if (this.#options.clock.monotonic() - this.#startedAt > MINUTE_MS) this.#pauseMs = FIRST_PAUSE_MS
    const how = error === undefined ? { code, signal } : { err: error }
    log.warn({ ...how, againInMs: this.#pauseMs }, `a ${name} ended; its leases end by themselves`)
    this.#restart = this.#options.clock.timeout(() => {
      this.restarts++
      this.start().catch((error: unknown) => log.error({ err: error }, `a ${name} did not start`))
    }, this.#pauseMs)
    this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS)
  }
}

/** A process ended without reporting an error: it was killed, or could not be started. */
class ProcessEndedError extends Error {
  override readonly name = 'ProcessEndedError'
  constructor(whose: string, { code, signal, error }: ProcessEnd) {
    super(`a ${whose} ended before it worked (${error?.message ?? signal ?? `exit code ${code}`})`)
  }
}

/** Error objects do not cross a process border; name and code determine how the caller handles this one. */
const errorOf = ({ name, message, code }: Extract<FromChild, { kind: 'failed' }>): Error =>
  Object.assign(new Error(message), { name, ...defined({ code }) })
