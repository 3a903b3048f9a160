/**
 * Uses the embedded Redis in this process: starts or finds it, keeps a connection open as long as Redis is needed, and starts
 * another guardian process when the first one has died. Every process that uses Redis does so, so Redis does not depend on the
 * process that started it.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { redisUrl } from '@decorum/client/fleet-here'
import { withoutLogin } from '@decorum/protocol/redis-address'
import { defined } from '@decorum/runtime/defined'
import { CommandError, messageOf } from '../exit.ts'
import { holdName } from './kernel-name.ts'
import type { Report, Task } from './redis-guardian.ts'
import { holdRedis, usersOfRedis } from './redis-line.ts'
import type { RunningRedis } from './running-redis.ts'

const CHECK_EVERY_MS = 1_000
/** After this many failed starts of a guardian in a row, no further start is tried. */
const FAILURES = 5

type Guardian = Awaited<ReturnType<typeof guard>>

/**
 * @param running  address of a Redis that runs already; absent: one is started
 * @throws CommandError when Redis cannot be started, or a fleet already runs on its folder
 */
export async function keepRedis(
  task: Task,
  log: (line: string) => void,
  running?: { port: number; password: string },
): Promise<RunningRedis & { dir: string }> {
  const guardians: Guardian[] = []
  const start = async (again?: Task['again']): Promise<Guardian> => {
    const guardian = await guard({ ...task, ...defined({ again }) }, log)
    guardians.push(guardian)
    return guardian
  }
  const first = running === undefined ? (await start()).first : undefined
  if (first?.kind === 'folder-in-use') throw folderTaken(task.dir, first.place)
  if (first?.kind === 'failed') throw new CommandError(first.why)
  const address = running ?? (first as Extract<Report, { kind: 'ready' }>)

  const hold = await holdRedis(address)
  if (hold === undefined) throw new CommandError('the embedded Redis has started, but does not answer')
  let checking: Promise<void> | undefined
  let failures = 0
  const check = async () => {
    if (!(await isUnguarded(task.dir))) return
    const { first } = await start({ port: address.port, password: address.password })
    if (first.kind === 'ready') log('Redis: its guardian process had ended; both were started again')
    if (first.kind !== 'failed') failures = 0
    else if (++failures === FAILURES) throw new CommandError(`it cannot be started again: ${first.why}`)
  }
  const watch = setInterval(() => {
    checking ??= check()
      .catch((error: unknown) => {
        clearInterval(watch)
        log(`Redis: ${messageOf(error)}`)
      })
      .finally(() => {
        checking = undefined
      })
  }, CHECK_EVERY_MS).unref()

  const url = redisUrl(address.port, address.password)
  let stopping: Promise<void> | undefined
  return {
    url,
    place: withoutLogin(url),
    kind: running === undefined ? 'embedded' : 'joined',
    dir: task.dir,
    ...(first?.kind === 'ready' ? { pid: first.pid } : {}),
    isShared: async () => task.place !== undefined && (await usersOfRedis(address)) !== 1,
    stop() {
      stopping ??= (async () => {
        clearInterval(watch)
        await checking
        hold.release()
        await Promise.all(guardians.map((guardian) => guardian.release()))
      })()
      return stopping
    },
  }
}

/** Two fleets of one user would be two crawlers to every site. @param place  address of the running fleet's Redis, without password */
export const folderTaken = (dir: string, place: string): CommandError =>
  new CommandError(
    `a fleet runs here already, its Redis on ${dir}, at ${place}: 'crawl', 'enqueue' and 'check' use it as it is; ` +
      'stop it before another one is started',
  )

async function isUnguarded(dir: string): Promise<boolean> {
  const release = await holdName('redis', dir)
  await release?.()
  return release !== undefined
}

async function guard(task: Task, log: (line: string) => void) {
  const child = fork(fileURLToPath(new URL('redis-guardian.ts', import.meta.url)), {
    cwd: task.dir,
    execArgv: [],
    detached: true, // a separate session: Ctrl-C in the terminal must not reach the guardian
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  const complaints: string[] = []
  const errors = child.stderr as Socket
  errors.setEncoding('utf8').on('data', (text: string) => complaints.push(text))
  const exited = once(child, 'close').catch((error: unknown) => complaints.push(messageOf(error)))
  child.send(task, () => undefined) // if the child has ended, `exited` resolves

  const kept = Promise.withResolvers<void>()
  const first = await new Promise<Report>((resolve) => {
    child.on('message', (report: Report) => {
      resolve(report)
      if (report.kind === 'kept') kept.resolve()
      if (report.kind === 'restarted') log(`Redis: ended (${report.why}) and was started again`)
      if (report.kind === 'failed') log(`Redis: ${report.why}`)
    })
    void exited.then(() => resolve({ kind: 'failed', why: complaints.join('').trim() || 'its guardian ended' }))
  })
  // The child must not keep this process alive when `stop` is never called: the end of this process releases Redis anyway.
  for (const handle of [child, child.channel, errors]) handle?.unref()
  return {
    first,
    /** Resolves when Redis has ended, or the guardian reports that other processes still use it. */
    async release() {
      child.ref()
      child.kill('SIGTERM')
      await Promise.race([exited, kept.promise])
      child.unref()
    },
  }
}
