/** The `decorum` command as a process of its own, and a site for it to visit. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Outcome } from '@decorum/protocol'
import { expect, onTestFinished } from 'vitest'

const MAIN = fileURLToPath(new URL('../../packages/cli/src/main.ts', import.meta.url))

export type Result = { code: number | null; stdout: string; stderr: string }
export type Running = {
  child: ChildProcess
  /** what it has said so far */
  said: () => string
  /** resolves when stdout or stderr holds `text`; rejects when it ends before */
  hears(text: string | RegExp): Promise<void>
  result: Promise<Result>
}

export type RunOptions = {
  cwd?: string
  env?: Record<string, string>
  input?: string | undefined
  /** run this program instead of the command itself */
  program?: string
  /** run this command, not Node, with the arguments alone */
  command?: string
  /** no file may grow beyond so many KiB: what it and its children write then fails with EFBIG, as on a full disk with ENOSPC */
  largestFileKiB?: number
  /** its stdout is appended to this file */
  into?: string
  /** whoever starts it ends it: it stays beyond the end of a test, and needs an XDG_DATA_HOME of its own */
  lasting?: true
}

/** Fast, and allowed to visit loopback; nothing of the tester's own settings comes through. */
const SETTINGS = {
  DECORUM_ALLOW_ADDRESSES: '127.0.0.0/8',
  DEFAULT_DELAY_MS: '20',
  REDIS_URL: '',
  DECORUM_AGENTS: '',
  FETCH_PROCESSES: '0', // a supervisor is a second process that most tests have no use for
}

const homes = new Map<string, string>()
/** Where the commands of one test meet; those of another test, and the tester's own, are other users to them. */
function dataHome(): string {
  const name = expect.getState().currentTestName ?? ''
  const known = homes.get(name)
  if (known !== undefined) return known
  const made = mkdtempSync(join(tmpdir(), 'decorum-home-'))
  homes.set(name, made)
  onTestFinished(async () => {
    homes.delete(name)
    await rm(made, { recursive: true, force: true, maxRetries: 5 })
  })
  return made
}

/** What a command of this test finds in its environment. */
export const environmentOf = (env: Record<string, string> = {}): NodeJS.ProcessEnv => ({
  ...process.env,
  npm_lifecycle_event: '',
  ...SETTINGS,
  XDG_DATA_HOME: env.XDG_DATA_HOME ?? dataHome(),
  ...env,
})

export function startDecorum(args: string[], options: RunOptions = {}): Running {
  const { cwd, env = {}, input, program = MAIN, command, largestFileKiB, into, lasting } = options
  // dash and POSIX count in blocks of 512 bytes
  const limit = largestFileKiB === undefined ? '' : `ulimit -f ${largestFileKiB * 2};`
  const script = `${limit} exec "$0" "$@" ${into === undefined ? '' : `>> '${into}'`}`
  const [file, ...rest] = command === undefined ? [process.execPath, program, ...args] : [command, ...args]
  const child = spawn('/bin/sh', ['-c', script, file ?? '', ...rest], {
    ...(cwd === undefined ? {} : { cwd }),
    env: environmentOf(env),
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  const waiting = new Set<() => void>()
  const tell = (): void => {
    for (const look of waiting) look()
  }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
    tell()
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
    tell()
  })
  child.stdin.on('error', () => undefined) // it ended before it had read all of it
  if (input !== undefined) child.stdin.end(input)
  const said = (): string => stdout + stderr
  const result = once(child, 'close').then(([code]) => ({ code: code as number | null, stdout, stderr }))
  const end = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
    // What it has started may hold them open still
    for (const stream of [child.stdout, child.stderr]) stream.destroy()
    await result
  }
  if (lasting === undefined) onTestFinished(end)
  return {
    child,
    said,
    result,
    hears(text) {
      return new Promise((resolve, reject) => {
        const look = (): void => {
          if (typeof text === 'string' ? !said().includes(text) : !text.test(said())) return
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        look()
        void result.then(({ code }) => reject(new Error(`ended with ${code} before it said ${text}:\n${said()}`)))
      })
    },
  }
}

export const decorum = (args: string[], options: RunOptions = {}): Promise<Result> =>
  startDecorum(args, { ...options, input: options.input ?? '' }).result

/** A folder of this test's own, removed at its end. */
export async function folder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'decorum-cli-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true, maxRetries: 10 }))
  return dir
}

export type Site = {
  /** http://127.0.0.1:<port> */
  origin: string
  /** pages asked for, in order; robots.txt is not among them */
  asked: string[]
  port: number
}

/** A site on loopback. Without an answer of its own, robots.txt is missing and every page says its own name. */
export async function site(
  answer: (request: IncomingMessage, response: ServerResponse) => boolean = () => false,
): Promise<Site> {
  const asked: string[] = []
  const server = createServer((request, response) => {
    if (request.url !== '/robots.txt') asked.push(request.url ?? '')
    if (answer(request, response)) return
    if (request.url === '/robots.txt') response.writeHead(404)
    response.end(request.url)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { origin: `http://127.0.0.1:${port}`, asked, port }
}

export async function readOutcomes(path: string): Promise<Outcome[]> {
  const text = await readFile(path, 'utf8')
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Outcome)
}
