/** The pages of docs/start/, each line as it stands there, in a fresh folder with `decorum` on the PATH. */
import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { cp, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Running, startDecorum } from '../cli/decorum.ts'
import { programOf } from '../support/programs.ts'

const ROOT = join(import.meta.dirname, '../..')
const START = join(ROOT, 'docs/start')
const pages = readdirSync(START)
const textOf = (page: string): string => readFileSync(join(START, page), 'utf8')
const blocks = new Map(
  pages.flatMap((page) =>
    [...textOf(page).matchAll(/^```\S+ test=(\S+)\n([\s\S]*?)^```$/gm)].map(([, name = '', code = '']) => [name, code]),
  ),
)
const block = (name: string): string => {
  const code = blocks.get(name)
  if (code === undefined) throw new Error(`there is no example '${name}'`)
  return code
}

const has = (...programs: string[]): boolean => programs.every((program) => programOf(program) !== undefined)
/** where the lines are typed, as whom, and the site that stands for example.com */
let [cwd, env, origin] = ['', {} as NodeJS.ProcessEnv, '']
let up: Running | undefined
const server = createServer(({ url }, response) => {
  response.writeHead(url === '/robots.txt' ? 404 : 200, { 'content-type': 'text/html' }).end('<a href="/next">next</a>')
})

beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'decorum-journeys-'))
  const home = join(cwd, 'home')
  // A clone as it is after the set-up. What is packed in it is no other test's business.
  for (const part of [
    'packages',
    'services',
    'scripts',
    'integrations',
    'package.json',
    'tsconfig.base.json',
    'LICENSE',
  ])
    await cp(join(ROOT, part), join(home, 'decorum', part), { recursive: true })
  await symlink(join(ROOT, 'node_modules'), join(home, 'decorum/node_modules'))
  env = {
    // What npm has told whoever started this test is nothing that a user has
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name))),
    HOME: home,
    XDG_DATA_HOME: join(home, 'data'),
    PATH: [join(ROOT, 'node_modules/.bin'), process.env.PATH].join(delimiter),
    DECORUM_ALLOW_ADDRESSES: '127.0.0.0/8',
    DEFAULT_DELAY_MS: '50',
    npm_config_audit: 'false',
    npm_config_fund: 'false',
  }
  delete env.REDIS_URL
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(async () => {
  up?.child.kill('SIGTERM')
  await up?.result
  server.closeAllConnections()
  server.close()
  await rm(cwd, { recursive: true, force: true, maxRetries: 5 })
})

