/**
 * One role process that may be shot at: started with the `decorum` command like any other, started again when it dies,
 * frozen and thawed with all its children. Unlike the product's own parent it does not wait longer after each death.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { now as clock } from '@decorum/cli/synthetic-web'
import type { OfOne } from './stalls.ts'

/** The tree that this file belongs to. */
export const THIS_TREE = fileURLToPath(new URL('../../', import.meta.url))
const CLI = 'packages/cli/src/main.ts'
const READY_MS = 300_000
/** Ends before it was once ready: more are no chance. */
const MOST_ENDS = 20
const AGAIN_MS = 300
const LAST_WORDS = 20

export type Death = { name: string; at: number; how: string /** by kill() of this class */; wanted: boolean }

export type WorkerOptions = {
  role: 'gateway' | 'fetcher' | 'permits' | 'console' | 'proxy'
  name: string
  /** read at each start: what is deleted from it is gone with the next life */
  env: NodeJS.ProcessEnv
  onDeath?: (death: Death) => void
  /** JSON lines of level error, and whatever is no JSON */
  onTrouble?: (name: string, text: string) => void
  /** stays dead (default false) */
  once?: boolean
  /** whose code it runs at first: the folder of a tree (default: this one) */
  tree?: string
}

/** What processes said, and how often: of a role, whichever of them it was. */
export function countTroubles() {
  const troubles = new Map<string, number>()
  const onTrouble = (name: string, text: string): void => {
    const what = `${name.replace(/-\d+$/, '')}: ${text.slice(0, 300)}`
    troubles.set(what, (troubles.get(what) ?? 0) + 1)
  }
  return { troubles, onTrouble }
}

const everyone = new Set<Worker>()
// A frozen process cannot notice that its parent is gone.
process.on('exit', () => {
  for (const worker of everyone) worker.end()
})

export class Worker {
  readonly role: WorkerOptions['role']
  readonly name: string
  /** of its HTTP side, in its present life */
  port = 0
  state: 'starting' | 'running' | 'frozen' | 'dead' = 'dead'
  /** whose code its present life runs, or its next one */
  tree: string
  readonly #options: WorkerOptions
  #child: ChildProcess | undefined
  #frozen: number[] = []
  #shot = false
  #over = false
  #replaced = false
  #ends = 0
  /** of each of its lives: until it was ready, or had ended */
  readonly starts: OfOne[] = []

  constructor(options: WorkerOptions) {
    this.#options = options
    this.tree = options.tree ?? THIS_TREE
    this.role = options.role
    this.name = options.name
  }

