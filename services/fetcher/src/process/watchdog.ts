/**
 * A thread beside the fetching loop: when the loop has not turned for as long as the parent would wait, it ends the
 * process. The parent does the same from outside; this one is left when the parent is gone.
 */
import { isMainThread, Worker, workerData } from 'node:worker_threads'
import { BEAT_EVERY_MS, SILENCE_MS } from '../limits.ts'

/** Starts the thread. Call the answer at every beat. */
export function startWatchdog(): () => void {
  const beats = new Int32Array(new SharedArrayBuffer(4))
  const worker = new Worker(new URL(import.meta.url), { workerData: beats, stdout: false, stderr: false })
  worker.unref()
  return () => void Atomics.add(beats, 0, 1)
}

if (!isMainThread && workerData instanceof Int32Array) watch(workerData)

function watch(beats: Int32Array): void {
  let seen = -1
  let missed = 0
  let lookedAt = performance.now()
  setInterval(() => {
    const now = performance.now()
    const asleep = now - lookedAt > 4 * BEAT_EVERY_MS // the whole process stood still: that is not the loop's silence
    lookedAt = now
    const beat = Atomics.load(beats, 0)
    missed = beat === seen && !asleep ? missed + 1 : 0
    seen = beat
    if (missed * BEAT_EVERY_MS > SILENCE_MS) process.kill(process.pid, 'SIGKILL')
  }, BEAT_EVERY_MS)
}
