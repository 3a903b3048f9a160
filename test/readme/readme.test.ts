/** The examples of the README and of the docs pages that took some over, as they stand there, on a real Redis and a real site. */

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { loadAgents } from '@decorum/config'
import { candidatesOf, readCandidate } from '@decorum/protocol'
import { parseRobots } from '@decorum/robots'
import { afterAll, expect, test } from 'vitest'
import { folder, type Running, site, startDecorum } from '../cli/decorum.ts'
import { attribute, collector, type Told } from '../support/collector.ts'
import { programOf } from '../support/programs.ts'
import { redisForTest } from '../support/redis.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const START = join(ROOT, 'scripts/start.mjs')
/** Pages whose examples are run here. */
const PAGES = [
  'README.md',
  'docs/frontier.md',
  'docs/operating.md',
  'docs/http-api.md',
  'docs/site-owners.md',
  'docs/security.md',
]
const text = PAGES.map((page) => readFileSync(join(ROOT, page), 'utf8')).join('\n')

type Block = { language: string; name: string; code: string }
const blocks: Block[] = [...text.matchAll(/^```(\S+)(?: test=(\S+))?\n([\s\S]*?)^```$/gm)]
  .map(([, language = '', name = '', code = '']) => ({ language, name, code }))
  .filter(({ language }) => language !== 'mermaid')
const block = (name: string): string => {
  const found = blocks.find((one) => one.name === name)
  if (found === undefined) throw new Error(`there is no example '${name}' in ${PAGES.join(', ')}`)
  return found.code
}

type Typed = { env: Record<string, string>; args: string[] }
/** `A=1 decorum crawl urls.txt   # remark`, in the README `npm start --` → what it runs */
function typed(line: string): Typed {
  const words = (line.split(' #')[0] ?? '').trim().split(/\s+/)
  const [at, length] = words.includes('npm') ? [words.indexOf('npm'), 3] : [words.indexOf('decorum'), 1]
  const env = Object.fromEntries(words.slice(0, at).map((word) => word.split('=') as [string, string]))
  expect(words.slice(at, at + length).join(' ')).toMatch(/^(?:npm start --|decorum)$/)
  return { env, args: words.slice(at + length) }
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

const PASSWORD = 'correct-horse'
type Variables = Record<string, string>
let up: { running: Running; variables: Variables } | undefined
afterAll(() => end())
async function end(): Promise<void> {
  up?.running.child.kill('SIGTERM')
  await up?.running.result
  up = undefined
}
/**
 * A fleet for the examples, the same one as long as they ask for no settings.
 * @returns what the examples of the HTTP API read from the environment
 */
async function withFleet(more?: Variables): Promise<Variables> {
  if (up !== undefined && more === undefined) return up.variables
  await end()
  const env = { REDIS_URL: redis.url, CONSOLE_PASSWORD: PASSWORD, XDG_DATA_HOME: join(redis.dir, 'home'), ...more }
  const running = startDecorum(['up', '--json', '--port', '0'], { env, lasting: true })
  up = { running, variables: {} }
  await running.hears(/"event":"up".*\n/)
  const [line = ''] = /^.*"event":"up".*$/m.exec(running.said()) ?? []
  const said = JSON.parse(line) as { console: string; consoleUser: string }
  up.variables = { CONSOLE: said.console.replace(/\/$/, ''), LOGIN: `${said.consoleUser}:${PASSWORD}` }
  return up.variables
}

/** A module run from the project's root, as a reader would try it. */
const runModule = (code: string, env: Record<string, string> = {}): Promise<{ stdout: string; stderr: string }> =>
  run(process.execPath, ['--input-type=module', '-e', localized(code)], {
    cwd: ROOT,
    env: { ...process.env, REDIS_URL: redis.url, ...env },
  })

/** A module that does not end by itself prints this line. */
async function expectPrinted(code: string, line: string): Promise<void> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', localized(code)], {
    cwd: ROOT,
    env: { ...process.env, REDIS_URL: redis.url },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    for (let text = ''; !text.split('\n').includes(line);) text += String((await once(child.stdout, 'data'))[0])
  } finally {
    child.kill()
  }
}

test('the README is one screen: 90 lines, 550 words, 10 links', () => {
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8')
  expect(readme.split('\n').length - 1).toBeLessThanOrEqual(90)
  expect(readme.split(/\s+/).filter(Boolean).length).toBeLessThanOrEqual(550)
  expect(readme.match(/\]\(/g)?.length).toBeLessThanOrEqual(10)
})

test('no example stands there untested', () => {
  expect(blocks.length).toBeGreaterThan(6)
  expect(blocks.filter(({ name }) => name === '')).toEqual([])
  const here = readFileSync(new URL(import.meta.url), 'utf8')
  for (const { name } of blocks) expect(here).toContain(`'${name}'`)
})

