/** A real Redis with an append-only file that is killed and comes back, with or without the last moments of its file. */

import { readdirSync, statSync } from 'node:fs'
import { truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findRedis, type RedisProcess, spawnRedis } from '@decorum/cli/local-redis/testing'
import { now as clock } from '@decorum/cli/synthetic-web'
import { printNew } from '../support/say-new.ts'

export type Outage = {
  /** SIGKILL; when it was started again; when it was seen to accept connections. ms of clock() */
  killedAt: number
  startedAt: number
  backAt: number
  /** what its file held from then on is gone; equal to killedAt when nothing was cut */
  lostSince: number
  lostBytes: number
}

export type RedisUnderFire = {
  readonly url: string
  readonly port: number
  /** @param loseMs  so much of the file's last time is cut off before it starts again; it lives on until something was written in it */
  killAndRestart(awayMs: number, loseMs?: number): Promise<Outage>
  stop(): Promise<void>
}

/** How often the file's length is noted; what is lost is cut at such a mark. */
const MARK_MS = 20
const MARKS = 1_000
type Mark = { at: number; file: string; bytes: number }
/**
 * By `everysec` Redis answers for up to two seconds before it writes, while the disk is busy with the sync before: a SIGKILL would lose
 * what nobody cut off. What has been written survives a SIGKILL without any sync.
 */
const WRITTEN_BEFORE_TOLD = { appendfsync: 'no' }

export async function startRedisUnderFire(dir: string): Promise<RedisUnderFire> {
  const binary = await findRedis(() => undefined)
  const options = { dir, appendonly: true, more: WRITTEN_BEFORE_TOLD }
  let running: RedisProcess = await spawnRedis(binary, options)
  await printNew(running.url)
  let marks: Mark[] = []
  const mark = (): void => {
    const file = latestFile(dir)
    if (file === undefined) return
    marks.push({ at: clock(), file, bytes: statSync(file).size })
    if (marks.length > MARKS) marks.shift()
  }
  /** The youngest mark that is at least so old, where the same file has grown since; one that was rewritten meanwhile is left alone. */
  const lastBefore = (instant: number): Mark | undefined => {
    const now = marks.at(-1)
    const then = marks.findLast(({ at }) => at <= instant)
    return then !== undefined && then.file === now?.file && then.bytes < now.bytes ? then : undefined
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
      let killedAt: number
      let cut: Mark | undefined
      for (;;) {
        mark()
        killedAt = clock()
        if (loseMs === 0) break
        cut = lastBefore(killedAt - loseMs)
        if (cut !== undefined) break
        await sleep(MARK_MS)
      }
      running.child.kill('SIGKILL')
      await running.exited
      let [lostSince, lostBytes] = [killedAt, 0]
      if (cut !== undefined && latestFile(dir) === cut.file) {
        lostBytes = statSync(cut.file).size - cut.bytes
        lostSince = cut.at
        await truncate(cut.file, cut.bytes)
      }
      marks = []
      await sleep(awayMs)
      const startedAt = clock()
      running = await spawnRedis(binary, { ...options, port: running.port })
      return { killedAt, startedAt, backAt: clock(), lostSince, lostBytes }
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
