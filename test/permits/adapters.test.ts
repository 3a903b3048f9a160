/** Crawlers of others with one line added, before recording sites. What is not installed is skipped, and says so. */
import { execFile, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Configuration, HttpCrawler, RequestQueue } from '@crawlee/http'
import { Agent, fetch as fetchOfUndici, interceptors, request } from 'undici'
import { expect, test } from 'vitest'
// @ts-expect-error plain JavaScript, to be copied as it is
import { decorum as crawleeOptions } from '../../integrations/crawlee/decorum.js'
// @ts-expect-error plain JavaScript, to be copied as it is
import { decorum } from '../../integrations/undici/decorum.js'
import { sharedPermitFleet } from './fleet.ts'

// On a busy machine much of this takes longer than a lease of seconds, and nobody dies here.
const fleet = sharedPermitFleet({ env: { LEASE_MS: '90000', FETCH_DEADLINE_MS: '10000' } })

const exec = promisify(execFile)
/** On a busy machine a turn may come late; only what hangs is ended. */
const run = (program: string, args: string[]) =>
  exec(program, args, { timeout: 290_000, env: { ...process.env, PATIENCE_S: '280' } })
const folder = (name: string): string => fileURLToPath(new URL(`../../integrations/${name}`, import.meta.url))
/** Debian's Scrapy belongs to Debian's python3, whichever comes first in PATH. */
const SYSTEM_PYTHON = '/usr/bin/python3'
const has = (module: string, python: string): boolean => spawnSync(python, ['-c', `import ${module}`]).status === 0
const skipUnless = (is: boolean, what: string): boolean => {
  if (!is) process.stdout.write(`skipped: ${what} is not installed here\n`)
  return !is
}

const SITES = [
  { name: 'one', robots: { body: 'User-agent: *\nDisallow: /no\nCrawl-delay: 0.2\n' } },
  {
    name: 'two',
    robots: { body: '' },
    paths: {
      '/moved': { status: 302, location: '{origin:one}/no' },
      '/moved-well': { status: 302, location: '{origin:one}/yes' },
      '/busy': [{ status: 503, retryAfter: '1' }, {}],
      '/slow': { delayMs: 300 },
    },
  },
  { name: 'paced', robots: { body: 'User-agent: *\nCrawl-delay: 0.3\n' } },
]

test('undici: requests, redirects and retries of a Node program each have their permit', async () => {
  const { web, url, expectPolite } = await fleet(SITES)
  const polite = decorum({ url: url() })
  const dispatcher = new Agent().compose(
    polite,
    interceptors.redirect({ maxRedirections: 3 }),
    interceptors.retry({ statusCodes: [503], maxRetries: 3 }),
  )
  const { one, two, paced } = web.origins
  const get = async (at: string): Promise<number | string> => {
    try {
      const { statusCode, body } = await request(at, { dispatcher })
      await body.arrayBuffer()
      return statusCode
    } catch (error) {
      return (error as { code?: string }).code ?? String(error)
    }
  }
  const became = await Promise.all([
    ...Array.from({ length: 5 }, (_, n) => get(`${one}/${n}`)),
    get(`${one}/no`),
    get(`${two}/moved`),
    get(`${two}/moved-well`),
    get(`${two}/busy`),
    get(`${two}/slow`),
    ...Array.from({ length: 5 }, (_, n) => get(`${paced}/${n}`)),
  ])
  const REFUSED = 'ERR_DECORUM_REFUSED'
  expect(became).toEqual([200, 200, 200, 200, 200, REFUSED, REFUSED, 200, 200, 200, 200, 200, 200, 200, 200])
  const plain = new Agent().compose(polite)
  // a caller that gives up while it waits: nothing is sent, and the lane goes on
  const gone = new AbortController()
  const first = fetchOfUndici(`${two}/slow`, { dispatcher: plain })
  const waiting = fetchOfUndici(`${two}/never`, { dispatcher: plain, signal: gone.signal })
  gone.abort()
  await expect(waiting).rejects.toThrow()
  expect((await first).status).toBe(200)
  // the fetch of Node itself, whose undici is an older one
  const streamed = await fetch(`${two}/after`, { dispatcher: plain } as object)
  let bytes = 0
  for await (const part of streamed.body as unknown as AsyncIterable<Uint8Array>) bytes += part.length
  expect(bytes).toBe(1_024)
  await expectPolite()
  const { requests } = await web.evidence()
  expect(requests.map(({ path }) => path)).not.toContain('/never')
  expect(new Set(requests.map(({ agent }) => agent)).size).toBe(1)
})

