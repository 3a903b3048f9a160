/** A disk that fills: what is acknowledged is on it, what is not comes again, and the command says so. A real limit of the kernel. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Fleet, startFleet } from '@decorum/cli'
import { openFrontier } from '@decorum/client'
import type { Outcome } from '@decorum/protocol'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { decorum, environmentOf, folder, readOutcomes, type Site, site } from './decorum.ts'

const shared = await redisForTest()
const env = { REDIS_URL: shared.url, LOG_LEVEL: 'warn' }
/** Most of these crawls have a fleet that runs already: what fills is the disk of the command. */
const BESIDE = ['--no-archive', '--gateways', '0', '--fetchers', '0']
let fleet: Fleet
beforeAll(async () => {
  fleet = await startFleet({ env: environmentOf({ ...env, XDG_DATA_HOME: shared.dir }), gateways: 1, fetchers: 1 })
})
afterAll(async () => void (await fleet.stop(5_000)))

afterAll(() => raw.disconnect())

const lineOf = ({ id, meta }: Outcome): string => `${id.includes('~') ? 'target of ' : ''}${Number(meta?.line)}`
const numbers = (count: number): string[] => Array.from({ length: count }, (_, n) => String(n + 1))
const raw = new Redis(shared.url)
const sites = (count: number, answer?: Parameters<typeof site>[0]): Promise<Site[]> =>
  Promise.all(Array.from({ length: count }, () => site(answer)))
const pagesOf = (all: Site[], count: number): string =>
  Array.from({ length: count }, (_, n) => `${all[n % all.length]?.origin}/${n}\n`).join('')

/** What stands in outcomes.ndjson; throws for a broken line. */
async function written(dir: string): Promise<Outcome[]> {
  const text = await readFile(join(dir, 'decorum-out/outcomes.ndjson'), 'utf8')
  expect(text === '' || text.endsWith('\n'), 'it ends with a whole line').toBe(true)
  return readOutcomes(join(dir, 'decorum-out/outcomes.ndjson'))
}
const isFinished = async (dir: string): Promise<boolean> =>
  'finishedAt' in (JSON.parse(await readFile(join(dir, 'decorum-out/crawl.json'), 'utf8')) as object)

test('the crawl ends as an error, unfinished; --resume completes the file, each line and each redirect target once', async () => {
  const dir = await folder()
  const web = await sites(6, ({ url = '' }, response) => {
    if (!/^\/[0-9]*[05]$/.test(url)) return false
    response.writeHead(301, { location: `/to${url}` }).end()
    return true
  })
  await writeFile(join(dir, 'urls.txt'), pagesOf(web, 120))
  const full = await decorum(['crawl', 'urls.txt', ...BESIDE], { cwd: dir, env, largestFileKiB: 24 })
  expect(full, full.stderr).toMatchObject({ code: 1, stdout: '' })
  expect(full.stderr).toMatch(/outcomes\.ndjson cannot be written: EFBIG.*go on with --resume/)
  expect((await written(dir)).length).toBeLessThan(144)
  expect(await isFinished(dir)).toBe(false)

  const { code, stdout } = await decorum(['crawl', '--resume', ...BESIDE], { cwd: dir, env })
  expect({ code, stdout: stdout.slice(0, 35) }).toEqual({ code: 0, stdout: 'Done: 144 URLs, each with its outco' })
  const targets = numbers(120).filter((line) => (Number(line) - 1) % 5 === 0)
  const all = [...numbers(120), ...targets.map((line) => `target of ${line}`)]
  expect((await written(dir)).map(lineOf).sort()).toEqual(all.sort())
  // What was stored is waited for, so nothing is asked for twice.
  const asked = web.flatMap((one) => one.asked.map((path) => one.origin + path))
  expect(asked.toSorted()).toEqual([...new Set(asked)].toSorted())
  expect(asked).toHaveLength(144)
})

