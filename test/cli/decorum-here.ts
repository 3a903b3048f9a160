/**
 * The `decorum` command in the process of the test, for what is typed and what is printed: a process of its own costs half a second of
 * processor time. Exit codes, signals and pipes of the real program are tested with `decorum` of decorum.ts, at least once per command.
 */
import { Readable } from 'node:stream'
import { runCommand } from '@decorum/cli/testing'
import { environmentOf, type Result, type RunOptions } from './decorum.ts'

type Options = Pick<RunOptions, 'cwd' | 'env' | 'input'>

/** One after the other, because all of them have the streams, the folder and the environment of this process. */
let before: Promise<unknown> = Promise.resolve()

/** The same as `decorum` of decorum.ts, but for what a command does to its own process: it must not run until a signal. */
export function decorumHere(args: string[], options: Options = {}): Promise<Result> {
  const env = environmentOf(options.env)
  const result = before.then(() => run(args, env, options))
  before = result.catch(() => undefined)
  return result
}

async function run(args: string[], env: NodeJS.ProcessEnv, { cwd, input = '' }: Options): Promise<Result> {
  const said = { stdout: '', stderr: '' }
  const undo: (() => void)[] = []
  try {
    for (const name of ['stdout', 'stderr'] as const) {
      const stream = process[name]
      const { write } = stream
      stream.write = (chunk: Uint8Array | string, ...rest: unknown[]): boolean => {
        said[name] += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8')
        const taken = rest.at(-1)
        if (typeof taken === 'function') taken()
        return true
      }
      undo.push(() => {
        stream.write = write
      })
    }
    const stdin = Object.getOwnPropertyDescriptor(process, 'stdin') as PropertyDescriptor
    Object.defineProperty(process, 'stdin', { value: Readable.from([Buffer.from(input)]), configurable: true })
    undo.push(() => Object.defineProperty(process, 'stdin', stdin))
    const [folder, mask, own] = [process.cwd(), process.umask(0o077), { ...process.env }]
    undo.push(() => {
      process.chdir(folder)
      process.umask(mask)
      become(own)
    })
    if (cwd !== undefined) process.chdir(cwd)
    become(env)
    const code = await runCommand(args)
    return { code, ...said }
  } finally {
    for (const one of undo.toReversed()) one()
  }
}

function become(env: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name]
  Object.assign(process.env, env)
}
