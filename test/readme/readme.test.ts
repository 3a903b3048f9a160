/** The README's examples, as they stand there, on a real Redis and a real site. */

import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { buildProgram } from '@decorum/cli'
import { loadAgents } from '@decorum/config'
import { candidatesOf, readCandidate } from '@decorum/protocol'
import { expect, test } from 'vitest'
import { folder, type Running, site, startDecorum } from '../cli/decorum.ts'
import { redisForTest } from '../support/redis.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const START = join(ROOT, 'scripts/start.mjs')
const text = readFileSync(join(ROOT, 'README.md'), 'utf8')

type Block = { language: string; name: string; code: string }
const blocks: Block[] = [...text.matchAll(/^```(\S+)(?: test=(\S+))?\n([\s\S]*?)^```$/gm)].map(
  ([, language, name, code]) => ({
    language: language ?? '',
    name: name ?? '',
    code: code ?? '',
  }),
)
const block = (name: string): string => {
  const found = blocks.find((one) => one.name === name)
  if (found === undefined) throw new Error(`the README has no example '${name}'`)
  return found.code
}

type Typed = { env: Record<string, string>; args: string[] }
/** `A=1 npm start -- crawl urls.txt   # remark` → what it runs */
function typed(line: string): Typed {
  const words = (line.split(' #')[0] ?? '').trim().split(/\s+/)
  const at = words.indexOf('npm')
  const env = Object.fromEntries(words.slice(0, at).map((word) => word.split('=') as [string, string]))
  expect(words.slice(at, at + 3)).toEqual(['npm', 'start', '--'])
  return { env, args: words.slice(at + 3) }
}
const linesOf = (name: string): Typed[] =>
  block(name)
    .trim()
    .split('\n')
    .map((line) => typed(line))

const redis = await redisForTest({ appendonly: true })
const run = promisify(execFile)
/** What the examples are told: the README's public addresses become these. */
let origin = ''
const localized = (code: string): string => code.replaceAll('https://example.com', origin)

const type = ({ args, env }: Typed, cwd: string): Running =>
  startDecorum(args, { program: START, cwd, env: { REDIS_URL: redis.url, ...env, npm_lifecycle_event: '' } })

async function withFleet(): Promise<void> {
  const running = startDecorum(['up', '--json', '--port', '0'], { env: { REDIS_URL: redis.url } })
  await running.hears('"event":"up"')
}

/** A module run from the project's root, as a reader would try it. */
const runModule = (code: string): Promise<{ stdout: string; stderr: string }> =>
  run(process.execPath, ['--input-type=module', '-e', localized(code)], {
    cwd: ROOT,
    env: { ...process.env, REDIS_URL: redis.url },
    timeout: 60_000,
  })

test('no example stands there untested', () => {
  expect(blocks.length).toBeGreaterThan(6)
  expect(blocks.filter(({ name }) => name === '')).toEqual([])
  const here = readFileSync(new URL(import.meta.url), 'utf8')
  for (const { name } of blocks) expect(here).toContain(`'${name}'`)
})

test('every command that is named exists, and every file that is linked', () => {
  const known = buildProgram(() => undefined).commands.map((command) => command.name())
  const named = [...text.matchAll(/npm start -- ([a-z]+)/g)].map(([, name]) => name)
  expect(named.length).toBeGreaterThan(8)
  expect(named.filter((name) => !known.includes(name ?? ''))).toEqual([])
  const links = [...text.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, link]) => link ?? '') // a place in a file, too
  expect(links.filter((link) => !existsSync(join(ROOT, link)))).toEqual([])
})

test('the two commands: a crawl of urls.txt leaves its outcomes in decorum-out/', async () => {
  const { origin } = await site()
  const dir = await folder()
  await writeFile(join(dir, 'urls.txt'), `${origin}/\n`)
  const [demo, crawl] = linesOf('start')
  expect(demo?.args).toEqual(['demo']) // run whole by test/journey/demo.test.ts
  const running = startDecorum(crawl?.args ?? [], { program: START, cwd: dir })
  expect(await running.result).toMatchObject({ code: 0, stdout: expect.stringContaining('Done: 1 URLs') })
  expect(existsSync(join(dir, 'decorum-out/outcomes.ndjson'))).toBe(true)
})

test('the agents file is one', () => {
  const { default: agent } = loadAgents({ agents: block('agents'), defaultDelayMs: 1_000, maxDelayMs: 10_000 })
  expect(agent).toMatchObject({ name: 'example-web', profile: 'decorum', hasContact: true })
})

test("the job's data is read without a complaint", () => {
  const members = candidatesOf(JSON.parse(block('job')))
  expect(members).toHaveLength(2)
  for (const member of members as unknown[]) expect(readCandidate(member)).toMatchObject({ ok: true })
})

test('a frontier in Node: client and plain producer', async () => {
  ;({ origin } = await site())
  await withFleet()
  const { stdout } = await runModule(block('client'))
  expect(stdout.trim().split('\n').sort()).toEqual(['about fetched', 'home fetched'])
  await runModule(block('producer'))
  const dir = await folder()
  const seen = startDecorum(['outcomes', '--follow'], { env: { REDIS_URL: redis.url }, cwd: dir })
  await seen.hears('"id":"contact"')
})

test('a frontier in a shell', async () => {
  ;({ origin } = await site())
  await withFleet()
  const dir = await folder()
  await writeFile(join(dir, 'urls.txt'), `${origin}/from-a-shell\n`)
  await writeFile(join(dir, 'robots.txt'), 'User-agent: *\nDisallow: /private\n')
  const [enqueue, outcomes, about, check] = block('shell')
    .trim()
    .split('\n')
    .map((line) => typed(localized(line)))
  if (!enqueue || !outcomes || !about || !check) throw new Error('four lines are expected')
  expect(await type(enqueue, dir).result).toMatchObject({ code: 0, stdout: '1 enqueued\n' })
  const following = type(outcomes, dir)
  await following.hears('/from-a-shell')
  following.child.kill('SIGINT')
  expect((await following.result).code).toBe(0)
  expect(await type(about, dir).result).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('robots     answered 404'),
  })
  expect(await type(check, dir).result).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/disallow: ?\/private/i),
  })
})

test('more processes: each role starts by itself and drains at SIGTERM', async () => {
  const roles = linesOf('roles')
  expect(roles.map(({ args }) => args[0])).toEqual(['gateway', 'fetcher', 'console'])
  for (const { args, env } of roles) {
    expect(Object.keys(env)).toEqual(['REDIS_URL'])
    const running = type({ args, env: { REDIS_URL: redis.url } }, await folder())
    await running.hears('"msg":"ready"')
    running.child.kill('SIGTERM')
    expect([args[0], (await running.result).code]).toEqual([args[0], 0])
  }
})
