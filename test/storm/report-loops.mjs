// Loaded before everything else in the processes of a flood: each thread writes down the processor time that its event loop took at a stretch.
import { appendFileSync } from 'node:fs'
import { now as clock } from '@decorum/cli/synthetic-web/clock'

/** A stretch is what the thread used between two runs of this timer, so it is up to EVERY_MS too long. */
const EVERY_MS = 20
const WRITE_MS = 1_000
const { STORM_LOOPS: file } = process.env
if (file !== undefined) {
  let last = process.threadCpuUsage()
  let most = 0
  setInterval(() => {
    const now = process.threadCpuUsage()
    most = Math.max(most, (now.user + now.system - last.user - last.system) / 1_000)
    last = now
  }, EVERY_MS).unref()
  setInterval(() => {
    appendFileSync(file, `${JSON.stringify({ pid: process.pid, at: clock(), cpuMs: most })}\n`)
    most = 0
  }, WRITE_MS).unref()
}
