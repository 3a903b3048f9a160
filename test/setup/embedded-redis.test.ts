/** The embedded Redis belongs to one parent and one folder, and neither a kill nor a second start loses its data. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, readdir, readFile, realpath, stat, symlink, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { ensureRedis, type RunningRedis } from '@decorum/cli/local-redis'
import { freePort, spawnRedis, writeNote } from '@decorum/cli/local-redis/testing'
import { Redis } from 'ioredis'
import { afterEach, expect, inject, onTestFinished, test } from 'vitest'
import { startRedis } from '../support/redis.ts'

type Parent = { child: ChildProcess; lines: Interface; first: { url: string; pid: number; error?: string } }

const log = () => {}
const open: { clients: Redis[]; servers: RunningRedis[]; parents: ChildProcess[] } = {
  clients: [],
  servers: [],
  parents: [],
}

afterEach(async () => {
  for (const client of open.clients.splice(0)) client.disconnect()
  await Promise.all(open.servers.splice(0).map((server) => server.stop()))
  for (const parent of open.parents.splice(0)) parent.kill('SIGKILL')
})

test('the usual port is taken where it is free, and another one where it is not', async () => {
  const usual = await freePort()
  expect(await freePort(usual)).toBe(usual)
  const other = createServer().listen(usual, '127.0.0.1')
  await once(other, 'listening')
  onTestFinished(() => void other.close())
  expect(await freePort(usual)).not.toBe(usual)
})

async function embedded(dataDir?: string): Promise<RunningRedis> {
  const server = await ensureRedis({ ...(dataDir ? { dataDir } : {}), log })
  open.servers.push(server)
  return server
}

function client(url: string): Redis {
  const redis = new Redis(url, { maxRetriesPerRequest: null, retryStrategy: () => 50 })
  redis.on('error', () => {})
  open.clients.push(redis)
  return redis
}

/** Another process that holds an embedded Redis, and is the leader of its own process group. */
async function parentProcess(dataDir: string, env = process.env): Promise<Parent> {
  const program = fileURLToPath(new URL('holds-redis.ts', import.meta.url))
  const child = spawn(process.execPath, [program, dataDir], {
    detached: true,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  open.parents.push(child)
  const lines = createInterface({ input: child.stdout })
  const first = await new Promise<Parent['first']>((resolve) => {
    lines.on('line', (line) => {
      const said = JSON.parse(line) as Parent['first']
      if (said.url || said.error) resolve(said)
    })
  })
  return { child, lines, first }
}

/** What the append-only files below a folder hold, as text. */
async function appended(dir: string): Promise<string> {
  const files = (await readdir(dir, { recursive: true })).filter((name) => name.endsWith('.incr.aof'))
  return (await Promise.all(files.map((name) => readFile(join(dir, name), 'latin1')))).join('')
}

/** A connection to the server; its `closed` resolves when the server ends it: gone, not just slow. */
async function watch(url: string): Promise<{ closed: Promise<unknown> }> {
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(url).port) })
  await once(socket, 'connect')
  return { closed: once(socket.resume(), 'close') }
}

const parentOf = async (pid: number): Promise<number> =>
  Number(/^PPid:\s*(\d+)/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1])

const folder = async () => realpath(await mkdtemp(join(inject('redisFolder'), 'embedded-')))

test('it listens on loopback only, keeps an append-only file and evicts nothing', async () => {
  const { url, kind } = await embedded()
  const redis = client(url)
  const wanted = {
    bind: '127.0.0.1',
    appendonly: 'yes',
    appendfsync: 'everysec',
    save: '',
    'maxmemory-policy': 'noeviction',
    'hash-max-listpack-value': '1024',
    'set-max-intset-entries': '4096',
  }
  const found = await Promise.all(Object.keys(wanted).map((name) => redis.config('GET', name)))
  expect(Object.fromEntries(found as [string, string][])).toEqual(wanted)
  expect(kind).toBe('embedded')
})

test('without a data folder it leaves nothing behind', async () => {
  const server = await embedded()
  const [, dir] = (await client(server.url).config('GET', 'dir')) as [string, string]
  expect(existsSync(dir)).toBe(true)
  await server.stop()
  expect(existsSync(dir)).toBe(false)
})

test('it ends when its parent is killed (SIGKILL), and the next start finds the data', async () => {
  const dir = await folder()
  const { child, first } = await parentProcess(dir)
  await client(first.url).set('kept', 'yes')
  const { closed } = await watch(first.url)
  child.kill('SIGKILL')
  await closed
  const next = await embedded(dir)
  expect(await client(next.url).get('kept')).toBe('yes')
})

test("the terminal's Ctrl-C reaches the parent, not its Redis", async () => {
  const { child, lines, first } = await parentProcess(await folder())
  const heard = once(lines, 'line')
  process.kill(-(child.pid as number), 'SIGINT')
  expect(String(await heard)).toContain('SIGINT')
  expect(await client(first.url).ping()).toBe('PONG')
})

test('a second start on the same folder fails with the address of the first, and starts nothing', async () => {
  const dir = await folder()
  const [one, two] = await Promise.allSettled([embedded(dir), embedded(dir)])
  const results = [one, two]
  const winner = results.find((result) => result.status === 'fulfilled')
  const loser = results.find((result) => result.status === 'rejected')
  expect(loser?.reason.message).toContain('a fleet runs here already')
  expect(loser?.reason.message).toContain(`at ${winner?.value.place}`)
  expect(loser?.reason.message).not.toContain(new URL(winner?.value.url ?? '').password)
  await winner?.value.stop()
  await embedded(dir) // free again
})

