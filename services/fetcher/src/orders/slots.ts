/** How many orders may run at once. Further ones wait, first come, first served. */

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
  let emptied: (() => void)[] = []
  const start = (task: () => Promise<void>): undefined => {
    taken++
    void task().then(ended, (error: unknown) => {
      ended() // a fault of this program: the slot is free again, and the rejection stays unhandled, so that it is noticed
      throw error
    })
  }
  const ended = (): void => {
    taken--
    fill()
    if (taken > 0) return
    for (const tell of emptied) tell()
    emptied = []
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
      taken === 0 && queue.length === 0 ? Promise.resolve() : new Promise((tell) => void emptied.push(tell)),
  }
}
