/** Chance from a seed: the same numbers in the same order, whatever machine draws them. */
export type Dice = {
  /** [0, 1) */
  next(): number
  /** a whole number below `sides` */
  below(sides: number): number
  between(least: number, most: number): number
  pick<T>(of: readonly T[]): T
  /** of exponential length: what comes about once in `mean` */
  about(mean: number): number
  /** dice of their own, which do not change what these throw */
  apart(name: string): Dice
}

/** sfc32, seeded by FNV-1a of the text. */
export function diceOf(seed: string): Dice {
  let [a, b, c, d] = [hash(`${seed}a`), hash(`${seed}b`), hash(`${seed}c`), 1]
  const next = (): number => {
    const t = (((a + b) | 0) + d) | 0
    d = (d + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = ((c << 21) | (c >>> 11)) + t
    return (t >>> 0) / 2 ** 32
  }
  for (let n = 0; n < 12; n++) next()
  return {
    next,
    below: (sides) => Math.floor(next() * sides),
    between: (least, most) => least + next() * (most - least),
    pick: (of) => of[Math.floor(next() * of.length)] as (typeof of)[number],
    about: (mean) => -Math.log(1 - next()) * mean,
    apart: (name) => diceOf(`${seed} ${name}`),
  }
}

function hash(text: string): number {
  let value = 0x811c9dc5
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193)
  return value
}