test('it asks for a password, which no list of processes shows and only its owner can read', async () => {
  const dir = await folder()
  const { url, place, pid } = await embedded(dir)
  const { password } = new URL(url)
  expect(password).toMatch(/^[\w-]{32}$/)
  expect(place).not.toContain(password)
  await expect(client(place).set('a', 'b')).rejects.toThrow('NOAUTH')
  expect((await stat(join(dir, 'redis.json'))).mode & 0o777).toBe(0o600)
  expect((await stat(dir)).mode & 0o777).toBe(0o700)
  for (const process of [pid as number, await parentOf(pid as number)]) {
    expect(await readFile(`/proc/${process}/cmdline`, 'utf8')).not.toContain(password)
  }
})

test('Redis ends when its guardian is killed, and a process that uses it starts both again, with the data', async () => {
  const said: string[] = []
  const server = await ensureRedis({ dataDir: await folder(), log: (line) => said.push(line) })
  open.servers.push(server)
  const redis = client(server.url)
  await redis.set('kept', 'yes')
  process.kill(await parentOf(server.pid as number), 'SIGKILL')
  await expect.poll(() => said).toEqual(['Redis: its guardian process had ended; both were started again'])
  expect(await redis.get('kept')).toBe('yes')
  await server.stop()
  await expect(watch(server.url)).rejects.toThrow('ECONNREFUSED')
})

test('parent and guardian killed in the same moment: Redis does not outlive them', async () => {
  const dir = await folder()
  const { child, first } = await parentProcess(dir)
  await client(first.url).set('kept', 'yes')
  const { closed } = await watch(first.url)
  const guardian = await parentOf(first.pid)
  process.kill(child.pid as number, 'SIGKILL')
  process.kill(guardian, 'SIGKILL')
  await closed
  const next = await embedded(dir)
  expect(await client(next.url).get('kept')).toBe('yes')
})

test('where the kernel cannot end Redis with its guardian, the next start ends what was left, with its data written', async () => {
  const dir = await folder()
  const left = await spawnRedis(inject('redisBinary'), { dir, appendonly: true, password: 'left-over' })
  await writeNote(dir, { ...left, password: 'left-over' })
  await client(`redis://:left-over@127.0.0.1:${left.port}`).set('kept', 'yes')
  const next = await embedded(dir)
  expect(await left.exited).toBe('exit code 0')
  expect(await client(next.url).get('kept')).toBe('yes')
})

test('a Redis that dies is started again at the same address, with what was acknowledged', async () => {
  const dir = await folder()
  const { child, lines, first } = await parentProcess(dir)
  const redis = client(first.url)
  await redis.set('kept', 'yes')
  // Redis answers before it writes while the disk is busy with the sync before (appendfsync everysec); what it has written is kept.
  await expect.poll(() => appended(dir)).toContain('kept')
  const said = once(lines, 'line')
  process.kill(first.pid, 'SIGKILL')
  expect(String(await said)).toContain('was started again')
  expect(await redis.get('kept')).toBe('yes')
  child.kill('SIGKILL')
})

test('a given URL is used as it is and never stopped', async () => {
  const server = await startRedis()
  const given = await ensureRedis({ url: server.url, log })
  expect(given).toMatchObject({ kind: 'given', url: server.url })
  await given.stop()
  expect(await client(server.url).ping()).toBe('PONG')
  await server.stop()
  await expect(ensureRedis({ url: server.url, log })).rejects.toThrow(
    `ECONNREFUSED 127.0.0.1:${server.port} → nothing listens there: start Redis`,
  )
})

test.each(['localhost:6379', 'http://localhost', 'redis://', ' '])(
  'REDIS_URL=%j is refused, without echo',
  async (url) => {
    await expect(ensureRedis({ url, log })).rejects.toThrow('redis://')
  },
)

test('a redis-server that is too old for the ledger is passed over for the next one on the PATH', async () => {
  const dir = await folder()
  await writeFile(join(dir, 'redis-server'), '#!/bin/sh\necho "Redis server v=6.2.7 sha=0"\n')
  await chmod(join(dir, 'redis-server'), 0o755)
  const { path } = inject('redisBinary')
  await symlink(path, join(dir, 'valkey-server'))
  const env = { ...process.env, PATH: `${dir}:${process.env.PATH}` }
  const { child, first } = await parentProcess(join(dir, 'data'), env)
  expect(first.error).toBeUndefined()
  expect(await client(first.url).info('server')).toMatch(/redis_version:([7-9]|\d\d)/)
  child.kill('SIGKILL')
})

test('where no Redis can be had, the error names what was tried and the three ways out', async () => {
  const dir = await folder()
  await writeFile(join(dir, 'redis-server'), '#!/bin/sh\necho "Redis server v=6.2.7 sha=0"\n')
  await chmod(join(dir, 'redis-server'), 0o755)
  const { first } = await parentProcess(join(dir, 'data'), { PATH: dir, HOME: dir, TMPDIR: dir })
  expect(first.error).toContain('its version is 6.2, older than 7.0')
  expect(first.error).toContain('there is no apt-get here')
  for (const way of [
    'set REDIS_URL',
    'install redis-server or valkey-server',
    'use Debian 12, Ubuntu 24.04 or later',
  ]) {
    expect(first.error).toContain(way)
  }
})
