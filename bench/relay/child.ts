/** The bench's side of one of its processes. */
import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { FromChild, ToChild } from './words.ts'

export type Child = {
  /** resolves with the instant (ms since 1970) at which `count` were done, counted from now on */
  expect(count: number): Promise<number>
  width(value: number): void
  /** CPU of the process so far, µs */
  cpuMicros(): Promise<number>
  stop(): Promise<void>
}

/** @param file  a file of this folder. Resolves when the process is ready. */
export async function startChild(file: string, args: string[], env: Record<string, string> = {}): Promise<Child> {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    // `BENCH_NODE_FLAGS=--cpu-prof` takes a profile of every process of the bench
    execArgv: (process.env.BENCH_NODE_FLAGS ?? '').split(' ').filter(Boolean),
  })
  const gone = new Promise<never>((_, reject) => {
    child.once('exit', (code, signal) => reject(new Error(`${file} ended by itself (${signal ?? code})`)))
  })
  gone.catch(() => undefined) // heard by whoever waits for a word
  const say = (word: ToChild): void => void child.send(word)
  await Promise.race([hear(child, 'ready'), gone])
  return {
    async expect(count) {
      const reached = hear(child, 'reached')
      say({ kind: 'expect', count })
      return (await Promise.race([reached, gone])).at
    },
    width: (value) => say({ kind: 'width', value }),
    async cpuMicros() {
      const answer = hear(child, 'cpu')
      say({ kind: 'cpu' })
      return (await Promise.race([answer, gone])).micros
    },
    async stop() {
      child.disconnect()
      await gone.catch(() => undefined)
    },
  }
}

function hear<K extends FromChild['kind']>(child: ChildProcess, kind: K): Promise<Extract<FromChild, { kind: K }>> {
  return new Promise((resolve) => {
    const listener = (word: FromChild): void => {
      if (word.kind !== kind) return
      child.off('message', listener)
      resolve(word as Extract<FromChild, { kind: K }>)
    }
    child.on('message', listener)
  })
}
