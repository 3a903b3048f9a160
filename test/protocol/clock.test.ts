/** Time, timers and chance come from the clock that is handed in: what the linter cannot see of it. */
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { abortAfter, systemClock } from '@decorum/protocol'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** As in .oxlintrc.json, where `Date.now`, `setTimeout` and the like are refused. */
const FILES = globSync(
  '{services/*,packages/{client,config,content,ledger,politeness,protocol,runtime,sending}}/src/**/*.ts',
  { cwd: ROOT },
)
const ELSEWHERE = /\bnew Date\(\)|from 'node:(timers|timers\/promises|perf_hooks)'|\brandomInt\b/

test('no file but time.ts takes an instant, a timer or chance from elsewhere', () => {
  expect(FILES.length).toBeGreaterThan(300)
  const taken = FILES.filter((file) => ELSEWHERE.test(readFileSync(`${ROOT}/${file}`, 'utf8')))
  expect(taken).toEqual(['packages/protocol/src/time.ts'])
})

test('a sleep lasts as long as it says, and ends early without an error when its signal aborts', async () => {
  const from = systemClock.monotonic()
  await systemClock.sleep(20.5)
  expect(systemClock.monotonic() - from).toBeGreaterThanOrEqual(20)
  await systemClock.sleep(3_600_000, { signal: AbortSignal.abort() })
  const ending = new AbortController()
  const ended = systemClock.sleep(3_600_000, { signal: ending.signal })
  ending.abort()
  await ended
})

test('abortAfter: the reason is that of a timeout', async () => {
  const signal = abortAfter(systemClock, 1)
  await systemClock.sleep(20)
  expect(signal.reason).toMatchObject({ name: 'TimeoutError' })
})
