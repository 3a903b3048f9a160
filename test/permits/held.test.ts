/** An exchange that takes longer than its lease, in each adapter: extended, or ended by closing its connection. */
import { execFile, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Configuration, HttpCrawler, log, RequestQueue } from '@crawlee/http'
import { Agent, request } from 'undici'
import { expect, onTestFinished, test } from 'vitest'
// @ts-expect-error plain JavaScript, to be copied as it is
import { decorum as crawleeOptions } from '../../integrations/crawlee/decorum.js'
// @ts-expect-error plain JavaScript, to be copied as it is
import { decorum } from '../../integrations/undici/decorum.js'
import { answerOf, rawOrigin } from '../fetcher/support/raw-origin.ts'

log.setLevel(log.LEVELS.OFF)
const LEASE_MS = 1_500
/** Where it is extended in time: a process on a busy machine may be kept from running for longer than a short lease. */
const LONG_LEASE_MS = 6_000
const folder = (name: string): string => fileURLToPath(new URL(`../../integrations/${name}`, import.meta.url))
const has = (python: string, module: string): boolean => spawnSync(python, ['-c', `import ${module}`]).status === 0

type Extending = 'granted' | 'refused' | 'stopped' | 'unanswered'

/** A permits service that grants at once, and answers extensions like this. */
async function service(extending: Extending) {
  const leaseMs = extending === 'granted' ? LONG_LEASE_MS : LEASE_MS
  const said: unknown[] = []
  let extended = 0
  let onExtended = (): void => {}
  const server = createServer()
  server.on('request', (asked, answer) => void handle(asked, answer))
  const handle = async (asked: IncomingMessage, answer: ServerResponse): Promise<void> => {
    let text = ''
    for await (const part of asked) text += part
    const body = text === '' ? {} : JSON.parse(text)
    const reply = (status: number, value: object): void => {
      answer.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    }
    if (asked.url === '/v1/permits')
      return reply(201, { permit: 'p', index: 0, userAgent: 'journeybot/1', sendWithinMs: 1_000, leaseMs })
    if (asked.method === 'POST') said.push(body)
    if (asked.method !== 'PATCH') return reply(200, {})
    if (extending === 'refused') return reply(410, { type: 'gone' })
    if (extending === 'stopped') return reply(200, { leaseMs, stop: 'stopped' })
    if (extending === 'unanswered') return
    extended++
    reply(200, { leaseMs })
    onExtended()
  }
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  /** so many extensions were answered from now on */
  const extensions = (count: number): Promise<void> => {
    const most = extended + count
    return new Promise((resolve) => {
      onExtended = () => extended >= most && resolve()
    })
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, said, extensions }
}

const closing = (socket: Socket): Promise<unknown> => new Promise((resolve) => socket.once('close', resolve))

/** What a site has sent of its answer when it falls silent for ever. */
const SENT = {
  'before its head': '',
  'within its body': 'HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 100\r\n\r\nsome',
  'within a body that ends with the connection': 'HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\nsome',
}

const PYTHON = `
import sys, urllib.request
from decorum_permits import Lost, Permits
try:
    with Permits(sys.argv[1]).permit(sys.argv[2]) as held, urllib.request.urlopen(sys.argv[2]) as answer:
        text = answer.read()
        held.done(answer.status, answer.headers)
    print("read", len(text))
except Lost as error:
    print("lost", error)
`
const run = async (python: string, args: string[], cwd: string): Promise<string> =>
  (await promisify(execFile)(python, args, { cwd, timeout: 120_000 })).stdout.trim()

/** Each fetches a URL. @returns a line that begins with `read`, or with `lost` */
const ADAPTERS: Record<string, (permits: string, url: string) => Promise<string>> = {
  undici: async (permits, url) => {
    const dispatcher = new Agent().compose(decorum({ url: permits }))
    try {
      const { body } = await request(url, { dispatcher })
      return `read ${(await body.arrayBuffer()).byteLength}`
    } catch (error) {
      return (error as { code?: string }).code === 'ERR_DECORUM_LOST' ? 'lost' : String(error)
    }
  },
  Crawlee: async (permits, url) => {
    const config = new Configuration({ persistStorage: false })
    let became = 'nothing'
    const crawler = new HttpCrawler(
      {
        ...(await crawleeOptions({ url: permits, queue: await RequestQueue.open(null, { config }) })),
        maxRequestRetries: 0,
        requestHandler: ({ body }) => {
          became = `read ${body.length}`
        },
        failedRequestHandler: ({ request: { errorMessages } }) => {
          became = `lost ${errorMessages.join()}`
        },
      },
      config,
    )
    await crawler.run([url])
    return became
  },
}
if (has('python3', 'sys'))
  ADAPTERS.Python = (permits, url) => run('python3', ['-c', PYTHON, permits, url], folder('python'))
