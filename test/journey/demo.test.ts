import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Report, RequestLine } from '@decorum/audit'
import { afterAll, expect, test } from 'vitest'

const CLI = fileURLToPath(new URL('../../packages/cli/src/main.ts', import.meta.url))
const run = promisify(execFile)
const folder = await mkdtemp(join(tmpdir(), 'decorum-demo-test-'))
afterAll(() => rm(folder, { recursive: true }))

type DemoReport = {
  clean: boolean
  seconds: number
  urls: number
  targets: number
  outcomes: number
  byKind: Record<string, number>
  complaints: string[]
  audit: Report
}

test('the demo: every URL has the outcome to be expected, and the sites saw no violation', async () => {
  const { stdout } = await run(process.execPath, [CLI, 'demo', '--json', '--keep', folder], {
    timeout: 300_000,
    maxBuffer: 1e8,
  }).catch((error: { stdout?: string; stderr?: string; code?: number }) => {
    throw new Error(`demo ended with ${error.code}: ${error.stderr}\n${error.stdout}`)
  })
  const report = JSON.parse(stdout) as DemoReport
  expect(report.complaints).toEqual([])
  expect(report.audit.examples).toEqual([])
  expect(report).toMatchObject({ clean: true, outcomes: report.urls + report.targets })
  expect(Object.keys(report.byKind)).toEqual(
    expect.arrayContaining([
      'fetched',
      'disallowed',
      'redirected',
      'expired: robots-unreachable',
      'failed: blocked-port',
    ]),
  )
  expect(report.audit.origins).toBeGreaterThanOrEqual(40)
  expect(report.audit.agents.map(({ agent }) => agent).toSorted()).toEqual(['demobot', 'demobot-images'])
})

test('its record, judged again by `decorum audit`: the same verdict; one line mutilated, and it is seen', async () => {
  const record = join(folder, 'visits.ndjson')
  const audit = (log: string, ...more: string[]) =>
    run(process.execPath, [CLI, 'audit', log, '--agents', join(folder, 'agents.json'), '--json', ...more]).then(
      ({ stdout }) => ({ code: 0, stdout }),
      (error: { code: number; stdout: string }) => error,
    )
  const fine = await audit(record, '--robots-retry-ms', '2500')
  expect(fine.code).toBe(0)
  expect((JSON.parse(fine.stdout) as Report).total).toBe(0)
  // The demo asks for robots.txt faster than the profile's own schedule: judged by that, it is rude.
  const strict = await audit(record)
  expect(strict.code).toBe(1)
  expect((JSON.parse(strict.stdout) as Report).violations).toMatchObject({
    overlap: 0,
    'short-delay': 0,
    disallowed: 0,
  })

  // One request moved to half of the delay that it kept: the only thing wrong in the whole record.
  const lines = (await readFile(record, 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as RequestLine)
  // The delay is the agent's own, and the end of an exchange that was cut is not known to the millisecond.
  const previous = (line: RequestLine): RequestLine | undefined =>
    lines.findLast(({ origin, agent, end }) => origin === line.origin && agent === line.agent && end < line.start)
  const pairs = lines.filter(({ path }) => path === '/page-2').map((line) => [previous(line), line] as const)
  const [before, moved] = pairs.find(([one]) => one !== undefined && one.cut === undefined) as [
    RequestLine,
    RequestLine,
  ]
  moved.start = before.end + 100
  delete moved.resolution
  const mutilated = join(folder, 'mutilated.ndjson')
  await writeFile(mutilated, lines.map((line) => JSON.stringify(line)).join('\n'))
  const seen = await audit(mutilated, '--robots-retry-ms', '2500')
  expect(seen.code).toBe(1)
  expect((JSON.parse(seen.stdout) as Report).examples).toMatchObject([
    { offence: 'short-delay', origin: moved.origin, path: '/page-2' },
  ])
})
