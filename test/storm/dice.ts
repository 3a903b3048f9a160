/** Chance that can be played again: the same seed, the same throws (mulberry32). */
export type Dice = {
  /** [0, 1) */
  next(): number
  /** a number in [least, most) */
  between(least: number, most: number): number
  /** a whole number in [least, most] */
  whole(least: number, most: number): number
  pick<T>(list: readonly T[]): T
  /** @returns draws one after the other; each of the list comes once before any comes again */
  deck<T>(list: readonly T[]): () => T
}

export function diceOf(seed: number): Dice {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
  const whole = (least: number, most: number): number => least + Math.floor(next() * (most - least + 1))
  return {
    next,
    between: (least, most) => least + next() * (most - least),
    whole,
    pick: <T>(list: readonly T[]): T => {
      if (list.length === 0) throw new RangeError('nothing to pick from')
      return list[Math.floor(next() * list.length)] as T
    },
    deck: <T>(list: readonly T[]) => {
      if (list.length === 0) throw new RangeError('nothing to draw from')
      let left: T[] = []
      return () => {
        if (left.length === 0) left = [...list]
        return left.splice(whole(0, left.length - 1), 1)[0] as T
      }
    },
  }
}
