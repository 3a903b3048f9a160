/**
 * What processes must not load from their sources until they are ready: each of these costs 10 ms of processor time or 2 MB of memory, or more, at every start
 * (docs/decisions/0010-compiled-code-is-kept.md).
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { processMetrics } from '@decorum/runtime'
import { collectDefaultMetrics, Registry } from '@prometheus-io/client'
import { expect, onTestFinished, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'

const MAIN = fileURLToPath(new URL('../../packages/cli/src/main.ts', import.meta.url))
const redis = await redisForTest()

/** Writes down each module that its process loads, and the processes that it starts, in a file per process. */
const HOOK = `
  import { registerHooks } from 'node:module'
  import { appendFileSync } from 'node:fs'
  import { isMainThread } from 'node:worker_threads'
  const file = process.env.LOADED + '/' + process.pid + ' ' + process.argv[1].split('/').pop()
  if (isMainThread) registerHooks({ load(url, context, next) { appendFileSync(file, url + '\\n'); return next(url, context) } })`

/** Of libraries the file by which they are loaded as a whole; a folder where nothing of it is wanted. */
const EVERYWHERE = [
  'commander/',
  'tldts/',
  '@opentelemetry/',
  '@prometheus-io/client/index.js',
  'ajv/',
  'htmlparser2/',
  'undici/index.js',
]
const READS_PAGES = ['@exodus/bytes/', 'entities/']
const FETCHES = ['undici/', 'http-cache-semantics/']
const SERVES = ['fastify/', 'yaml/', '@bull-board/']
const QUEUES = 'bullmq/dist/cjs/index.js'

test.each([
  ['gateway', { 'main.ts': [QUEUES, ...READS_PAGES, ...FETCHES, ...SERVES] }],
  ['fetcher', { 'main.ts': ['bullmq/', ...READS_PAGES, ...FETCHES, ...SERVES], 'child.ts': [QUEUES, ...SERVES] }],
  ['permits', { 'main.ts': [QUEUES, ...READS_PAGES, ...FETCHES, 'yaml/', '@bull-board/'] }],
  ['proxy', { 'main.ts': [QUEUES, ...READS_PAGES, ...SERVES, '@peculiar/'] }],
  ['console', { 'main.ts': [...READS_PAGES, ...FETCHES] }],
] as const)('a %s loads nothing that it has no use for', async (role, unused) => {
  const loaded = await loadedBy([role], (line) => line.includes('"ready"'))
  expect([...loaded.keys()].sort()).toEqual(Object.keys(unused).sort())
  for (const [process, none] of Object.entries(unused)) {
    const modules = loaded.get(process) ?? []
    expect(modules).toContain('ioredis/built/index.js')
    expect(modules.filter((name) => [...EVERYWHERE, ...none].some((one) => name.startsWith(one)))).toEqual([])
  }
})

test('help loads the parser of commands, and no other library', async () => {
  const loaded = await loadedBy(['help'])
  const libraries = new Set(loaded.get('main.ts')?.map((name) => name.split('/')[0]))
  expect([...libraries]).toEqual(['commander'])
})

test('the metrics of a process are those that the client of Prometheus collects by default, but for how busy the event loop is', async () => {
  const [usual, ours] = [new Registry(), new Registry()]
  collectDefaultMetrics({ register: usual })
  processMetrics(ours, { version: '1', commit: 'unknown' }, () => 1)
  const about = (registry: Registry) =>
    registry
      .getMetricsAsArray()
      .map(({ name, help, type }) => ({ name, help, type: String(type) }))
      .filter(({ name }) => !/^decorum_|_eventloop_utilization_/.test(name))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
  expect(about(ours)).toEqual(about(usual))
  expect(await ours.metrics()).toMatch(/^process_cpu_seconds_total \d+(\.\d+)?$/m)
})

test('what guards an embedded Redis, as long as it runs, loads no library', async () => {
  const guardian = fileURLToPath(new URL('../../packages/cli/src/local-redis/redis-guardian.ts', import.meta.url))
  const loaded = await loadedBy([], undefined, guardian)
  expect(loaded.get('redis-guardian.ts')).toEqual([])
})

/** Modules of libraries by their path, `name/folder/file`, of each process; of ours, which all are beside them, none. */
async function loadedBy(
  args: string[],
  isReady?: (line: string) => boolean,
  program = MAIN,
): Promise<Map<string, string[]>> {
  const folder = await mkdtemp(join(tmpdir(), 'decorum-loaded-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const env = {
    ...process.env,
    NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(HOOK)}`,
    LOADED: folder,
    REDIS_URL: redis.url,
    DECORUM_AGENTS: JSON.stringify([{ name: 'bot', userAgent: 'bot/1.0 (+https://example.com/bot)' }]),
    PORT: '0',
    FETCH_PROCESSES: '1',
    LOG_LEVEL: 'info',
    DECORUM_BUNDLE: 'no',
  }
  if (isReady === undefined) {
    const child = spawn(process.execPath, [program, ...args], { env, stdio: ['ignore', 'ignore', 'inherit'] })
    await once(child, 'exit')
  } else {
    const child = spawn(process.execPath, [MAIN, ...args], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    const ended = new Promise((resolve) => child.once('exit', resolve))
    let wasReady = false
    for await (const line of createInterface({ input: child.stdout })) {
      if (!isReady(line)) continue
      wasReady = true
      child.kill('SIGTERM')
    }
    await ended
    expect(wasReady).toBe(true)
  }
  const loaded = new Map<string, string[]>()
  for (const name of await readdir(folder)) {
    const urls = (await readFile(join(folder, name), 'utf8')).split('\n')
    const modules = urls.filter((url) => url.includes('/node_modules/')).map((url) => url.split('/node_modules/').pop())
    loaded.set(basename(name.split(' ')[1] ?? ''), modules as string[])
  }
  return loaded
}
