/** `decorum up` and the commands that talk to what it has started. */
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openContent, openFrontier } from '@decorum/client'
import { CANDIDATES, type Outcome, queueOptions } from '@decorum/protocol'
import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test, vi } from 'vitest'
import { decorum, folder, type Result, type Running, site, startDecorum } from './decorum.ts'
import { decorumHere } from './decorum-here.ts'

type Up = {
  running: Running
  env: Record<string, string>
  console: string
  consolePasswordFile: string
  /** its address, and the same with its password */
  redis: string
  redisUrl: string
  dir: string
}

async function up(dir: string, extra: Record<string, string> = {}): Promise<Up> {
  const env = { XDG_DATA_HOME: dir, ...extra }
  const running = startDecorum(['up', '--json', '--port', '0'], { env })
  await running.hears('"event":"up"')
  const said = running.said().split('\n')
  const line = said.find((text) => text.includes('"event":"up"')) ?? ''
  const told = JSON.parse(line) as Omit<Up, 'redisUrl'> & { redisDir: string }
  const { password } = JSON.parse(await readFile(join(told.redisDir, 'redis.json'), 'utf8')) as { password: string }
  const redisUrl = told.redis.replace('//', `//:${password}@`)
  expect(running.said()).not.toContain(password)
  return { ...told, running, env, dir, redisUrl }
}

const outcomesIn = ({ stdout }: Result): Outcome[] =>
  stdout
    .trim()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Outcome)

test('enqueue, outcomes, origin and the console find the fleet that is up; Ctrl-C stops all of it', async () => {
  const dir = await folder()
  const { origin, asked } = await site((request, response) => {
    if (request.url !== '/robots.txt') return false
    response.end('User-agent: *\nCrawl-delay: 60\nDisallow: /no')
    return true
  })
  const fleet = await up(dir, { MAX_DELAY_MS: '200' })
  const { env } = fleet
  // a group that is there before keeps what others have read already
  expect(outcomesIn(await decorumHere(['outcomes', '--group', 'other'], { env }))).toEqual([])
  const list = [
    `${origin}/a`,
    'ftp://a.example/',
    `{"url":"${origin}/b","id":"mine","meta":{"depth":2}}`,
    `${origin}/no`,
  ]
  await writeFile(join(dir, 'urls.txt'), `${list.join('\n')}\n`)
  expect(await decorum(['enqueue', 'urls.txt', '--json'], { cwd: dir, env })).toMatchObject({
    code: 0,
    stdout: '{"enqueued":4}\n',
  })

  const following = startDecorum(['outcomes', '--follow'], { env })
  await expect.poll(() => following.said().trim().split('\n').length).toBe(4)
  following.child.kill('SIGINT')
  const outcomes = outcomesIn(await following.result)
  expect(Object.fromEntries(outcomes.map(({ url, kind }) => [url, kind]))).toEqual({
    [`${origin}/a`]: 'fetched',
    [`${origin}/b`]: 'fetched',
    [`${origin}/no`]: 'disallowed',
    'ftp://a.example/': 'invalid',
  })
  expect(outcomes.find(({ id }) => id === 'mine')?.meta).toEqual({ depth: 2 })
  expect(outcomes.find(({ kind }) => kind === 'invalid')?.meta).toEqual({ line: 2 })
  expect(asked.sort()).toEqual(['/a', '/b'])
  const { REDIS_URL } = JSON.parse((await decorumHere(['env', '--json'], { env })).stdout) as { REDIS_URL: string }
  expect((await decorumHere(['env'], { env })).stdout).toBe(`export REDIS_URL='${REDIS_URL}'\n`)
  expect(await decorumHere(['status'], { env: { REDIS_URL } })).toMatchObject({ code: 0 })
  vi.stubEnv('XDG_DATA_HOME', dir)
  vi.stubEnv('REDIS_URL', '')
  onTestFinished(() => void vi.unstubAllEnvs())
  const frontier = await openFrontier() // meets it as a command does
  expect(frontier.tags).toEqual(['{decorum:0}'])
  await frontier.close()

  expect(outcomesIn(await decorumHere(['outcomes'], { env }))).toEqual([]) // this group has seen them
  expect(outcomesIn(await decorumHere(['outcomes', '--group', 'other'], { env }))).toHaveLength(4)
  expect(await decorumHere(['outcomes', '--forget', '--group', 'other', '--force'], { env })).toMatchObject({ code: 0 })

  // pages are kept unless somebody says otherwise: read here, from the console, and by nobody who has no password
  const kept = outcomes.find(({ id }) => id === 'mine')
  const ref = (kept?.kind === 'fetched' && kept.archive?.ref) || 'none'
  expect(ref).toContain(`${join(dir, 'decorum/pages')}/`)
  const password = (await readFile(fleet.consolePasswordFile, 'utf8')).trim()
  expect((await (await openContent(ref)).text()).length).toBeGreaterThan(0)
  const authorization = `Basic ${Buffer.from(`decorum:${password}`).toString('base64')}`
  const asks = `v1/content?ref=${encodeURIComponent(ref)}`
  const fetcher = /"name":"fetcher-1"[^}]*"port":(\d+)/.exec(fleet.running.said())?.[1]
  expect((await fetch(new URL(asks, fleet.console), { headers: { authorization } })).status).toBe(200)
  expect((await fetch(new URL(asks, fleet.console))).status).toBe(401)
  expect((await fetch(`http://127.0.0.1:${fetcher}/${asks}`)).status).toBe(401)

  const { stdout } = await decorum(['origin', origin], { env })
  expect(stdout).toContain('robots     answered 200')
  expect(stdout).toContain('delay    0.2 s, clamped: the site asks for 1 min')
  expect(JSON.parse((await decorumHere(['origin', `${origin}/any`, '--json'], { env })).stdout)).toMatchObject({
    origin,
  })
  expect((await fetch(new URL('/livez', fleet.console))).status).toBe(200)

  fleet.running.child.kill('SIGINT')
  expect((await fleet.running.result).code).toBe(0)
  await expect(fetch(new URL('/livez', fleet.console))).rejects.toThrow()
  const redis = new Redis(fleet.redisUrl, { lazyConnect: true, retryStrategy: () => null })
  redis.on('error', () => undefined)
  await expect(redis.connect()).rejects.toThrow()
})

