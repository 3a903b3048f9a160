/** The conformance suite judges workers: a good one passes all situations, and each bad one fails for its reason. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const CLI = at('../../packages/cli/src/main.ts')
const exec = promisify(execFile)

type Verdicts = { conforms: boolean; situations: { name: string; complaints: string[] }[] }

async function conform(
  only: string | undefined,
  program: string,
  script: string,
  ...more: string[]
): Promise<Verdicts> {
  const args = [
    'conform',
    '--json',
    ...(only === undefined ? [] : ['--only', only]),
    '--',
    program,
    script,
    '{url}',
    '{pool}',
    ...more,
  ]
  const { stdout } = await exec(process.execPath, [CLI, ...args]).catch((error: { stdout: string }) => error)
  return JSON.parse(stdout) as Verdicts
}
const complaints = ({ situations }: Verdicts): string[] =>
  situations.flatMap((one) => one.complaints.map((text) => `${one.name}: ${text}`))

test('the worker of Python’s standard library passes every situation', async () => {
  const verdicts = await conform(undefined, 'python3', at('../../integrations/python/worker.py'))
  expect(complaints(verdicts)).toEqual([])
  expect(verdicts.situations.length).toBeGreaterThanOrEqual(20)
  expect(verdicts.conforms).toBe(true)
})

const BAD: [fault: string, situation: string, complaint: RegExp][] = [
  ['own-name', 'page', /User-Agent was Mozilla\/5.0 \(my own\)/],
  ['twice', 'page', /2 requests, at most 1 were ordered/],
  ['follows', 'redirect', /\/no: disallowed/],
  ['early', 'slow', /overlap/],
  ['no-extension', 'long', /overlap|short-delay/],
  ['patient', 'deadline', /open for \d+ ms/],
  ['greedy', 'big', /truncated is false/],
  ['deaf', 'stop', /open for \d+ ms after the stop/],
  ['brittle', 'dead-lease', /no outcome/],
  ['stubborn', 'terminated', /it still runs/],
]
for (const [fault, situation, complaint] of BAD)
  test(`a worker with the fault “${fault}” fails in “${situation}”`, async () => {
    const verdicts = await conform(situation, process.execPath, at('bad-worker.mjs'), fault)
    expect(complaints(verdicts).join('\n')).toMatch(complaint)
  })

test.skipIf(!existsSync('/usr/bin/chromium'))('the worker with Chromium passes what a browser meets', async () => {
  const names = 'page,not-found,redirect,too-many,slow,reset,several,forbidden,cookies,compressed,terminated'
  const verdicts = await conform(names, process.execPath, at('../../integrations/playwright/worker.js'))
  expect(complaints(verdicts)).toEqual([])
})
