/** The conformance suite judges workers: a good one passes all situations, and each bad one fails for its reason. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const CLI = at('../../packages/cli/src/main.ts')
const exec = promisify(execFile)

type Said = { stdout: string; stderr: string }
type Verdicts = { conforms: boolean; situations: { name: string; complaints: string[] }[] }

async function conform(
  only: string | undefined,
  program: string,
  script: string,
  ...more: string[]
): Promise<Verdicts> {
  const args = [
    'permits',
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
  const { stdout, stderr } = await exec(process.execPath, [CLI, ...args]).catch((error: Said) => error)
  expect(stdout, stderr).not.toBe('')
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

const BAD: [situation: string, fault: string, complaint: RegExp][] = [
  ['page', 'twice', /2 requests, at most 1 were ordered/],
  ['redirect', 'follows', /before-rules|disallowed/],
  ['slow', 'early', /completed \d+ ms before its answer had ended/],
  ['long', 'no-extension', /overlap|short-delay/],
  ['deadline', 'patient', /open for \d+ ms/],
  ['big', 'greedy', /truncated is "", not "length"/],
  ['stop', 'deaf', /open for \d+ ms after the stop/],
  ['dead-lease', 'brittle', /no outcome/], // the last one: it ends there
]
const LAST: typeof BAD = [
  ['not-found', 'own-name', /User-Agent was Mozilla\/5.0 \(my own\)/],
  ['terminated', 'stubborn', /it still runs/],
]
for (const faults of [BAD, LAST])
  describe('a worker with a fault in each of some situations', () => {
    let verdicts: Verdicts
    beforeAll(async () => {
      const names = faults.map(([situation]) => situation).join(',')
      const pairs = faults.map(([situation, fault]) => `${situation}=${fault}`)
      verdicts = await conform(names, process.execPath, at('bad-worker.mjs'), ...pairs)
    })
    for (const [situation, fault, complaint] of faults)
      test(`“${fault}” fails in “${situation}” for its reason`, () => {
        const own = verdicts.situations.find(({ name }) => name === situation)
        expect(own?.complaints.join('\n')).toMatch(complaint)
      })
  })

test.skipIf(!existsSync('/usr/bin/chromium'))('the worker with Chromium passes what a browser meets', async () => {
  const names = 'page,not-found,redirect,too-many,slow,reset,several,forbidden,cookies,compressed,terminated'
  const verdicts = await conform(names, process.execPath, at('../../integrations/playwright/worker.js'))
  expect(complaints(verdicts)).toEqual([])
})
