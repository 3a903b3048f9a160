/**
 * A process that runs one embedded Redis for as long as any process uses it. `keep-redis.ts` forks it and sends it a Task.
 * On SIGTERM, or when the channel to its parent closes, however the parent ended (SIGKILL too), it stops Redis in order; if other
 * processes use Redis (`redis-line.ts`), it first waits until the last of them has ended. It has a separate session, so Ctrl-C in the
 * terminal does not stop Redis under a parent that is still completing its leases. It reports each event as a message.
 */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { redisRunningOn, removeNote, writeNote } from '@decorum/client/fleet-here'
import { withoutLogin } from '@decorum/protocol/redis-address'
import { awaitName, lockPlace } from './kernel-name.ts'
import { maxMemory } from './memory.ts'
import type { RedisBinary } from './redis-binary.ts'
import { endRedis, usersOfRedis } from './redis-line.ts'
import { type RedisProcess, spawnRedis } from './redis-process.ts'

export type Task = {
  binary: RedisBinary
  /** Real path of the data folder, which must exist. */
  dir: string
  /** Remove the folder at the end. */
  temporary: boolean
  /** The meeting place whose lock is held while Redis is stopped, so that nothing joins meanwhile; absent: nothing can join. */
  place?: string
  /** Set when an earlier guardian has died: the port and password with which processes use this Redis. */
  again?: { port: number; password: string }
}

export type Report =
  | { kind: 'ready'; port: number; password: string; pid: number }
  /** Redis ended unexpectedly and runs again, on the same port with the data of its append-only file. */
  | { kind: 'restarted'; why: string; pid: number }
  /** Another guardian runs the Redis of this folder; nothing was started. */
  | { kind: 'folder-in-use'; place: string }
  /** The parent has ended or released Redis; other processes still use it. */
  | { kind: 'kept' }
  | { kind: 'failed'; why: string }

/** Port of a Redis that other commands and frontiers of this user find; another one if it is taken. */
const USUAL_PORT = 7_072
const STOP_MS = 10_000 // Redis flushes its append-only file on SIGTERM; after this it is killed
const RESTARTS = 3
const CALM_MS = 60_000 // after running this long the count of restarts begins again
const CHECK_EVERY_MS = 300
const RETURN_MS = 3_000 // after a start, users of Redis may need this long to reconnect
const SILENT_MS = 15_000 // a Redis that has not answered for this long counts as unused
const NAME_MS = 5_000 // longest wait for another guardian, which may be starting its Redis or about to end

for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})
process.stderr.on('error', () => {}) // the parent has ended
const parentGone = Promise.race([once(process, 'SIGTERM'), once(process, 'disconnect')])
const [task] = (await once(process, 'message')) as [Task] // without its parent, nothing keeps this process alive
await guard()
process.exit()

/** Runs Redis until no process uses it. */
async function guard(): Promise<void> {
  let redis: RedisProcess | undefined
  let startedAt = 0
  try {
    const other = await otherGuardian()
    if (other !== undefined) {
      await send({ kind: 'folder-in-use', place: other })
      return
    }
    const wrapper = await endsWithThisProcess()
    const password = task.again?.password ?? randomBytes(24).toString('base64url')
    const more = { maxmemory: String(maxMemory()) }
    const start = async (port: number | undefined): Promise<RedisProcess> => {
      const usual = task.place === undefined ? {} : { usualPort: USUAL_PORT }
      const on = port === undefined ? usual : { port }
      const begun = await spawnRedis(task.binary, { dir: task.dir, appendonly: true, password, wrapper, more, ...on })
      startedAt = performance.now()
      await writeNote(task.dir, { port: begun.port, pid: begun.pid, password })
      return begun
    }
    redis = await start(task.again?.port)
    const { port } = redis
    await send({ kind: 'ready', port, password, pid: redis.pid })
    const unneeded = untilUnneeded({ port, password }, () => performance.now() - startedAt < RETURN_MS)
    for (let restarts = 0; ; restarts++) {
      const since = Date.now()
      const why = await Promise.race([unneeded, redis.exited])
      if (typeof why === 'function') {
        await stop(redis)
        await why()
        return
      }
      if (Date.now() - since > CALM_MS) restarts = 0
      if (restarts === RESTARTS) throw new Error(`it ended ${RESTARTS + 1} times, the last time by ${why}`)
      redis = await start(port)
      await send({ kind: 'restarted', why, pid: redis.pid })
    }
  } catch (error) {
    await send({ kind: 'failed', why: error instanceof Error ? error.message : String(error) })
  } finally {
    if (task.temporary) await rm(task.dir, { recursive: true, force: true })
  }
}

/** Resolves under the lock when the parent is gone and no other process uses this Redis. @returns a function that releases the lock */
async function untilUnneeded(
  address: { port: number; password: string },
  isReturning: () => boolean,
): Promise<() => Promise<void>> {
  await parentGone
  let silentSince: number | undefined
  const isNeeded = async () => {
    if (task.place === undefined) return false
    const users = await usersOfRedis(address)
    if (users !== undefined) {
      silentSince = undefined
      return users > 0
    }
    silentSince ??= performance.now()
    return performance.now() - silentSince < SILENT_MS
  }
  for (let isReported = false; ; await sleep(CHECK_EVERY_MS)) {
    if (!(await isNeeded()) && !(isReported && isReturning())) {
      // Checked again under the lock, which a process takes before it joins
      const release = task.place === undefined ? async () => {} : await lockPlace(task.place)
      if (!(await isNeeded())) return release ?? (async () => {})
      await release?.()
    }
    if (!isReported) await send({ kind: 'kept' })
    isReported = true
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
 * The address of the Redis that another guardian runs on this folder; undefined once the folder is free. A guardian holds
 * the folder's name as long as it runs. A Redis that outlived its guardian is shut down, its file written: nothing else would
 * end it later, or restart it.
 */
async function otherGuardian(): Promise<string | undefined> {
  let alone = false
  for (const until = performance.now() + NAME_MS; !alone && performance.now() < until;) {
    alone = (await awaitName('redis', task.dir, CHECK_EVERY_MS)) !== undefined
    const kept = alone ? undefined : await redisRunningOn(task.dir)
    if (kept !== undefined) return withoutLogin(kept.url)
  }
  if (!alone) return 'an address not known yet'
  const running = await redisRunningOn(task.dir)
  if (running === undefined) return undefined
  await endRedis(running)
  for (const until = performance.now() + STOP_MS; performance.now() < until; await sleep(CHECK_EVERY_MS)) {
    if ((await redisRunningOn(task.dir)) === undefined) return undefined
  }
  return withoutLogin(running.url)
}

/**
 * A command prefix that makes the kernel end a program (SIGTERM) when this process ends, even by SIGKILL: setpriv of util-linux. Empty
 * on other systems: there the processes that use Redis start another guardian, which shuts down the Redis that is left.
 */
async function endsWithThisProcess(): Promise<readonly string[]> {
  const wrapper = ['setpriv', '--pdeathsig', 'TERM', '--'] as const
  const [program, ...args] = wrapper
  return promisify(execFile)(program, [...args, 'true'], { timeout: 2_000 }).then(
    () => wrapper,
    () => [],
  )
}

/** Resolves when the report has been sent to the parent, or the parent has ended. */
function send(report: Report): Promise<unknown> {
  return new Promise((sent) => (process.connected ? process.send?.(report, sent) : sent(undefined)))
}
