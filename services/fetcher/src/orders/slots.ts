/** How many orders may run at once. Further ones wait, first come, first served. */

export type Slots = ReturnType<typeof openSlots>

export function openSlots(count: number) {
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
    /** how many there are; may be changed at any time */
    get size(): number {
      return size
    },
    set size(next: number) {
      size = next
      fill()
    },
    get taken(): number {
      return taken
    },
    get waiting(): number {
      return queue.length
    },
    /**
     * Starts a task in a slot: at once (undefined), or when the promise resolves.
     * @param task  never rejects
     */
    place(task: () => Promise<void>): Promise<void> | undefined {
      if (taken < size) return start(task)
      return new Promise((placed) => {
        queue.push(() => {
          start(task)
          placed()
        })
      })
    },
    /** resolves when no slot is taken and nothing waits */
    empty: (): Promise<void> =>
      taken === 0 && queue.length === 0 ? Promise.resolve() : new Promise((tell) => void emptied.push(tell)),
  }
}
