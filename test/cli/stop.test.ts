/** `decorum stop`: what is typed, what is answered, and what is refused with nothing changed. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Ledger, openLedger } from '@decorum/ledger'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { redisForTest, startRedis } from '../support/redis.ts'
import { decorum, folder } from './decorum.ts'
import { decorumHere } from './decorum-here.ts'

const redis = await redisForTest()
let ledger: Ledger
beforeAll(async () => {
  ledger = await openLedger({ redis: redis.url, partitions: 2 })
})
afterAll(() => ledger.close())
const stop = (...args: string[]) => decorumHere(['stop', ...args], { env: { REDIS_URL: redis.url } })
const names = async (): Promise<string[]> =>
  (await ledger.stops.latest()).stops.filter(({ lifted }) => lifted === undefined).map(({ name }) => name)

test('names, addresses and a file; listed, lifted, and what has ended is kept for the auditor', async () => {
  const file = join(await folder(), 'names')
  await writeFile(file, '# they asked\nExample.org\n\nhttps://shop.example.net/a\n')
  const done = await stop('192.0.2.1', '--file', file, '--reason', 'they asked', '--by', 'ann', '--for', '1h', '--json')
  expect(done, done.stderr).toMatchObject({ code: 0, stderr: '' })
  expect(JSON.parse(done.stdout)).toMatchObject({
    stops: ['192.0.2.1', 'example.org', 'shop.example.net'].map((name) => ({ name, by: 'ann', reason: 'they asked' })),
  })
  expect((await stop('list')).stdout).toMatch(/^192\.0\.2\.1: stopped \S+ by ann: they asked \(until \S+\)\n/)
  const lifted = await stop('lift', 'example.org', 'shop.example.net', '--json')
  expect(JSON.parse(lifted.stdout).stops).toHaveLength(1)
  const all = JSON.parse((await stop('list', '--ended', '--json')).stdout)
  expect(all.stops).toHaveLength(3)
  expect(all.stops[1]).toMatchObject({ name: 'example.org', lifted: { at: expect.any(Number) } })
  expect((await stop('lift', '192.0.2.1')).stdout).toBe('192.0.2.1: lifted\nnothing is stopped any more\n')
})

test.each([
  [['example.com'], /a stop needs --reason/],
  [['--reason', 'x'], /name domains, hosts or addresses, or --file, or --all/],
  [['--all', 'example.com', '--reason', 'x'], /--all or names, not both/],
  [['example.com:80', '--reason', 'x'], /without path and port/],
  [['example.com', '192.0.2.0/24', '--reason', 'x'], /a range of addresses/],
  [['example.com', '--until', 'tomorrow', '--reason', 'x'], /an instant such as/],
  [['example.com', '--until', '2001-01-01T00:00Z', '--reason', 'x'], /has passed already/],
  [['example.com', '--until', '2101-01-01T00:00Z', '--for', '1h', '--reason', 'x'], /not both/],
  [['--file', '/nowhere/names', '--reason', 'x'], /no such file/],
  [['lift', 'example.com'], /example\.com cannot be lifted; nothing is stopped/],
  [['lift', '--all'], /everything cannot be lifted/],
])('%j: exit 2, one sentence, nothing changed', async (args, why) => {
  const before = await ledger.stops.latest()
  const done = await stop(...args)
  expect(done).toMatchObject({ code: 2, stdout: '' })
  expect(done.stderr).toMatch(why)
  expect(done.stderr.trim().split('\n')).toHaveLength(1)
  expect(await ledger.stops.latest()).toEqual(before)
})

test('a wrong line of a file is named, and none of its names is stopped', async () => {
  const file = join(await folder(), 'names')
  await writeFile(file, 'good.example\nbad name\n')
  const done = await stop('--file', file, '--reason', 'x')
  expect(done.code).toBe(2)
  expect(done.stderr).toContain(`${file}, line 2: "bad name" is not a host`)
  expect(await names()).toEqual([])
})

test('a wrong setting in the environment does not keep anybody from stopping', async () => {
  const env = { REDIS_URL: redis.url, DEFAULT_DELAY_MS: 'what', LEASE_MS: '1' }
  // A partition that a busy machine keeps from answering in time is exit code 1; the same line is typed again then.
  await expect.poll(async () => (await decorum(['stop', '--all', '--reason', 'x'], { env })).code).toBe(0)
  expect(await names()).toEqual(['*'])
  await stop('lift', '--all')
})

test('a Redis without a fleet is told apart from one that is away', async () => {
  const empty = await startRedis()
  const env = { REDIS_URL: empty.url }
  expect(await decorumHere(['stop', '--all', '--reason', 'x'], { env })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('no fleet has ever run'),
  })
  await empty.stop()
  expect((await decorum(['stop', '--all', '--reason', 'x'], { env })).code).toBe(1)
})