test('what was enqueued while nothing ran, and after a crash, is fetched once by the next fleet', async () => {
  const dir = await folder()
  const { origin, asked } = await site()
  const first = await up(dir)
  const tag = '{decorum:0}'
  const client = new Redis(first.redisUrl)
  const queue = new Queue(CANDIDATES, { connection: client, ...queueOptions(tag) })
  const [gateway] = first.running.said().match(/"name":"gateway-1","pid":\d+/) ?? []
  process.kill(Number(/\d+$/.exec(gateway ?? '')?.[0]), 'SIGKILL')
  await first.running.hears('gateway-1 ended (SIGKILL)')
  await queue.add('any', { url: `${origin}/by-a-plain-producer` }) // any BullMQ producer may
  await first.running.hears(/"event":"ready","name":"gateway-1"[\s\S]*"event":"ready","name":"gateway-1"/)
  await expect.poll(() => asked).toEqual(['/by-a-plain-producer'])
  await queue.close()
  client.disconnect()
  first.running.child.kill('SIGTERM')
  expect((await first.running.result).code).toBe(0)

  const second = await up(dir)
  const seen = outcomesIn(await decorum(['outcomes'], { env: second.env }))
  expect(seen.map(({ url }) => url)).toEqual([`${origin}/by-a-plain-producer`])
  expect(asked).toEqual(['/by-a-plain-producer'])
})

test('other users of the machine get nothing, a second `up` on the same data says where the first one is, and role processes end when their parent is killed', async () => {
  // Console and Redis ask for passwords that only the owner can read.
  const dir = await folder()
  const fleet = await up(dir, { FETCH_DEADLINE_MS: '1000', LEASE_MS: '3000' })
  const origins = new URL('/v1/origins', fleet.console)
  expect((await fetch(origins)).status).toBe(401)
  const password = (await readFile(fleet.consolePasswordFile, 'utf8')).trim()
  expect(fleet.running.said()).not.toContain(password)
  const authorization = `Basic ${Buffer.from(`decorum:${password}`).toString('base64')}`
  expect((await fetch(origins, { headers: { authorization } })).status).toBe(200)
  const open = (await readdir(dir, { recursive: true, withFileTypes: true })).map(async (entry) => {
    const path = join(entry.parentPath, entry.name)
    return (await stat(path)).mode & 0o077 ? path : undefined
  })
  expect((await Promise.all(open)).filter(Boolean)).toEqual([])
  const redis = new Redis(fleet.redis, { lazyConnect: true, retryStrategy: () => null })
  redis.on('error', () => undefined)
  await expect(redis.get('decorum:partitions')).rejects.toThrow('NOAUTH')
  redis.disconnect()
  // of the same user, a role needs no address; with the one that `decorum env` prints, it keeps pages where the fleet does
  const gateway = startDecorum(['gateway'], { env: { ...fleet.env, PORT: '0' } })
  await gateway.hears('"msg":"ready"')
  gateway.child.kill('SIGTERM')
  expect((await gateway.result).code).toBe(0)
  const fetcher = startDecorum(['fetcher'], { env: { ...fleet.env, PORT: '0', REDIS_URL: fleet.redisUrl } })
  await fetcher.hears('"msg":"ready"')
  const fleetLines = async () =>
    (await decorumHere(['status', 'fleet'], { env: fleet.env })).stdout.match(/^fetcher .*/gm)
  await expect.poll(fleetLines).toEqual([1, 2].map(() => expect.stringContaining(', keeps pages,')))
  expect(fetcher.said()).not.toContain('keeps no pages')
  // of another user, it says that it keeps none, and what to do
  const away = { ...fleet.env, PORT: '0', REDIS_URL: fleet.redisUrl, XDG_DATA_HOME: await folder() }
  const other = startDecorum(['fetcher'], { env: away })
  await other.hears('this fetcher keeps no pages: set ARCHIVE_DIR')
  for (const one of [fetcher, other]) one.child.kill('SIGTERM')
  expect((await Promise.all([fetcher.result, other.result])).map(({ code }) => code)).toEqual([0, 0])

  const second = await decorum(['up', '--port', '0'], { env: fleet.env })
  expect(second).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`at ${fleet.redis}: 'crawl', 'enqueue' and 'check' use it as it is`),
  })

  const { running } = fleet
  const pids = [...running.said().matchAll(/"event":"ready","name":"[a-z0-9-]+","pid":(\d+)/g)].map(([, pid]) =>
    Number(pid),
  )
  expect(pids).toHaveLength(4)
  running.child.kill('SIGKILL')
  await expect.poll(() => pids.filter(isAlive)).toEqual([])
})

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
