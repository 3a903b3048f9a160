import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { clock } from './clock.ts'

/** A stretch in which a process was kept from running, ms of clock(). */
export type Stall = { at: number; until: number }

export type Stalls = {
  /** @param from  those that ended before are left out: while everything starts every process is late */
  end(from: number): Stall[]
}

const EVERY_MS = 50
const REPORTER = fileURLToPath(new URL('report-stalls.mjs', import.meta.url))

/**
 * When this process, and those that it starts from now on and that fetch or answer, were kept from running by a busy machine.
 * @param folder  where they write it down
 */
export function watchStalls(folder: string): Stalls {
  const file = join(folder, 'stalls.ndjson')
  const { NODE_OPTIONS = '' } = process.env
  Object.assign(process.env, { STORM_STALLS: file, NODE_OPTIONS: `${NODE_OPTIONS} --import ${REPORTER}` })
  const seen: Stall[] = []
  let last = clock()
  const timer = setInterval(() => {
    const now = clock()
    if (now - last > 2 * EVERY_MS) seen.push({ at: last, until: now })
    last = now
  }, EVERY_MS)
  return {
    end(from) {
      clearInterval(timer)
      delete process.env.STORM_STALLS
      process.env.NODE_OPTIONS = NODE_OPTIONS
      const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
      const told = lines.filter((line) => line.endsWith('}')).map((line) => JSON.parse(line) as Stall)
      return [...seen, ...told].filter(({ until }) => until > from)
    },
  }
}

export const longestOf = (stalls: readonly Stall[]): number => Math.max(0, ...stalls.map(({ at, until }) => until - at))

/** How far from what it is judged by a stall may have been: a busy machine keeps one process from running sooner than another. */
const NEAR_MS = 5_000

/** The longest that was seen between two instants, or shortly before or after, ms. */
export const longestNear = (stalls: readonly Stall[], from: number, until = from): number =>
  longestOf(stalls.filter((stall) => stall.until >= from - NEAR_MS && stall.at <= until + NEAR_MS))

/**
 * Without what the storm has done itself: a process that it stopped tells of that as a stall as well, and no other was kept from running.
 * @param freezes  each from its SIGSTOP to its SIGCONT
 */
export function withoutFreezes(stalls: readonly Stall[], freezes: readonly Stall[]): Stall[] {
  return stalls.flatMap((stall) => {
    const own = freezes.find(({ at, until }) => stall.at <= at + EVERY_MS && stall.until >= until - EVERY_MS)
    if (own === undefined) return [stall]
    const rest = [
      { at: stall.at, until: own.at },
      { at: own.until, until: stall.until },
    ]
    return rest.filter(({ at, until }) => until - at > 2 * EVERY_MS)
  })
}
