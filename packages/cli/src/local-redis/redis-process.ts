/** One redis-server process: loopback only, a free port, nothing evicted when memory is full. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { createInterface } from 'node:readline'
import type { RedisBinary } from './redis-binary.ts'
import { redisEnvironment } from './redis-environment.ts'

export type RedisProcess = {
  child: ChildProcess
  pid: number
  port: number
  /** redis://127.0.0.1:<port> */
  url: string
  /** Resolves when the process has ended, with its exit code or signal. */
  exited: Promise<string>
}

export type RedisProcessOptions = {
  /** Where its files live; must exist. */
  dir: string
  /** 1–65535; a free one is chosen when absent. */
  port?: number
  /** Port to use if `port` is absent and this one is free; absent: none is preferred. */
  usualPort?: number
  /** Write an append-only file, synced each second. */
  appendonly: boolean
  /** Password that every connection needs. Redis reads it from its standard input: arguments can be seen by every user. */
  password?: string
  /** A program and its arguments, to which the command of the server is appended. */
  wrapper?: readonly string[]
  /** Further settings of Redis; they override those set here. */
  more?: Record<string, string>
}

type Started = RedisProcessOptions & { port: number }

const PORTS_TRIED = 5

/**
 * Starts a server and waits until it accepts connections, its data loaded.
 * @throws  Error with the server's last lines of output when it ends instead
 */
export async function spawnRedis(binary: RedisBinary, options: RedisProcessOptions): Promise<RedisProcess> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await spawnOnce(binary, { ...options, port: options.port ?? (await freePort(options.usualPort)) })
    } catch (error) {
      // Another program may have bound the port since it was found free.
      const taken = error instanceof Error && error.message.includes('Address already in use')
      if (!taken || options.port !== undefined || attempt === PORTS_TRIED) throw error
    }
  }
}

async function spawnOnce(binary: RedisBinary, options: Started): Promise<RedisProcess> {
  const [wrapper, ...its] = options.wrapper ?? []
  const args = redisArguments(options)
  const child = spawn(wrapper ?? binary.path, wrapper === undefined ? args : [...its, binary.path, ...args], {
    env: redisEnvironment(binary),
    cwd: options.dir,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stdin.on('error', () => {}) // it ended at once: `exited` resolves
  child.stdin.end(options.password === undefined ? '' : `requirepass ${options.password}\n`)
  const lastLines: string[] = []
  const exited = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('close', (code, signal) => resolve(signal ? `killed by ${signal}` : `exit code ${code}`))
  })
  const ready = new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => {
        if (lastLines.push(line) > 20) lastLines.shift()
        if (line.includes('Ready to accept connections')) resolve()
      })
    }
  })
  const ended = await Promise.race([ready, exited])
  if (ended !== undefined) throw new Error(`redis-server did not start (${ended}): ${lastLines.slice(-3).join(' | ')}`)
  const { port } = options
  return { child, pid: child.pid as number, port, url: `redis://127.0.0.1:${port}`, exited }
}

function redisArguments(options: Started): string[] {
  const settings: Record<string, string> = {
    bind: '127.0.0.1',
    port: String(options.port),
    dir: options.dir,
    daemonize: 'no',
    logfile: '',
    save: '', // the append-only file suffices; a snapshot would cost a fork
    appendonly: options.appendonly ? 'yes' : 'no',
    appendfsync: 'everysec',
    'maxmemory-policy': 'noeviction', // evicting a lane would forget its delay
    'hash-max-listpack-value': '1024', // a BullMQ job takes 418 bytes instead of 747, at the same CPU
    'set-max-intset-entries': '4096',
    ...options.more,
  }
  const rest = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])
  return options.password === undefined ? rest : ['-', ...rest] // -: more settings come by standard input
}

/** A free port of loopback. @param usual  preferred port; 0: none */
export async function freePort(usual = 0): Promise<number> {
  const server = createServer()
  const isFree = await new Promise<boolean>((resolve, reject) => {
    server.once('error', (error) => (usual === 0 ? reject(error) : resolve(false)))
    server.listen(usual, '127.0.0.1', () => resolve(true))
  })
  if (!isFree) return freePort()
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('the system gave no port')
  return address.port
}