test('a target that was acknowledged and never written, as earlier versions did: --resume fetches it again and ends', async () => {
  const dir = await folder()
  const { origin, asked } = await site(({ url }, response) => {
    if (url === '/a') response.writeHead(302, { location: '/b' }).end()
    else if (url === '/b') response.writeHead(302, { location: '/c' }).end()
    else return false
    return true
  })
  await writeFile(join(dir, 'urls.txt'), `${origin}/a\n`)
  const first = await decorum(['crawl', 'urls.txt', ...BESIDE], { cwd: dir, env })
  expect(first.code, first.stderr).toBe(0)
  const out = join(dir, 'decorum-out')
  const whole = await written(dir)
  await writeFile(
    join(out, 'outcomes.ndjson'),
    `${whole
      .filter(({ kind }) => kind === 'redirected')
      .map((one) => JSON.stringify(one))
      .join('\n')}\n`,
  )
  const { finishedAt: _, ...note } = JSON.parse(await readFile(join(out, 'crawl.json'), 'utf8')) as {
    finishedAt: string
  }
  await writeFile(join(out, 'crawl.json'), JSON.stringify(note))
  await raw.del('{decorum:0}:outcomes')

  const { code, stderr } = await decorum(['crawl', '--resume', ...BESIDE], { cwd: dir, env })
  expect(code, stderr).toBe(0)
  expect((await written(dir)).map(({ id }) => id)).toEqual(whole.map(({ id }) => id))
  expect(asked).toEqual(['/a', '/b', '/c', '/c'])
})

test('a page that cannot be kept ends the crawl as well, and is fetched again by --resume', async () => {
  const dir = await folder()
  const big = Buffer.alloc(3_000_000)
  for (let n = 0; n < big.length; n += 4) big.writeUInt32LE((Math.imul(n + 1, 2_654_435_761) ^ (n << 7)) >>> 0, n)
  const { origin, asked } = await site(({ url }, response) => {
    if (url !== '/1') return false
    response.end(big)
    return true
  })
  await writeFile(join(dir, 'urls.txt'), `${origin}/0\n${origin}/1\n${origin}/2\n`)
  const full = await decorum(['crawl', 'urls.txt'], { cwd: dir, largestFileKiB: 1_024 })
  expect(full, full.stderr).toMatchObject({ code: 1, stdout: '' })
  expect(full.stderr).toContain(`${origin}/1 was fetched, but could not be kept in`)
  expect((await written(dir)).map(lineOf)).not.toContain('2')
  expect(await isFinished(dir)).toBe(false)

  const { code, stderr } = await decorum(['crawl', '--resume'], { cwd: dir })
  expect(code, stderr).toBe(0)
  const outcomes = await written(dir)
  expect(outcomes.map(lineOf).sort()).toEqual(numbers(3))
  for (const one of outcomes) expect(one).toMatchObject({ kind: 'fetched', archive: { file: expect.any(String) } })
  expect(asked.filter((path) => path === '/1')).toHaveLength(2)
})

test('a list from standard input that cannot be copied: what was copied is crawled, and a message says that it is not all', async () => {
  const dir = await folder()
  const web = await sites(4)
  const input = pagesOf(web, 40) + `${web[0]?.origin}/${'x'.repeat(8_000)}\n`.repeat(400)
  const full = await decorum(['crawl', '-', ...BESIDE], { cwd: dir, env, input, largestFileKiB: 100 })
  expect(full, full.stderr).toMatchObject({ code: 1, stdout: '' })
  expect(full.stderr).toContain('urls.txt cannot be written: EFBIG')
  const list = await readFile(join(dir, 'decorum-out/urls.txt'), 'utf8')
  const { code, stderr } = await decorum(['crawl', '--resume', ...BESIDE], { cwd: dir, env })
  expect(code, stderr).toBe(0)
  expect(stderr).toContain('standard input was cut off')
  const whole = list.slice(0, list.lastIndexOf('\n') + 1).split('\n').length - 1
  expect((await written(dir)).map(lineOf).sort()).toEqual(numbers(whole).sort())
})

test('decorum outcomes into a file: a line that is not whole on the disk comes again', async () => {
  const dir = await folder()
  await raw.del('{decorum:0}:outcomes')
  const ids = Array.from({ length: 1_500 }, (_, n) => `o${n}`)
  const writing = raw.pipeline()
  for (const id of ids) writing.xadd('{decorum:0}:outcomes', '*', 'o', JSON.stringify({ id, kind: 'refused' }))
  await writing.exec()
  const into = join(dir, 'out.ndjson')
  const args = ['outcomes', '--group', 'full-disk']
  const full = await decorum(args, { env, into, largestFileKiB: 40 })
  expect(full.code).toBe(1)
  expect(full.stderr).toContain('standard output cannot be written: EFBIG')
  const text = await readFile(into, 'utf8')
  const kept = (await readOutcomes(into)).length
  expect([text.endsWith('\n'), kept > 0, kept < 1_500]).toEqual([true, true, true])
  const rest = await decorum(args, { env, into })
  expect(rest.code, rest.stderr).toBe(0)
  expect((await readOutcomes(into)).map(({ id }) => id)).toEqual(ids)
  const frontier = await openFrontier({ redis: shared.url })
  await frontier.removeGroup('full-disk')
  await frontier.close()
})