test('Crawlee: three processes with the option are one polite visitor; only what failed at a site is a retry', async () => {
  const { web, url, expectPolite } = await fleet(SITES)
  const { one, two, paced } = web.origins
  const urls = [one, two, paced].flatMap((origin) => [`${origin}/1`, `${origin}/2`, `${origin}/no`])
  const args = [`${folder('crawlee')}/example.js`, url(), ...urls]
  args.push(`${two}/moved`, `${two}/moved-well`, `${two}/busy`)
  const outs = await Promise.all([0, 1, 2].map(() => run(process.execPath, args)))
  for (const { stdout } of outs) {
    const lines = stdout.trim().split('\n')
    for (const line of [`200 ${one}/1 0`, `200 ${paced}/2 0`, `200 ${two}/no 0`, `200 ${two}/moved-well 0`])
      expect(lines, stdout).toContain(line)
    expect(lines).toContain(`disallowed ${one}/no`)
    expect(stdout).toMatch(new RegExp(`failed ${two}/moved .*robots.txt`))
    expect(stdout).toMatch(new RegExp(`200 ${two}/busy [01]`)) // the one process that met the 503 has tried again
    expect(lines).toHaveLength(urls.length + 3)
  }
  await expectPolite()
})

test('Crawlee: a request that waits stays in the queue: with one slot the other sites go on', async () => {
  const { web, url, ask, complete, expectPolite } = await fleet(SITES)
  const { two, paced } = web.origins
  const held = await ask({ url: `${paced}/0`, waitMs: 30_000 })
  const config = new Configuration({ persistStorage: false })
  const done: string[] = []
  const crawler = new HttpCrawler(
    {
      ...(await crawleeOptions({ url: url(), queue: await RequestQueue.open(null, { config }) })),
      maxConcurrency: 1,
      additionalMimeTypes: ['text/plain'],
      requestHandler: ({ request }) => {
        expect(request.retryCount).toBe(0)
        done.push(request.url)
      },
    },
    config,
  )
  const crawling = crawler.run([`${paced}/1`, `${paced}/2`, `${two}/1`, `${two}/2`, `${two}/3`])
  await expect.poll(() => done.length).toBe(3)
  expect(done).toEqual([`${two}/1`, `${two}/2`, `${two}/3`])
  await expect.poll(() => crawler.autoscaledPool?.currentConcurrency).toBe(0)
  expect((await complete(held.body.permit, { status: 200 })).status).toBe(200)
  const { requestsFinished, retryHistogram } = await crawling
  expect(requestsFinished).toBe(5)
  expect(retryHistogram).toEqual([5])
  await expectPolite()
})

test.skipIf(skipUnless(has('sys', 'python3'), 'python3'))(
  'python: three processes under `with permit(url)` are one polite visitor',
  async () => {
    const { web, url, expectPolite } = await fleet(SITES)
    const urls = Object.values(web.origins).flatMap((origin) => [`${origin}/1`, `${origin}/2`, `${origin}/no`])
    const outs = await Promise.all(
      [0, 1, 2].map(() => run('python3', [`${folder('python')}/example.py`, url(), ...urls])),
    )
    for (const { stdout } of outs) {
      expect(stdout).toContain(`200 ${web.origins.paced}/1`)
      expect(stdout).toContain(`disallowed ${web.origins.one}/no`)
    }
    const report = await expectPolite()
    expect(report.requests).toBe(3 + 3 * 8)
  },
)

const EPOLL = 'twisted.internet.epollreactor.EPollReactor'
const ASYNCIO = 'twisted.internet.asyncioreactor.AsyncioSelectorReactor'
test.skipIf(skipUnless(has('scrapy', SYSTEM_PYTHON), 'Scrapy'))(
  'Scrapy: three processes with the middleware, on one reactor and the other, are one polite visitor',
  async () => {
    const { web, url, expectPolite } = await fleet(SITES)
    const { one, two, paced } = web.origins
    const urls = [one, two, paced].flatMap((origin) => [`${origin}/1`, `${origin}/2`, `${origin}/no`])
    const args = (reactor: string): string[] => [
      ...[`${folder('scrapy')}/example.py`, url(), reactor],
      ...[...urls, `${two}/moved`, `${two}/busy`],
    ]
    const outs = await Promise.all([EPOLL, EPOLL, ASYNCIO].map((reactor) => run(SYSTEM_PYTHON, args(reactor))))
    for (const { stdout } of outs) {
      expect(stdout).toContain(`200 ${paced}/2`)
      expect(stdout).not.toContain(`${one}/no`)
      expect(stdout).toContain(`200 ${two}/busy`) // asked again by Scrapy itself, in its turn
    }
    await expectPolite()
  },
)
