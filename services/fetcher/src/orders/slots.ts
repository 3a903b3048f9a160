/** How many orders may be under way at once. What finds all slots taken waits: first come, first served. */

export type Slots = {
  /** how many there are; may be changed at any time */
  size: number
  readonly taken: number
  readonly waiting: number
  /**
   * Starts a task in a slot: at once (undefined), or when the promise resolves.
   * @param task  never rejects
   */
  place(task: () => Promise<void>): Promise<void> | undefined
  /** resolves when no slot is taken and nothing waits */
  empty(): Promise<void>
}

export function openSlots(count: number): Slots {
  let size = count
  let taken = 0
  const queue: (() => void)[] = []
  let watchers: (() => void)[] = []
  const start = (task: () => Promise<void>): undefined => {
    taken++
    void task().then(ended, (error: unknown) => {
      ended() // a fault of ours: it is heard as an unhandled rejection, and costs no slot
      throw error
    })
  }
  const ended = (): void => {
    taken--
    fill()
    if (taken > 0) return
    for (const tell of watchers) tell()
    watchers = []
  }
  const fill = (): void => {
    while (taken < size && queue.length > 0) queue.shift()?.()
  }
  return {
    get size() {
      return size
    },
    set size(next) {
      size = next
      fill()
    },
    get taken() {
      return taken
    },
    get waiting() {
      return queue.length
    },
    place(task) {
      if (taken < size) return start(task)
      return new Promise((placed) => {
        queue.push(() => {
          start(task)
          placed()
        })
      })
    },
    empty: () =>
      taken === 0 && queue.length === 0 ? Promise.resolve() : new Promise((tell) => void watchers.push(tell)),
  }
}