type Typed = { code: number; stdout: string; stderr: string }
const local = (code: string): string => code.replaceAll(/https?:\/\/example\.com(?=[/'" ])/g, origin)
const type = (program: string, args: string[], more: NodeJS.ProcessEnv = {}): Promise<Typed> =>
  new Promise((resolve) => {
    execFile(program, args, { cwd, env: { ...env, ...more } }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }),
    )
  })
const shell = (name: string, more?: NodeJS.ProcessEnv): Promise<Typed> =>
  type('bash', ['-e', '-c', local(block(name)).replace(`${origin}/bot`, 'https://example.com/bot')], more)

test('there are six pages of at most 60 lines, and each example has its test', () => {
  expect(pages).toHaveLength(6)
  for (const page of pages) expect(textOf(page).split('\n').length - 1, page).toBeLessThanOrEqual(60)
  const here = readFileSync(import.meta.filename, 'utf8')
  for (const name of blocks.keys()) expect(here).toContain(`'${name}'`)
})

test('a list is crawled', async () => {
  const typed = await shell('start-list')
  expect(typed).toMatchObject({ code: 0 })
  expect(readFileSync(join(cwd, 'decorum-out/outcomes.ndjson'), 'utf8')).toContain('"kind":"fetched"')
  expect(existsSync(join(cwd, 'decorum-out/pages'))).toBe(true)
})

test.skipIf(!has('wget'))('a crawler goes through a proxy', async () => {
  const { code, stderr } = await shell('start-crawler')
  expect(stderr).toMatch(/decorum: \d+ requests?: \d+ sent/)
  expect(code).toBe(0)
})

test('the owner of a site reads a report', async () => {
  const line = '192.0.2.1 - - [27/Nov/2026:10:00:00 +0000] "GET /a HTTP/1.1" 200 5 "-" "examplebot/1.0"'
  await writeFile(join(cwd, 'access.log'), `${line}\n${line}\n`)
  await writeFile(join(cwd, 'robots.txt'), 'User-agent: *\nDisallow: /no\n')
  const { code, stdout, stderr } = await shell('start-owner')
  expect([1, 4]).toContain(code)
  expect(stderr).toContain('the report as a page: report.html')
  expect(stdout).toContain('examplebot')
  expect(existsSync(join(cwd, 'report.html'))).toBe(true)
})

describe('beside a fleet that runs', () => {
  let CONSOLE = ''
  beforeAll(async () => {
    const own = Object.fromEntries(
      Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined),
    )
    up = startDecorum(['up', '--json', '--port', '0'], { env: own, lasting: true })
    await up.hears(/"event":"up".*\n/)
    const [line = ''] = /^.*"event":"up".*$/m.exec(up.said()) ?? []
    CONSOLE = (JSON.parse(line) as { console: string }).console.replace(/\/$/, '')
  })

  test('a frontier in Node sends a URL and reads its outcome and links', async () => {
    const installed = await shell('start-node-install')
    expect(installed, installed.stderr).toMatchObject({ code: 0 })
    await writeFile(join(cwd, 'frontier.mjs'), local(block('start-node')).replace('20_000', '5_000'))
    const { stdout } = await type('node', ['frontier.mjs'])
    expect(stdout).toContain(`fetched ${origin}/ 200`)
  })

  test.skipIf(!has('python3'))('a frontier in Python sends a URL and reads its outcome', async () => {
    expect(await shell('start-python-install')).toMatchObject({ code: 0 })
    await writeFile(
      join(cwd, 'frontier.py'),
      local(block('start-python')).replace('frontier.read()', 'frontier.read(5_000)'),
    )
    const nameless = await type('python3', ['frontier.py'], { CONSOLE })
    expect(nameless.stderr).toMatch(/needs a login, or another one: it is 'decorum:' and the password \(LOGIN/)
    const run = block('start-python-run').replace('~/.local/share', '"$XDG_DATA_HOME"')
    const { stdout, stderr } = await type('bash', ['-e', '-c', run], { CONSOLE })
    expect(stdout, stderr).toContain(`fetched ${origin}/`)
    expect(stderr).toBe('')
  })

  test.skipIf(!has('python3'))(
    'a frontier in Python whose console does not answer says so, once, and goes on when it does',
    async () => {
      const busy = createServer((_, response) => {
        requests++
        response.writeHead(requests < 3 ? 503 : 200, { 'content-type': 'application/json' })
        response.end(requests < 3 ? '' : '{"count":1}')
      })
      let requests = 0
      await new Promise<void>((resolve) => busy.listen(0, '127.0.0.1', resolve))
      const url = `http://127.0.0.1:${(busy.address() as AddressInfo).port}`
      const lines = ['from decorum_frontier import Frontier', `print(Frontier("${url}").enqueue(["${origin}/"]))`]
      expect(await type('python3', ['-c', lines.join('\n')])).toEqual({
        code: 0,
        stdout: '1\n',
        stderr: `${url}: Service Unavailable; asking again every second until it answers\n`,
      })
      busy.close()
    },
  )

  test('a URL is sent from a shell, and its outcome printed', async () => {
    const [list = '', enqueue = '', outcomes = ''] = local(block('start-fleet-url')).trim().split('\n')
    expect(await type('bash', ['-e', '-c', `${list}\n${enqueue}`])).toMatchObject({ code: 0, stdout: '1 enqueued\n' })
    let printed = ''
    await expect
      .poll(async () => (printed += (await type('bash', ['-c', outcomes])).stdout), { timeout: 60_000, interval: 500 })
      .toContain(`"url":"${origin}/about"`)
  })

  test('whoever runs it sees how it is', async () => {
    const lines = block('start-fleet').trim().split('\n')
    expect(lines).toHaveLength(3)
    const [doctor, status, config] = await Promise.all(lines.map((line) => type('bash', ['-c', line])))
    expect(doctor?.stdout).toMatch(/^ok /m)
    expect(doctor?.stdout, 'no advice about the Redis that `up` has started').not.toContain('redis-cli')
    expect(status).toMatchObject({ code: 0 })
    const [title = ''] = status?.stdout.split('\n') ?? []
    expect(lines[1], 'the page has the words that are printed').toContain(`"${title}"`)
    expect(config).toMatchObject({ code: 0, stdout: expect.stringContaining('DECORUM_ALLOW_ADDRESSES') })
  })
})