else process.stdout.write('skipped: python3 is not installed here\n')

const cases = Object.keys(ADAPTERS).flatMap((adapter) =>
  (['refused', 'stopped', 'unanswered'] as const).flatMap((extending) =>
    (Object.keys(SENT) as (keyof typeof SENT)[]).map((silent) => ({ adapter, extending, silent })),
  ),
)
test.concurrent.for(cases)(
  '$adapter: extensions $extending, and the site falls silent $silent: the connection is closed',
  async ({ adapter, extending, silent }, { expect }) => {
    const { url } = await service(extending)
    const closed: Promise<unknown>[] = []
    const site = await rawOrigin((socket: Socket) => {
      closed.push(closing(socket))
      socket.write(SENT[silent])
    })
    expect(await ADAPTERS[adapter]?.(url, `${site.origin}/long`)).toMatch(/^lost/)
    expect(closed).toHaveLength(1)
    await closed[0]
  },
)

test.concurrent.for(Object.keys(ADAPTERS))(
  '%s: an exchange of several leases is extended, and read to its end',
  async (adapter, { expect }) => {
    const { url, said, extensions } = await service('granted')
    const site = await rawOrigin((socket: Socket) => {
      void extensions(4).then(() => socket.write(answerOf(200, { 'content-type': 'text/html' }, 'a page')))
    })
    expect(await ADAPTERS[adapter]?.(url, `${site.origin}/long`)).toBe('read 6')
    await expect.poll(() => said).toEqual([expect.objectContaining({ status: 200 })])
  },
)

test('Crawlee: the pool begins as that of a bare HttpCrawler does', async () => {
  const config = new Configuration({ persistStorage: false })
  const bare = poolOf(new HttpCrawler({ requestHandler: () => {} }, config))
  const options = await crawleeOptions({ url: 'http://127.0.0.1:9', queue: await RequestQueue.open(null, { config }) })
  const { maybeRunIntervalSecs, ...permitted } = poolOf(
    new HttpCrawler({ ...options, requestHandler: () => {} }, config),
  )
  expect(maybeRunIntervalSecs).toBe(0.05)
  expect(permitted).toEqual(bare)
  expect(bare.desiredConcurrency).toBe(10)
})

/** What a crawler opens its pool with, without the functions that are its own. */
function poolOf(crawler: object): Record<string, unknown> {
  const { autoscaledPoolOptions } = crawler as unknown as { autoscaledPoolOptions: Record<string, unknown> }
  return Object.fromEntries(
    Object.entries(autoscaledPoolOptions).filter(([name, value]) => name !== 'log' && typeof value !== 'function'),
  )
}

/** Debian's Scrapy belongs to Debian's python3, whichever comes first in PATH. */
const SYSTEM_PYTHON = '/usr/bin/python3'
const hasScrapy = has(SYSTEM_PYTHON, 'scrapy')
if (!hasScrapy) process.stdout.write('skipped: Scrapy is not installed here\n')
test.skipIf(!hasScrapy).for(Object.keys(SENT) as (keyof typeof SENT)[])(
  'Scrapy: the site falls silent %s: the connection is closed by the end of the lease, at each try',
  async (silent) => {
    const { url, said } = await service('refused')
    const closed: Promise<unknown>[] = []
    const site = await rawOrigin((socket: Socket) => {
      closed.push(closing(socket))
      socket.write(SENT[silent])
    })
    const args = [`${folder('scrapy')}/example.py`, url, '-', `${site.origin}/long`]
    expect(await run(SYSTEM_PYTHON, args, folder('scrapy'))).toBe('')
    expect(closed).toHaveLength(3)
    await Promise.all(closed)
    expect(said).toEqual(Array(3).fill({ error: 'no response' }))
  },
)
