// Loaded before everything else in the processes of a storm: those that fetch, grant permits, or answer, write down when they were kept from running.
import { appendFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
import { now as clock } from '@decorum/cli/synthetic-web/clock'

const EVERY_MS = 50
const [, program = '', role] = process.argv
const { STORM_STALLS: file, STORM_NAME: who = 'the sites' } = process.env
if (
  isMainThread &&
  file !== undefined &&
  (role === 'fetcher' || role === 'permits' || /(process\/child|web-process)\.ts$/.test(program))
) {
  let last = clock()
  setInterval(() => {
    const now = clock()
    if (now - last > 2 * EVERY_MS) appendFileSync(file, `${JSON.stringify({ who, at: last, until: now })}\n`)
    last = now
  }, EVERY_MS).unref()
}
