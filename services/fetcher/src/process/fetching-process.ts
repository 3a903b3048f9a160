/** One fetching process as its parent sees it: started, heard twice a second, killed when silent, started again. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { SettingsError } from '@decorum/config'
import { LedgerUnavailableError, LedgerUnfitError } from '@decorum/ledger'
import { MINUTE } from '@decorum/protocol'
import type { Logger } from 'pino'
import type { FromChild, MetricsJson, ToChild } from './child.ts'

const CHILD = fileURLToPath(new URL('child.ts', import.meta.url))
/** From its start to its first word. */
const START_MS = 30_000
const METRICS_MS = 2_000
/** Between a death and the next start; doubles, and is forgotten after a quiet minute. */
const FIRST_REST_MS = 250
const LONGEST_REST_MS = 10_000

export class FetchingProcess {
  restarts = 0
  readonly #env: Record<string, string | undefined>
  readonly #log: Logger
  #child: ChildProcess | undefined
  #heardAt = 0
  #startedAt = 0
  #ready = false
  #stopping = false
  #restMs = FIRST_REST_MS
  #rest: NodeJS.Timeout | undefined
  #waiting: ((metrics: MetricsJson | undefined) => void)[] = []

  constructor(env: Record<string, string | undefined>, log: Logger) {
    this.#env = env
    this.#log = log
  }

  /** Resolves when the process works. @throws what it says when it cannot */
  async start(): Promise<void> {
    const child = fork(CHILD, { env: this.#env, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    this.#child = child
    this.#startedAt = performance.now()
    this.#heardAt = this.#startedAt + START_MS
    const gone = once(child, 'exit') as Promise<[number | null, string | null]>
    await new Promise<void>((resolve, reject) => {
      child.on('message', (word: FromChild) => {
        this.#heardAt = performance.now()
        if (word.kind === 'beat') this.#ready = word.ready
        else if (word.kind === 'metrics') this.#answerMetrics(word.metrics)
        else if (word.kind === 'failed') reject(errorOf(word))
        else resolve()
      })
      void gone.then(([code, signal]) => {
        reject(new Error(`a fetching process ended before it worked (${signal ?? `exit code ${code}`})`))
        this.#gone(child, code, signal)
      })
    })
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  isReady(): boolean {
    return this.#ready && !this.#stopping
  }

  silentForMs(): number {
    return this.#child === undefined ? 0 : performance.now() - this.#heardAt
  }

  /** Counts its silence from now on. */
  forgive(): void {
    this.#heardAt = Math.max(this.#heardAt, performance.now())
  }

  killSilent(): void {
    this.#log.error(
      { child: this.pid, silentMs: Math.round(this.silentForMs()) },
      'a fetching process is silent: killed',
    )
    this.kill()
  }

  /** Works on a stopped process, too; the kernel closes its sockets. */
  kill(): void {
    this.#child?.kill('SIGKILL')
  }

  /** Lets it end what it has begun; kills it after `patienceMs`. */
  async stop(patienceMs: number): Promise<void> {
    this.#stopping = true
    clearTimeout(this.#rest)
    const child = this.#child
    if (child === undefined) return
    const gone = once(child, 'exit')
    this.#say({ kind: 'stop' })
    const timer = setTimeout(() => child.kill('SIGKILL'), patienceMs)
    await gone
    clearTimeout(timer)
  }

  /** Its figures; undefined when it does not answer. */
  metrics(): Promise<MetricsJson | undefined> {
    if (this.#child === undefined || !this.#ready) return Promise.resolve(undefined)
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(undefined), METRICS_MS)
      this.#waiting.push((metrics) => {
        clearTimeout(timer)
        resolve(metrics)
      })
      this.#say({ kind: 'metrics' })
    })
  }

  #answerMetrics(metrics: MetricsJson | undefined): void {
    for (const answer of this.#waiting.splice(0)) answer(metrics)
  }

  #say(word: ToChild): void {
    if (this.#child?.connected === true) this.#child.send(word, () => {}) // a child that just died is noticed by its exit
  }

  #gone(child: ChildProcess, code: number | null, signal: string | null): void {
    if (this.#child !== child) return
    const worked = this.#ready
    this.#child = undefined
    this.#ready = false
    this.#answerMetrics(undefined)
    if (this.#stopping || (!worked && this.restarts === 0)) return // the first start is the caller's to judge
    if (performance.now() - this.#startedAt > MINUTE) this.#restMs = FIRST_REST_MS
    this.#log.warn({ code, signal, againInMs: this.#restMs }, 'a fetching process ended; its leases end by themselves')
    this.#rest = setTimeout(() => {
      this.restarts++
      this.start().catch((error: unknown) => this.#log.error({ err: error }, 'a fetching process did not start'))
    }, this.#restMs)
    this.#restMs = Math.min(this.#restMs * 2, LONGEST_REST_MS)
  }
}

/** Errors do not cross a process border; their class tells the reader what to do, so it is made again. */
function errorOf({ name, message }: Extract<FromChild, { kind: 'failed' }>): Error {
  switch (name) {
    case 'SettingsError':
      return new SettingsError(message)
    case 'LedgerUnfitError':
      return new LedgerUnfitError(message)
    case 'LedgerUnavailableError':
      return Object.assign(new LedgerUnavailableError('open', ''), { message })
    default:
      return Object.assign(new Error(message), { name })
  }
}
