/** What is typed wrong, set wrong, or not there: one readable sentence and the right exit code. */

import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startRedis } from '../support/redis.ts'
import { decorum, folder, startDecorum } from './decorum.ts'
import { decorumHere } from './decorum-here.ts'

test.for([
  ['no command', [], 2, 'Usage: decorum'],
  ['an unknown command', ['craw'], 2, "unknown command 'craw'"],
  ['an unknown option', ['crawl', 'x', '--fast'], 2, "unknown option '--fast'"],
  ['a count that is none', ['crawl', 'x', '--gateways', 'two'], 2, 'A whole number from 0 to 64 is needed'],
  ['no file', ['crawl'], 2, 'which URLs? name a file, or - for standard input'],
  ['a file that is not there', ['crawl', 'nowhere.txt'], 2, 'nowhere.txt cannot be read: there is no such file'],
  ['a folder as a file', ['crawl', '/'], 2, '/ cannot be read: it is a folder, and a file is needed'],
  [
    'an agent that nobody is',
    ['crawl', '-', '--agent', 'me'],
    2,
    "no agent is called 'me'; DECORUM_AGENTS has decorum",
  ],
  ['a delay that is none', ['audit', 'x', '--delay-ms', 'soon'], 2, 'A whole number from 0 is needed'],
  ['a profile that is none', ['audit', 'x', '--profile', 'bing'], 2, 'Allowed choices are decorum'],
  ['no fleet and no Redis', ['crawl', '-', '--fetchers', '0'], 2, '--fetchers 0 need REDIS_URL'],
  ['an origin that is none', ['origin', 'example'], 2, "'example' cannot be requested: not-a-url"],
  ['--help', ['--help'], 0, 'Exit codes: 0 done'],
  ['--version', ['--version'], 0, '0.2.0'],
] as const)('%s', async ([, args, code, sentence]) => {
  const cwd = await folder()
  // What is asked of the program itself, and one mistake, by the real one.
  const run = code === 0 || args.length === 0 ? decorum : decorumHere
  const result = await run([...args], { cwd, input: '', env: { XDG_DATA_HOME: cwd } })
  expect(result.stdout + result.stderr).toContain(sentence)
  expect(result.code).toBe(code)
  expect(result.stderr).not.toMatch(/^ {4}at /m) // no stack
})

test.for([
  [{ REDIS_URL: 'http://x' }, 'REDIS_URL: a Redis address such as redis://127.0.0.1:6379 is needed'],
  [{ DEFAULT_DELAY_MS: 'soon' }, 'DEFAULT_DELAY_MS'],
  [{ LEASE_MS: '1000' }, 'FETCH_DEADLINE_MS: a fetch must end inside its lease'],
  [{ DECORUM_AGENTS: '[{"name":"x","userAgent":"x"}]' }, 'a User-Agent names a contact'],
  [{ DECORUM_CONTACT: 'me' }, 'DECORUM_CONTACT: a URL (https://…) or an e-mail address is needed'],
] as const)('a wrong setting stops the start: %o', async ([env, sentence]) => {
  const result = await decorumHere(['crawl', '-'], { cwd: await folder(), env: { ...env } })
  expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining(sentence) })
  expect(result.stderr).not.toMatch(/^ {4}at /m)
})

test('a command that acts on the fleet reads REDIS_URL alone: no other wrong setting keeps it from acting', async () => {
  const env = { REDIS_URL: 'http://x', DEFAULT_DELAY_MS: 'soon' }
  const { code, stderr } = await decorumHere(['crawls', 'pause', 'news'], { cwd: await folder(), env })
  expect([code, stderr]).toEqual([2, expect.stringMatching(/^decorum: REDIS_URL: a Redis address such as /)])
  expect(stderr).not.toContain('DEFAULT_DELAY_MS')
})

test('a Redis that does not answer at the start is one sentence', async () => {
  const gone = await startRedis()
  await gone.stop()
  const env = { REDIS_URL: gone.url }
  const commands = [
    ['up'],
    ['crawl', '-'],
    ['gateway'],
    ['fetcher'],
    ['console'],
    ['permits'],
    ['proxy'],
    ['enqueue', '-'],
    ['outcomes'],
    ['origin', 'http://a.example'],
  ]
  const cwd = await folder()
  const results = await Promise.all(commands.map((args) => decorum(args, { cwd, env })))
  for (const [n, { code, stderr }] of results.entries()) {
    expect([commands[n]?.[0], code, stderr.trim().split('\n').length]).toEqual([commands[n]?.[0], 1, 1])
    expect(stderr).toMatch(/Redis|ledger/)
  }
})

test('a Redis that says nothing: a role that is asked to stop does not wait for it, and the others say which Redis it is', async () => {
  const silent = createTcpServer().listen(0, '127.0.0.1')
  onTestFinished(() => void silent.close())
  await once(silent, 'listening')
  const place = `127.0.0.1:${(silent.address() as AddressInfo).port}`
  const start = async () => {
    const connected = once(silent, 'connection')
    const role = startDecorum(['gateway'], { env: { REDIS_URL: `redis://${place}` } })
    const [socket] = (await connected) as [Socket]
    onTestFinished(() => void socket.destroy())
    return role
  }
  const waits = await start()
  const stopped = await start()
  stopped.child.kill('SIGTERM')
  const first = await Promise.race([waits.result.then(() => 'the one that waits'), stopped.result])
  expect(first).toMatchObject({ code: 0, stderr: '' })
  expect(await waits.result).toMatchObject({ code: 1, stderr: expect.stringContaining(`no answer from ${place}`) })
})

test.for([
  ['demo', ['demo']],
  ['permits conform', ['permits', 'conform', '--', 'true']],
] as const)('%s where TMPDIR is no folder: one sentence that names it', async ([, args]) => {
  const { code, stderr } = await decorum([...args], { cwd: await folder(), env: { TMPDIR: '/nowhere/to-be-found' } })
  expect([code, stderr.trim().split('\n').length]).toEqual([1, 1])
  expect(stderr).toMatch(
    /^decorum: (demo|conform): no temporary folder can be made in \/nowhere\/to-be-found \(TMPDIR\): ENOENT/,
  )
})

test('nothing is running: enqueue says how to start something', async () => {
  const result = await decorumHere(['enqueue', '-'], { env: { XDG_DATA_HOME: await folder() } })
  expect(result).toMatchObject({ code: 1, stderr: expect.stringContaining("start one with 'decorum up'") })
})

test('a port in use is reported before anything is started', async () => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const { port } = taken.address() as AddressInfo
  const result = await decorum(['up', '--port', String(port), '--data', await folder()])
  expect(result).toMatchObject({ code: 1, stderr: expect.stringContaining(`port ${port} is in use`) })
  taken.close()
})

test('a password that is too short is named before anything is started', async () => {
  const data = join(await folder(), 'data')
  const result = await decorum(['up', '--port', '0', '--data', data], { env: { CONSOLE_PASSWORD: 'short' } })
  expect(result).toMatchObject({ code: 2, stderr: expect.stringMatching(/CONSOLE_PASSWORD: at least 8 characters/) })
  expect(existsSync(join(data, 'redis'))).toBe(false)
})
