/**
 * Limits the orders that run at once, and decides which order takes the next slot (`Shares`). Further orders wait, first come, first
 * served; an order of a group that already has its share is turned away while others need the slots.
 */

import { type Groups, Shares } from '@decorum/politeness'
import type { Clock } from '@decorum/protocol'

export type Slots = ReturnType<typeof openSlots>

/** Frees the slot during a wait for anything but the answer of a site, and takes the next free one afterwards. */
export type Outside = <T>(wait: () => Promise<T>) => Promise<T>

export type Task = {
  groups: Groups
  /** never rejects */
  run: (outside: Outside) => Promise<void>
  /** called when the task gets no slot, because this group has its share */
  turnAway: (group: string) => void
}

export function openSlots(clock: Clock, count: number, shares = new Shares(clock, count)) {
  /** number of tasks that have freed their slot for a while */
  let outside = 0
  const queue: { groups: Groups; begin: () => void; turnAway?: (group: string) => void }[] = []
  let emptied: (() => void)[] = []
  const start = ({ groups, run }: Task): undefined => {
    shares.take(groups)
    void run(outsideOf(groups)).then(
      () => ended(groups),
      (error: unknown) => {
        ended(groups) // a bug: the slot is free again, and the rejection stays unhandled, so that it is noticed
        throw error
      },
    )
  }
  const outsideOf =
    (groups: Groups): Outside =>
    async (wait) => {
      outside++
      ended(groups)
      try {
        return await wait()
      } finally {
        if (shares.taken < shares.size) shares.take(groups)
        else {
          // The leases of this task are running, so it comes before orders that have not begun.
          await new Promise<void>((resume) => {
            shares.wait(groups)
            queue.unshift({
              groups,
              begin() {
                shares.take(groups)
                resume()
              },
            })
          })
        }
        outside--
      }
    }
  const ended = (groups: Groups): void => {
    shares.leave(groups)
    fill()
    if (shares.taken > 0 || outside > 0) return
    for (const settle of emptied) settle()
    emptied = []
  }
  const fill = (): void => {
    while (shares.taken < shares.size) {
      const next = queue.shift()
      if (next === undefined) return
      const { groups, begin, turnAway } = next
      shares.wait(groups, -1)
      const group = turnAway && shares.beyond(groups)
      if (group === undefined) begin()
      else turnAway?.(group)
    }
  }
  return {
    /** number of slots; may be changed at any time */
    get size(): number {
      return shares.size
    },
    set size(next: number) {
      shares.size = next
      fill()
    },
    get taken(): number {
      return shares.taken
    },
    get waiting(): number {
      return queue.length
    },
    shares,
    /** Starts a task in a slot, or turns it away: at once (undefined), or when the promise resolves. */
    place(task: Task): Promise<void> | undefined {
      const { groups } = task
      const group = shares.beyond(groups)
      if (group !== undefined) {
        task.turnAway(group)
        return undefined
      }
      if (shares.taken < shares.size) return start(task)
      shares.wait(groups)
      return new Promise((placed) => {
        queue.push({
          groups,
          begin() {
            start(task)
            placed()
          },
          turnAway(why) {
            task.turnAway(why)
            placed()
          },
        })
      })
    },
    /** resolves when no slot is taken and nothing waits */
    empty: (): Promise<void> =>
      shares.taken === 0 && outside === 0 && queue.length === 0
        ? Promise.resolve()
        : new Promise((settle) => void emptied.push(settle)),
  }
}
