/** Runs the synthetic web in a separate process, which is controlled over IPC and ends with its parent. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { messageOf } from '../exit.ts'
import { type Announcement, startWeb, type Web, type WebOptions } from './web.ts'

export type WebProcess = Awaited<ReturnType<typeof spawnWeb>>

/** Orders are carried out one after the other, and answered in that order. */
type Order = { order: 'open'; options: WebOptions } | { order: 'flush' } | { order: 'stop' }
type FromChild = { answer?: unknown } | { failed: string } | { said: Announcement }

/** Runs the sites in a separate process. @throws Error with the reason when they do not start */
export async function spawnWeb(options: WebOptions) {
  const child: ChildProcess = fork(fileURLToPath(import.meta.url), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    detached: true,
  })
  const waiting: PromiseWithResolvers<unknown>[] = []
  const said: Announcement[] = []
  const listeners = new Set<() => void>()
  let ended: Error | undefined
  const failAll = (why: string): Error => {
    const error = new Error(why)
    for (const { reject } of waiting.splice(0)) reject(error)
    return error
  }
  child.on('message', (message: FromChild) => {
    if ('failed' in message) waiting.shift()?.reject(new Error(message.failed))
    else if ('said' in message) {
      said.push(message.said)
      for (const check of listeners) check()
    } else waiting.shift()?.resolve(message.answer)
  })
  // Messages sent before it ended may arrive after 'exit'; 'disconnect' of the channel comes after the last message.
  const exited = once(child, 'exit') as Promise<[code: number | null, signal: NodeJS.Signals | null]>
  const how = exited.then(([code, signal]) => signal ?? `exit code ${code}`)
  child.once('disconnect', () => {
    void how.then((how) => {
      ended = failAll(`the synthetic web ended by itself (${how})`)
    })
  })
  const request = async (order: Order) => {
    if (ended) throw ended
    const answer = Promise.withResolvers<unknown>()
    waiting.push(answer)
    child.send(order, () => undefined) // if the channel has closed, 'disconnect' rejects the promise
    return answer.promise
  }
  const origins = await request({ order: 'open', options }).catch((error: unknown) => {
    if (child.connected) child.disconnect() // which ends it
    throw error
  })
  return {
    origins: origins as Web['origins'],
    pid: child.pid ?? 0,
    /** Resolves with its signal or exit code when it has ended, whether it was stopped or not. */
    exited: how,
    flush: async () => void (await request({ order: 'flush' })),
    stop: async () => {
      const lines = await request({ order: 'stop' })
      await exited
      return lines as number
    },
    /** Resolves with the first announcement, past or future, that fits; each announcement is returned only once. */
    heard: (fits: (word: Announcement) => boolean) =>
      new Promise<Announcement>((resolve) => {
        const check = () => {
          const found = said.findIndex(fits)
          if (found < 0) return
          listeners.delete(check)
          for (const word of said.splice(found, 1)) resolve(word)
        }
        listeners.add(check)
        check()
      }),
  }
}

/** The child process of `spawnWeb`; it ends with its parent. */
function serveParent(): void {
  const report = (message: FromChild, sent: () => void = () => undefined) =>
    void (process.connected && process.send?.(message, sent))
  let web: Web | undefined
  const obey = async (message: Order) => {
    if (message.order === 'flush') return web?.flush()
    if (message.order === 'stop') return web?.stop()
    web = await startWeb(message.options, (said) => report({ said }))
    return web.origins
  }
  let obeyed = Promise.resolve()
  process.on('message', (message: Order) => {
    obeyed = obeyed
      .then(() => obey(message))
      .then(
        (answer) => report({ answer }, message.order === 'stop' ? () => process.disconnect() : undefined),
        (error: unknown) => report({ failed: messageOf(error) }),
      )
  })
  process.on('disconnect', () => process.exit())
  if (!process.connected) process.exit() // the parent ended while the modules of this process were loaded
}

if (import.meta.main) serveParent()
