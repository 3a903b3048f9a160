/** A real Redis with an append-only file that is killed and comes back, with or without the last moments of its file. */

import { readdirSync, statSync } from 'node:fs'
import { truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { announceNew, linkTo } from '@decorum/ledger'
import { findRedis, type RedisProcess, spawnRedis } from '@decorum/local-redis/testing'
import { clock } from './clock.ts'

export type Outage = {
  /** SIGKILL, and when it accepted connections again; ms of clock() */
  killedAt: number
  backAt: number
  /** what its file held from then on is gone; equal to killedAt when nothing was cut */
  lostSince: number
  lostBytes: number
}

export type RedisUnderFire = {
  readonly url: string
  readonly port: number
  /** @param loseMs  so much of the file's last time is cut off before it starts again */
  killAndRestart(awayMs: number, loseMs?: number): Promise<Outage>
  stop(): Promise<void>
}

/** How often the file's length is noted; what is lost is cut at such a mark. */
const MARK_MS = 20
const MARKS = 1_000

export async function startRedisUnderFire(dir: string): Promise<RedisUnderFire> {
  const binary = await findRedis(() => undefined)
  let running: RedisProcess = await spawnRedis(binary, { dir, appendonly: true })
  const link = linkTo(running.url, { away: 'wait' })
  await announceNew(link).finally(() => link.disconnect())
  let marks: { at: number; file: string; bytes: number }[] = []
  const mark = (): void => {
    const file = latestFile(dir)
    if (file === undefined) return
    marks.push({ at: clock(), file, bytes: statSync(file).size })
    if (marks.length > MARKS) marks.shift()
  }
  const timer = setInterval(mark, MARK_MS)
  return {
    get url() {
      return running.url
    },
    get port() {
      return running.port
    },
    async killAndRestart(awayMs, loseMs = 0) {
      mark()
      const killedAt = clock()
      running.child.kill('SIGKILL')
      await running.exited
      let [lostSince, lostBytes] = [killedAt, 0]
      const file = latestFile(dir)
      // The longest that is at least so old; a file that has been rewritten meanwhile is left alone.
      const cut = loseMs === 0 ? undefined : marks.findLast(({ at }) => at <= killedAt - loseMs)
      if (cut !== undefined && file === cut.file) {
        lostBytes = statSync(file).size - cut.bytes
        lostSince = cut.at
        await truncate(file, cut.bytes)
      }
      marks = []
      await sleep(awayMs)
      running = await spawnRedis(binary, { dir, appendonly: true, port: running.port })
      return { killedAt, backAt: clock(), lostSince, lostBytes }
    },
    async stop() {
      clearInterval(timer)
      running.child.kill('SIGTERM')
      await running.exited
    },
  }
}

/** The part of the append-only file that grows (Redis 7: appendonlydir/….N.incr.aof). */
function latestFile(dir: string): string | undefined {
  const folder = join(dir, 'appendonlydir')
  const parts = readdirSync(folder).filter((name) => name.endsWith('.incr.aof'))
  const number = (name: string): number => Number(/\.(\d+)\.incr/.exec(name)?.[1] ?? 0)
  const last = parts.toSorted((a, b) => number(a) - number(b)).at(-1)
  return last === undefined ? undefined : join(folder, last)
}
