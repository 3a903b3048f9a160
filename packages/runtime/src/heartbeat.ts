/**
 * The heartbeat of a supervised process, and a thread in the process that monitors it: when the event loop has not turned for as long as
 * the supervisor would wait, the thread ends the process. It is needed when the supervisor itself is gone.
 */
import { isMainThread, Worker, workerData } from 'node:worker_threads'

/** Interval of a supervised process's heartbeats. */
export const BEAT_EVERY_MS = 500
/** A process that has been silent for this long is killed; a lease lasts much longer. */
export const SILENCE_MS = 5_000

/** Starts the watching thread. Call the returned function at every beat. */
export function startWatchdog(): () => void {
  const beats = new Int32Array(new SharedArrayBuffer(4))
  const worker = new Worker(new URL(import.meta.url), { workerData: beats, stdout: false, stderr: false })
  worker.unref()
  return () => void Atomics.add(beats, 0, 1)
}

if (!isMainThread && workerData instanceof Int32Array) watch(workerData)

function watch(beats: Int32Array): void {
  let lastBeat = -1
  let missed = 0
  let checkedAt = performance.now()
  setInterval(() => {
    const now = performance.now()
    const wasSuspended = now - checkedAt > 4 * BEAT_EVERY_MS // the whole process stood still, not only the event loop
    checkedAt = now
    const beat = Atomics.load(beats, 0)
    missed = beat === lastBeat && !wasSuspended ? missed + 1 : 0
    lastBeat = beat
    if (missed * BEAT_EVERY_MS > SILENCE_MS) process.kill(process.pid, 'SIGKILL')
  }, BEAT_EVERY_MS)
}
