/** The synthetic web in a process of its own: started, listened to, stopped over IPC. It ends with its parent. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type Announcement, startWeb, type Web, type WebOptions } from './web.ts'

export type WebProcess = Web & {
  pid: number
  /** resolves with its signal or exit code when it has ended, whether it was stopped or not */
  exited: Promise<string>
  /** resolves with the first announcement, past or future, that fits; each is answered to one caller only */
  heard(fits: (word: Announcement) => boolean): Promise<Announcement>
}

type FromChild =
  | { kind: 'open'; origins: Record<string, string> }
  | { kind: 'flushed' }
  | { kind: 'stopped'; lines: number }
  | { kind: 'failed'; why: string }
  | { kind: 'said'; word: Announcement }

/** Runs the sites in a process of their own. @throws Error with its reason when it does not come up */
export async function spawnWeb(options: WebOptions): Promise<WebProcess> {
  const child: ChildProcess = fork(fileURLToPath(import.meta.url), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    detached: true,
  })
  const waiting = new Map<FromChild['kind'], ((message: FromChild) => void)[]>()
  const said: Announcement[] = []
  const listeners = new Set<() => void>()
  let ended: Error | undefined
  const settleAll = (message: FromChild): void => {
    for (const resolvers of waiting.values()) for (const resolve of resolvers.splice(0)) resolve(message)
  }
  child.on('message', (message: FromChild) => {
    if (message.kind === 'failed') return settleAll(message)
    if (message.kind === 'said') {
      said.push(message.word)
      for (const check of listeners) check()
    } else waiting.get(message.kind)?.shift()?.(message)
  })
  // Messages sent before it ended may arrive after 'exit'; 'disconnect' of the channel comes after the last message.
  const exited = once(child, 'exit') as Promise<[code: number | null, signal: NodeJS.Signals | null]>
  const how = exited.then(([code, signal]) => signal ?? `exit code ${code}`)
  child.once('disconnect', () => {
    void how.then((how) => {
      ended = new Error(`the synthetic web ended by itself (${how})`)
      settleAll({ kind: 'failed', why: ended.message })
    })
  })
  const request = async <K extends FromChild['kind']>(kind: K, order: object): Promise<FromChild & { kind: K }> => {
    if (ended) throw ended
    const answer = await new Promise<FromChild>((resolve) => {
      waiting.set(kind, [...(waiting.get(kind) ?? []), resolve])
      child.send(order, () => undefined) // a channel that has closed: 'disconnect' tells
    })
    if (answer.kind === 'failed') throw new Error(answer.why)
    return answer as FromChild & { kind: K }
  }
  const { origins } = await request('open', { order: 'open', options }).catch((error: unknown) => {
    if (child.connected) child.disconnect() // and so it ends
    throw error
  })
  return {
    origins,
    pid: child.pid ?? 0,
    exited: how,
    flush: async () => void (await request('flushed', { order: 'flush' })),
    stop: async () => {
      const { lines } = await request('stopped', { order: 'stop' })
      await exited
      return lines
    },
    heard: (fits) =>
      new Promise((resolve) => {
        const check = (): void => {
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

/** The process on the other side of `spawnWeb`; it ends with its parent. */
function serveParent(): void {
  const report = (message: FromChild): void => void (process.connected && process.send?.(message))
  let web: Web | undefined
  const obey = async (message: { order: string; options?: WebOptions }): Promise<void> => {
    if (message.order === 'open' && message.options) {
      web = await startWeb(message.options, (word) => report({ kind: 'said', word }))
      report({ kind: 'open', origins: web.origins })
    } else if (message.order === 'flush') {
      await web?.flush()
      report({ kind: 'flushed' })
    } else if (message.order === 'stop') {
      const lines = (await web?.stop()) ?? 0
      process.send?.({ kind: 'stopped', lines } satisfies FromChild, () => process.disconnect())
    }
  }
  process.on('message', (message: { order: string; options?: WebOptions }) => {
    obey(message).catch((error: unknown) =>
      report({ kind: 'failed', why: error instanceof Error ? error.message : String(error) }),
    )
  })
  process.on('disconnect', () => process.exit())
  if (!process.connected) process.exit() // the parent ended while the modules of this process were loaded
}

if (import.meta.main) serveParent()