test('the two commands exist: the demo is run whole by test/journey/demo.test.ts, npm test is this', () => {
  const [demo, tests] = block('start').trim().split('\n')
  expect(typed(demo ?? '').args).toEqual(['demo'])
  expect(tests).toMatch(/^npm test\s+#/)
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  expect(Object.keys(scripts)).toEqual(expect.arrayContaining(['start', 'test', 'check', 'bench', 'storm']))
})

test('a crawl of urls.txt leaves its outcomes in decorum-out/', async () => {
  const { origin } = await site()
  const dir = await folder()
  await writeFile(join(dir, 'urls.txt'), `${origin}/\n`)
  const [crawl] = linesOf('crawl')
  const running = startDecorum(crawl?.args ?? [], { program: START, cwd: dir })
  expect(await running.result).toMatchObject({ code: 0, stdout: expect.stringContaining('Done: 1 URL,') })
  expect(existsSync(join(dir, 'decorum-out/outcomes.ndjson'))).toBe(true)
})

test.skipIf(programOf('wget') === undefined)(
  'wget goes through a guard of its own, and the site is judged polite',
  async () => {
    const { origin } = await site()
    const [guarded] = linesOf('guard')
    const args = guarded?.args.map((word) => (word.startsWith('http') ? `${origin}/` : word)) ?? []
    expect(args.slice(0, 3)).toEqual(['guard', '--', 'wget'])
    const running = startDecorum(args, { program: START, cwd: await folder(), env: { REDIS_URL: redis.url } })
    const { code, stderr } = await running.result
    expect(stderr).toMatch(/decorum: \d+ requests?: /)
    expect(code).toBe(0)
  },
)

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
  const { stdout } = await runModule(block('node'))
  expect(stdout.trim().split('\n').sort()).toEqual(['about fetched', 'home fetched'])
  // A group that is new may also be given what another group acknowledged less than a second ago.
  await expectPrinted(block('client'), 'home fetched')
  expect((await runModule(block('several'))).stdout.trim()).toBe('news fetched')
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
    code: 1, // forbidden
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

/** `curl -u LOGIN -X METHOD URL -H 'name: value' -d 'body'` → the request; no other option is used in the examples. */
function curl(line: string, variables: Record<string, string>): Promise<Response> {
  const words = [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(([, single, double, bare]) =>
    (single ?? double ?? bare ?? '').replaceAll(/\$([A-Z]+)/g, (_, name: string) => variables[name] ?? ''),
  )
  expect(words.shift()).toBe('curl')
  const headers: Record<string, string> = {}
  const request: RequestInit = { headers }
  let url = ''
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    if (!word.startsWith('-')) url = word
    else if (word === '-u') headers.authorization = `Basic ${btoa(words.shift() ?? '')}`
    else if (word === '-X') request.method = words.shift() ?? ''
    else if (word === '-H') {
      const [name = '', value = ''] = (words.shift() ?? '').split(': ')
      headers[name] = value
    } else if (word === '-d') {
      request.method ??= 'POST'
      request.body = words.shift() ?? ''
    } else throw new Error(`an option that this test does not know: ${word}`)
  }
  return fetch(url, request)
}

test('over HTTP: candidates in, a verdict, outcomes out, an origin paused, and that written down', async () => {
  ;({ origin } = await site())
  const variables = await withFleet()
  const escaped = (line: string): string =>
    localized(line).replaceAll(encodeURIComponent('https://example.com'), encodeURIComponent(origin))
  const [add, check, outcomes, pause, operations] = block('http').trim().split('\n').map(escaped)
  if (!add || !check || !outcomes || !pause || !operations) throw new Error('five lines are expected')
  expect(await (await curl(add, variables)).json()).toMatchObject({ count: 1 })
  await expect.poll(async () => (await curl(outcomes, variables)).text()).toContain('/from-http')
  expect(await (await curl(check, variables)).json()).toMatchObject({ verdict: 'allowed' })
  const paused = await curl(pause, variables)
  expect([paused.status, await paused.json()]).toMatchObject([200, { origin }])
  expect(await (await curl(operations, variables)).json()).toMatchObject({
    operations: [{ action: 'pause', origin, reason: 'asked by mail' }],
  })
  // A pause holds for every port of its host, and the sites of other tests are at the same one.
  const resumed = await curl(pause.replace('"pause","forMs":3600000', '"resume"'), variables)
  expect(await resumed.json()).toMatchObject({ origin })
})

test('the page for owners of sites is answered without a login', async () => {
  const { CONSOLE = '' } = await withFleet()
  const answer = await curl(block('site-owners').trim(), { CONSOLE })
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  expect(await answer.text()).toContain('How to slow or stop it')
})

test('what owners of sites are told to write does what it is said to do', () => {
  const agent = 'Mozilla/5.0 (compatible; example-web/1.0; +https://example.com/bot)'
  expect(parseRobots(block('robots-slow')).crawlDelay(agent)).toBe(10)
  const part = parseRobots(block('robots-part'))
  expect(['/calendar/2026', '/'].map((path) => part.isAllowed(`https://site.example${path}`, agent))).toEqual([
    false,
    true,
  ])
  expect(parseRobots(block('robots-stop')).isAllowed('https://site.example/', agent)).toBe(false)
})

test('one trace follows a URL from the frontier through gateway and fetcher to its outcome', async () => {
  ;({ origin } = await site())
  const { url, spans } = await collector()
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: url }
  await withFleet(env)
  await runModule(block('traced'), env)
  const isPage = (span: Told): boolean =>
    span.name === 'decorum.fetch' && attribute(span.attributes, 'decorum.kind') === 'page'
  await expect.poll(() => spans.some(isPage)).toBe(true)
  await expect
    .poll(() => spans.map(({ name }) => name).sort())
    .toEqual([
      ...['decorum.enqueue', 'decorum.fetch', 'decorum.fetch', 'decorum.order', 'decorum.order', 'decorum.store'],
    ])
  const [first] = spans.filter(({ name }) => name === 'decorum.enqueue')
  expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([first?.traceId]))
  for (const span of spans) if (span !== first) expect(span.parentSpanId).toBe(first?.spanId)
  const services = spans.filter((span) => span !== first).map(({ name, service }) => `${service} ${name}`)
  expect(new Set(services)).toEqual(
    new Set(['decorum-gateway decorum.store', 'decorum-gateway decorum.order', 'decorum-fetcher decorum.fetch']),
  )
  const page = spans.find(isPage)
  expect(attribute(page?.attributes ?? [], 'http.response.status_code')).toBe(200)
  expect(attribute(page?.attributes ?? [], 'decorum.outcome')).toBe('fetched')
})
