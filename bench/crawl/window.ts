/** The window of a crawl that is judged, in parts: the spread of a figure is what it was in each of them. */
import { setTimeout as sleep } from 'node:timers/promises'
import { round } from '../frame/figures.ts'
import type { Judged } from './judge.ts'

/** The window is cut into so many equal parts, whose least and greatest figures are the spread. */
export const PARTS = 3

/** What each part of the window had. */
export type Parts = { perSecond: number[]; cpuPerPage: number[] }

/** What `of` says at the beginning of the window and after each of its parts. */
export async function inParts<T>(seconds: number, of: () => T | Promise<T>): Promise<T[]> {
  const marks = [await of()]
  for (let part = 0; part < PARTS; part++) {
    await sleep((seconds * 1_000) / PARTS)
    marks.push(await of())
  }
  return marks
}

export const endsOf = <T>(marks: T[]): [T, T] => [marks[0] as T, marks.at(-1) as T]

/** @param marks  `cpu`: µs since the processes began */
export function partsOf(
  marks: { at: number; cpu: number }[],
  judged: (window: { from: number; to: number }) => Judged,
): Parts {
  const parts: Parts = { perSecond: [], cpuPerPage: [] }
  for (const [part, { at, cpu }] of marks.slice(1).entries()) {
    const before = marks[part] as { at: number; cpu: number }
    const { pages, perSecond } = judged({ from: before.at, to: at })
    parts.perSecond.push(perSecond)
    parts.cpuPerPage.push((cpu - before.cpu) / pages)
  }
  return parts
}

/** '999 (990–1,004)': of the whole window, and the least and greatest of its parts */
export const between = (whole: number, parts: number[]): string =>
  `${round(whole, 0)} (${round(Math.min(...parts), 0)}–${round(Math.max(...parts), 0)})`
