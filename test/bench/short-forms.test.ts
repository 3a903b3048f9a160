/** The benches run, in their short form, from end to end; how fast is not judged here. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const run = promisify(execFile)
const results = new URL('../../bench/results.md', import.meta.url)

function bench(...args: string[]): Promise<{ stdout: string }> {
  return run(process.execPath, ['bench/main.ts', ...args], { cwd: new URL('../..', import.meta.url) })
}

const before = readOrEmpty()

test('relay: both sides settle every URL, by turns, and a ratio comes out', async () => {
  const { stdout } = await bench('relay', '--short')
  expect(stdout).toMatch(/Decorum over plain, round by round: \*\*\d+\.\d+ \(/)
  expect(stdout).toMatch(/each visit empties its lane; 3 rounds/)
})

test('several run one after the other. lanes: each verb at two sizes, and the weights; one-host: of 4,000 URLs for a lane of 1,000 each is stored or refused, none both', async () => {
  const { stdout } = await bench('lanes', 'one-host', '--short')
  expect(stdout).toMatch(/^\| 2,000 \|( [^|]+ \|){8}$/m)
  expect(stdout).toMatch(/^\| stored URL under an id of its own, 100 a lane \| \d+/m)
  expect(stdout).toMatch(/1,0\d\d stored and (2,9\d\d|3,000) refused as `lane-full`, 4,000 in all;/)
})

test('simulation: 1,000 origins in virtual time; no lane is forgotten, no site is visited too early', async () => {
  const { stdout } = await bench('simulation', '--short')
  expect(stdout).toMatch(/\*\*0 waited more than 1 s\*\*/)
  expect(stdout).toMatch(/before its silence was over\): 0\.$/m)
})

test('proxy: a request, plain and inspected, through it and through a bare one of Node; the memory of a client that waits', async () => {
  const { stdout } = await bench('proxy', '--short')
  for (const name of ['plain HTTP', 'inspected, HTTP/1\\.1 to the site', 'inspected, HTTP/2 to the site'])
    expect(stdout).toMatch(new RegExp(`^\\| ${name}.* \\| \\*\\*\\d+ \\(\\d+\\)\\*\\* \\| \\d+ \\(\\d+\\) \\|`, 'm'))
  expect(stdout).toMatch(/a client that waits \(200 of them, plain HTTP\): -?\d+\.\d KB/)
})

test('adapters: each fetches all its URLs, and breaks no rule', async () => {
  const { stdout } = await bench('adapters', '--short')
  for (const name of ['undici', 'Crawlee']) expect(stdout).toMatch(new RegExp(`^\\| ${name} \\|.*\\| 0 \\|$`, 'm'))
})

test('scale: one Redis and a cluster, one process of a role and two; each settles every URL', async () => {
  const { stdout } = await bench('scale', '--short')
  expect(stdout).toMatch(/^\| one Redis, 1 partition, 1 gateway and 1 fetcher \| [\d,]+ /m)
  expect(stdout).toMatch(/^\| three masters, 6 partitions, 2 gateways and 2 fetchers \| [\d,]+ /m)
})

test('peers: what is installed of them, bare and through Decorum, judged by the record of their sites; the others are named', async () => {
  const { stdout } = await bench('peers', '--short', '--only', 'curl,spider')
  if (stdout.includes('Not measured: it needs a network of its own')) return
  const curl =
    /^\| curl --parallel \| 1 \| HTTPS \| 1 \| (?<faults>\d+ \| \d+ \| \d+ \| \d+ \| \d+) \| (?<robots>\d+) \| \d+ of 12 \|/gm
  const [bare, through] = [...stdout.matchAll(curl)].map(({ groups }) => groups)
  if (bare === undefined)
    expect(stdout).toContain('curl --parallel was not run: curl is not installed on this machine.')
  else {
    expect(bare.robots).toBe('0')
    expect(through).toEqual({ faults: '0 | 0 | 0 | 0 | 0', robots: '4' })
  }
  expect(stdout).toMatch(/^(\| spider \| 1 \| HTTPS|spider was not run: it is not installed)/m)
})

test('none of them has written anything', () => {
  expect(readOrEmpty()).toBe(before)
})

test('a bench that there is not: exit 2, and which there are', async () => {
  await expect(bench('nonsense')).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining('lanes, ') })
})

function readOrEmpty(): string {
  try {
    return readFileSync(results, 'utf8')
  } catch {
    return ''
  }
}
