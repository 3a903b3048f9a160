/** Real Redis servers for tests: one per test file, or as many as a fault test wants to kill. */

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type RedisProcess, spawnRedis } from '@decorum/cli/local-redis/testing'
import { afterAll, inject } from 'vitest'
import { printNew } from './say-new.ts'

export type TestRedis = {
  /** redis://127.0.0.1:<port>; stays the same over `restart`. */
  readonly url: string
  readonly port: number
  /** Of the server that runs now; changes with `restart`. */
  readonly pid: number
  /** Its data folder. */
  readonly dir: string
  /** Ends it in order (SIGTERM, what the append-only file owes is written); may be called twice. */
  stop(): Promise<void>
  /** Ends it as a power cut would (SIGKILL); resolves when it is gone. */
  kill9(): Promise<void>
  /** Starts it again on the same port and folder, after `stop` or `kill9`; when it still runs, after a `stop`. */
  restart(): Promise<void>
}

/**
 * Starts a server on loopback and waits until it accepts connections (about 20 ms).
 * The caller stops it; what is left at the end of the run is ended by the global set-up.
 * @param options.appendonly  keep an append-only file, synced each second; default false
 * @param options.dir         data folder, exists; default a new one, removed after the run
 * @param options.port        default a free one
 * @param options.more        settings beside ours
 * @param options.isNew       false: nobody says that it is new, so a ledger there begins with its whole hold
 */
export async function startRedis(
  options: { appendonly?: boolean; dir?: string; port?: number; more?: Record<string, string>; isNew?: boolean } = {},
): Promise<TestRedis> {
  const { appendonly = false, port } = options
  const folder = await mkdtemp(join(inject('redisFolder'), 'redis-'))
  const dir = options.dir ?? join(folder, 'data')
  await mkdir(dir, { recursive: true })
  const pidFile = join(folder, 'test.pid')

  const start = async (on: number | undefined): Promise<RedisProcess> => {
    const started = await spawnRedis(inject('redisBinary'), {
      dir,
      appendonly,
      ...(on === undefined ? {} : { port: on }),
      ...(options.more === undefined ? {} : { more: options.more }),
    })
    await writeFile(pidFile, String(started.pid))
    return started
  }
  const end = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<void> => {
    running.child.kill(signal)
    await running.exited
    await rm(pidFile, { force: true })
  }
  let running = await start(port)
  if ((options.isNew ?? options.dir === undefined) && options.more?.['cluster-enabled'] !== 'yes')
    await printNew(running.url)

  return {
    get url() {
      return running.url
    },
    get port() {
      return running.port
    },
    get pid() {
      return running.pid
    },
    dir,
    stop: () => end('SIGTERM'),
    kill9: () => end('SIGKILL'),
    async restart() {
      await end('SIGTERM')
      running = await start(running.port)
    },
  }
}

/**
 * A server for this test file alone, stopped after its last test. Keys have fixed names, so files that run side by
 * side must not share one. Call it at the top of the file: `const redis = await redisForTest()`.
 */
export async function redisForTest(options: { appendonly?: boolean } = {}): Promise<TestRedis> {
  const redis = await startRedis(options)
  afterAll(() => redis.stop())
  return redis
}