  /** @throws Error with its last words when it ends before it is ready */
  async start(): Promise<void> {
    const { role, name, env, onTrouble, onDeath } = this.#options
    this.state = 'starting'
    this.#shot = false
    const starting = { name, at: clock(), until: Number.POSITIVE_INFINITY }
    this.starts.push(starting)
    const isOver = (): void => {
      starting.until = Math.min(starting.until, clock())
    }
    const child = fork(join(this.tree, CLI), [role], {
      env: { ...env, STORM_NAME: name },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      detached: true,
    })
    this.#child = child
    everyone.add(this)
    const words: string[] = []
    const ready = new Promise<void>((resolve, reject) => {
      const hear = (text: string): void => {
        if (text.startsWith('{"started":')) {
          isOver()
          this.port = (JSON.parse(text) as { started: { port: number } }).started.port
          resolve()
        }
        if (words.push(text) > LAST_WORDS) words.shift()
        if (isTrouble(text)) onTrouble?.(name, text)
      }
      for (const stream of [child.stdout, child.stderr]) if (stream) createInterface({ input: stream }).on('line', hear)
      child.once('exit', (code, signal) => {
        this.state = 'dead'
        this.#ends++
        isOver()
        const how = signal ?? `exit code ${code}`
        onDeath?.({ name, at: clock(), how, wanted: this.#shot || this.#over })
        reject(new Error(`${name} ended before it was ready (${how}): ${words.join(' | ')}`))
        if (!this.#over && !this.#replaced && this.#options.once !== true) void this.#again()
      })
      setTimeout(() => reject(new Error(`${name} was not ready in time`)), READY_MS).unref()
    })
    await ready
    if (this.state === 'starting') this.state = 'running'
  }

  /**
   * The same for a process that comes back by itself, as when a busy Redis does not answer it in time.
   * @throws Error with its last words when it ends again and again
   */
  async startUntilReady(): Promise<void> {
    let why: Error | undefined
    await this.start().catch((error: Error) => {
      why = error
    })
    while (why !== undefined && this.state !== 'running') {
      if (this.#ends > MOST_ENDS) throw why
      await sleep(AGAIN_MS)
    }
  }

  async #again(): Promise<void> {
    await sleep(AGAIN_MS)
    if (this.#over) return
    await this.start().catch((error: Error) => this.#options.onTrouble?.(this.name, error.message))
  }

  /** Its process and the children of it. */
  pids(): number[] {
    const pid = this.#child?.pid
    return pid === undefined || this.#child?.exitCode !== null || this.#child.signalCode !== null
      ? []
      : [...childrenOf(pid), pid]
  }

  /** It is there, and no signal has stopped it. */
  runsStill(): boolean {
    const pid = this.pids().at(-1)
    return pid !== undefined && !/\) [TtZX] /.test(readOrEmpty(`/proc/${pid}/stat`))
  }

  /** SIGKILL to all of it at once; it comes back by itself. */
  kill(): void {
    this.#shot = true
    for (const pid of this.pids()) signal(pid, 'SIGKILL')
  }

  /** SIGSTOP. `child`: only the children, where there are any, so that their parent sees it. */
  freeze(whom: 'family' | 'child' = 'family'): void {
    const pids = this.pids()
    this.#frozen = whom === 'child' && pids.length > 1 ? pids.slice(0, -1) : pids
    for (const pid of this.#frozen) signal(pid, 'SIGSTOP')
    this.state = 'frozen'
  }

  thaw(): void {
    for (const pid of this.#frozen.splice(0)) signal(pid, 'SIGCONT')
    if (this.state === 'frozen') this.state = 'running'
  }

  /**
   * SIGTERM; when it has ended, it starts again with the code of another tree.
   * @returns how long it took to end, ms, and by what exit code or signal
   * @throws Error when the other one does not start
   */
  async replace(tree: string, graceMs: number): Promise<{ drainMs: number; how: string }> {
    const child = this.#child
    if (child === undefined || this.pids().length === 0) throw new Error(`${this.name} does not run`)
    this.#replaced = true
    const at = clock()
    const gone = once(child, 'exit')
    child.kill('SIGTERM')
    const patience = setTimeout(() => this.kill(), graceMs)
    const [code, signal] = (await gone) as [number | null, NodeJS.Signals | null]
    clearTimeout(patience)
    const drainMs = clock() - at
    this.tree = tree
    this.#replaced = false
    await this.startUntilReady()
    return { drainMs, how: signal ?? `exit code ${code}` }
  }

  /** Drains by SIGTERM, killed after `graceMs`; it does not come back. */
  async stop(graceMs: number): Promise<void> {
    this.#over = true
    const child = this.#child
    if (child === undefined || this.pids().length === 0) return
    this.thaw()
    const gone = once(child, 'exit')
    child.kill('SIGTERM')
    const patience = setTimeout(() => this.kill(), graceMs)
    await gone
    clearTimeout(patience)
    everyone.delete(this)
  }

  /** At once and for good. */
  end(): void {
    this.#over = true
    this.kill()
  }

  /** Resolves when it runs: one that stood still until now has told so by then. */
  async runs(): Promise<void> {
    if (this.state === 'running') await fetch(`http://127.0.0.1:${this.port}/livez`).catch(() => undefined)
  }

  /** After `end`: resolves when its process does nothing any more. */
  async gone(): Promise<void> {
    const child = this.#child
    if (child?.pid !== undefined && child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  }
}

export const childrenOf = (pid: number): number[] =>
  readOrEmpty(`/proc/${pid}/task/${pid}/children`).trim().split(' ').filter(Boolean).map(Number)

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {} // it died meanwhile
}

function isTrouble(text: string): boolean {
  try {
    return (JSON.parse(text) as { level?: number }).level !== undefined && JSON.parse(text).level >= 50
  } catch {
    return true
  }
}
