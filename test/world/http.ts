/** HTTP between two processes of the world: a call arrives, is worked on, and its answer comes, unless one of the two dies meanwhile. */
import type { Process } from './process.ts'
import type { Timeline } from './timeline.ts'

const LEAST_MS = 0.2
const MOST_MS = 4

export class HungUpError extends Error {
  override readonly name = 'HungUpError'
}

/** A connection as the called side sees it: `closed` once its client has gone. */
export class Connection {
  closed = false
  readonly #listeners = new Set<() => void>()
  once(_: 'close', listener: () => void): void {
    this.#listeners.add(listener)
  }
  off(_: 'close', listener: () => void): void {
    this.#listeners.delete(listener)
  }
  close(): void {
    if (this.closed) return
    this.closed = true
    for (const listener of [...this.#listeners]) listener()
  }
}

/**
 * @param work  at the side that is called
 * @throws HungUpError when that dies; what `work` throws
 */
export function call<T>(
  timeline: Timeline,
  from: Process,
  to: Process,
  work: (connection: Connection) => Promise<T>,
  connection = new Connection(),
): Promise<T> {
  const way = (): number => from.dice.between(LEAST_MS, MOST_MS)
  return new Promise((resolve, reject) => {
    let isOver = false
    const over = (settle: () => void): void => {
      if (isOver) return
      isOver = true
      timeline.after(way(), `has an answer of ${to.name}`, settle, from)
    }
    from.onDeath(() => timeline.after(way(), `${to.name} loses ${from.name}`, () => connection.close(), to))
    to.onDeath(() => over(() => reject(new HungUpError(`${to.name} has died`))))
    timeline.after(
      way(),
      `is called by ${from.name}`,
      () =>
        void work(connection).then(
          (value) => over(() => resolve(value)),
          (error: Error) => over(() => reject(error)),
        ),
      to,
    )
  })
}
