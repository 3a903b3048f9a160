/**
 * A process that keeps one embedded Redis as long as its parent lives: `redis-server.ts` starts it with a Task as JSON
 * and holds the other end of its standard input. When that pipe closes, however the parent ended (SIGKILL too), Redis
 * is stopped in order. It stands in a session of its own, so Ctrl-C in the terminal does not take Redis away from a
 * parent that is still settling. It says what happens as one JSON line each on standard output.
 */
import { createHash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RedisBinary } from './redis-binary.ts'
import { redisRunningOn, removeNote, writeNote } from './redis-note.ts'
import { type RedisProcess, spawnRedis } from './redis-process.ts'

export type Task = {
  binary: RedisBinary
  /** The data folder: exists, real path. */
  dir: string
  /** Remove the folder at the end. */
  temporary: boolean
}

export type Report =
  | { kind: 'ready'; url: string; pid: number }
  /** Redis ended by itself and runs again, on the same port with what its append-only file holds. */
  | { kind: 'restarted'; why: string; pid: number }
  /** Another Redis already runs on this folder; nothing was started. */
  | { kind: 'taken'; url: string }
  | { kind: 'failed'; why: string }

const STOP_MS = 10_000 // Redis flushes its append-only file on SIGTERM; then patience ends
const RESTARTS = 3
const CALM_MS = 60_000 // a Redis that ran this long may be restarted afresh

const task = JSON.parse(process.argv[2] ?? '{}') as Task
const parentGone = new Promise<'parent gone'>((resolve) => {
  for (const event of ['end', 'close', 'error']) process.stdin.on(event, () => resolve('parent gone'))
  process.on('SIGTERM', () => resolve('parent gone'))
  process.stdin.resume()
})
for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})
process.stdout.on('error', () => {}) // nobody listens any more

process.exitCode = await guard()
process.exit()

/** Runs Redis until the parent is gone; answers the exit code. */
async function guard(): Promise<number> {
  try {
    const other = task.temporary ? undefined : await whoRunsHere()
    if (other !== undefined) return say({ kind: 'taken', url: other }, 3)
    let redis = await spawnRedis(task.binary, { dir: task.dir, appendonly: true })
    await writeNote(task.dir, redis)
    say({ kind: 'ready', url: redis.url, pid: redis.pid })
    for (let restarts = 0; ; restarts++) {
      const since = Date.now()
      const why = await Promise.race([parentGone, redis.exited])
      if (why === 'parent gone') break
      if (Date.now() - since > CALM_MS) restarts = 0
      if (restarts === RESTARTS) throw new Error(`it ended ${RESTARTS + 1} times, the last time by ${why}`)
      redis = await spawnRedis(task.binary, { dir: task.dir, appendonly: true, port: redis.port })
      await writeNote(task.dir, redis)
      say({ kind: 'restarted', why, pid: redis.pid })
    }
    await stop(redis)
    return 0
  } catch (error) {
    return say({ kind: 'failed', why: error instanceof Error ? error.message : String(error) }, 1)
  } finally {
    if (task.temporary) await rm(task.dir, { recursive: true, force: true })
  }
}

async function stop(redis: RedisProcess): Promise<void> {
  redis.child.kill('SIGTERM')
  const ended = await Promise.race([redis.exited, sleep(STOP_MS)])
  if (ended === undefined) {
    redis.child.kill('SIGKILL')
    await redis.exited
  }
  await removeNote(task.dir)
}

/**
 * The URL of the Redis that already runs on our folder, or undefined once the folder is ours alone. Two guardians
 * meet at a name that the Linux kernel gives to one process at a time and takes back however that one ends; a Redis
 * that outlived its guardian is found by the note it left.
 */
async function whoRunsHere(): Promise<string | undefined> {
  const alone = process.platform !== 'linux' || (await takeName())
  for (let patience = 50; ; patience--) {
    const url = await redisRunningOn(task.dir)
    if (url !== undefined) return url
    if (alone) return undefined
    if (patience === 0) return 'an address not known yet'
    await sleep(100) // the other guardian is starting its Redis, or stopping it
  }
}

function takeName(): Promise<boolean> {
  const name = createHash('sha256').update(task.dir).digest('hex')
  const server = createServer((socket) => socket.destroy())
  return new Promise((resolve) => {
    server.once('error', () => resolve(false))
    server.listen(`\0decorum-redis-${name}`, () => resolve(true))
  })
}

function say(report: Report, code = 0): number {
  process.stdout.write(`${JSON.stringify(report)}\n`)
  return code
}
