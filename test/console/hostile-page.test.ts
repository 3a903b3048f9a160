/** A real browser opens a page of another origin that tries everything a page can try against a console. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CANDIDATES } from '@decorum/protocol'
import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { type BrowserForTest, browserForTest, chromiumPath } from './browser-for-test.ts'
import { type FleetForTest, fleetForTest } from './fleet-for-test.ts'

const PASSWORD = 'correct horse'
const SPELLINGS = 3

/** What of the page must have reached the console's server, by the name of its group; else the test would prove nothing. */
// oxfmt-ignore
const KINDS = [
  'fetch-cors-plain', 'fetch-cors-stream', 'fetch-no-cors-plain', 'fetch-no-cors-stream', 'fetch-no-cors-header',
  'img', 'script', 'iframe', 'embed', 'object', 'video', 'stylesheet', 'eventsource', 'websocket', 'navigation',
  'form-get', 'form-text', 'form-post', 'beacon', 'post-cors', 'post-no-cors',
]

describe.skipIf(chromiumPath === undefined)('a hostile page in chromium', async () => {
  const redis = await redisForTest()
  const raw = new Redis(redis.url)
  let open: FleetForTest // without a password
  let guarded: FleetForTest // with one that the browser gives to whoever asks for it
  let chrome: BrowserForTest
  const script = readFileSync(new URL('./hostile-page.js', import.meta.url))
  const hostile = createServer(({ url }, answer) => {
    const isScript = url === '/script.js'
    answer.setHeader('content-type', isScript ? 'text/javascript' : 'text/html')
    answer.end(isScript ? script : '<!doctype html><title>hello</title><body><script src="/script.js"></script>')
  })
  const answered: { port: number | undefined; method: string; url: string; status: number }[] = []
  const hear = (message: unknown): void => {
    const { request, response } = message as { request: IncomingMessage; response: ServerResponse }
    const { method = '', url = '' } = request
    answered.push({ port: request.socket.localPort, method, url, status: response.statusCode })
  }

  beforeAll(async () => {
    open = await fleetForTest(redis.url)
    guarded = await fleetForTest(redis.url, { CONSOLE_PASSWORD: PASSWORD })
    await once(hostile.listen(0, '127.0.0.1'), 'listening')
    chrome = await browserForTest(portOf(open), { names: true, login: { username: 'decorum', password: PASSWORD } })
    await open.outcomes(['secret-1', 'secret-2'])
    subscribe('http.server.response.finish', hear)
  })
  afterAll(async () => {
    unsubscribe('http.server.response.finish', hear)
    await chrome.close()
    hostile.close()
    raw.disconnect()
    await open.close()
    await guarded.close()
  })

  const portOf = ({ base }: FleetForTest): number => Number(new URL(base).port)

  /** What a page could have changed: groups, outcomes unread, candidates, what operators did. */
  async function state(): Promise<object> {
    const queue = new Queue(CANDIDATES, { connection: { url: redis.url }, prefix: '{decorum:0}' })
    const jobs = await queue.getJobCounts()
    await queue.close()
    const groups = await raw.xinfo('GROUPS', '{decorum:0}:outcomes')
    return { jobs, groups, outcomes: await raw.xlen('{decorum:0}:outcomes'), done: await open.ledger.operations(0, 10) }
  }

  async function hostilePage(host: string): Promise<Page> {
    const page = await chrome.browser.newPage()
    await page.goto(`http://${host}:${(hostile.address() as AddressInfo).port}/`)
    return page
  }

  async function signIn(at: string): Promise<void> {
    const page = await chrome.browser.newPage()
    await page.goto(`${at}/login`)
    await page.getByLabel('User').fill('decorum')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    await page.close()
  }

  const consoles: [where: string, evil: string, name: string, which: () => FleetForTest][] = [
    ['a loopback address', 'evil.test', '127.0.0.1', () => open],
    ['localhost, from a neighbouring port', 'localhost', 'localhost', () => open],
    ['a plain name, with the password of its visitor', 'evil.test', 'console.test', () => guarded],
    ['a neighbouring port, where its visitor is signed in', 'console.test', 'console.test', () => guarded],
    ['a name of its own that was bent to loopback', 'bent.test', 'bent.test', () => open],
  ]

  test.each(consoles)('takes, adds and stops nothing: the console at %s', async (_, evil, name, which) => {
    const port = portOf(which())
    const at = `http://${name}:${port}`
    if (which() === guarded) await signIn(at)
    const before = await state()
    answered.length = 0
    const page = await hostilePage(evil)
    const read = await page.evaluate<string[]>(`tryEverything(${JSON.stringify(at)})`)
    for (const path of ['/v1/outcomes', '/v1/%6futcomes', '/%76%31/outcome%73']) {
      await page.evaluate(`open(${JSON.stringify(`${at}${path}?group=taken-navigation&follow=false`)}) && 1`)
    }
    const here = () => answered.filter((one) => one.port === port && one.url.includes('taken-'))
    const missing = () => KINDS.filter((kind) => !here().some(({ url }) => url.includes(`taken-${kind}`)))
    await expect.poll(missing).toEqual([])
    await expect.poll(() => here().length).toBeGreaterThan((KINDS.length - 7) * SPELLINGS)
    expect(here().filter(({ status }) => status !== 403 && status !== 401)).toEqual([])
    expect(read, 'no answer came into the hands of the page').toEqual([])
    expect(await state()).toEqual(before)
    await Promise.all(chrome.browser.pages().map((one) => one.close()))
  })

  test('a page of the console’s own origin reads what it asks for', async () => {
    const page = await chrome.browser.newPage()
    await page.goto('/')
    const ids = await page.evaluate<string[]>(`new Promise((resolve) => {
      const told = []
      const stream = new EventSource('/v1/outcomes?group=own')
      stream.addEventListener('outcome', (event) => {
        told.push(JSON.parse(event.data).id)
        if (told.length === 2) resolve(told)
      })
    })`)
    expect(ids).toEqual(['secret-1', 'secret-2'])
    await page.close()
  })
})
