import { execFile, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Configuration, HttpCrawler } from '@crawlee/http'
import { Agent, request } from 'undici'
import { expect, test } from 'vitest'
// @ts-expect-error plain JavaScript, to be copied as it is
import { decorum as crawleeOptions } from '../../integrations/crawlee/decorum.js'
// @ts-expect-error plain JavaScript, to be copied as it is
import { decorum } from '../../integrations/undici/decorum.js'
import type { Site } from '../support/origins/index.ts'
import { LONG_LEASES, type PermitFleet, sharedPermitFleet } from './fleet.ts'

const run = promisify(execFile)
const folder = (name: string): string => fileURLToPath(new URL(`../../integrations/${name}`, import.meta.url))
/** Debian's Scrapy belongs to Debian's python3, whichever comes first in PATH. */
const SYSTEM_PYTHON = '/usr/bin/python3'
const skipUnless = (python: string, module: string): boolean => {
  const isHere = spawnSync(python, ['-c', `import ${module}`]).status === 0
  if (!isHere) process.stdout.write(`skipped: ${module} is not installed here\n`)
  return !isHere
}
const shared = sharedPermitFleet({ env: { ...LONG_LEASES, MAX_DELAY_MS: '4000' } })
/** The report counts over all origins: it begins anew. */
async function before(sites: Site[]): Promise<PermitFleet> {
  const fleet = await shared(sites)
  await fleet.call('DELETE', '/v1/shadow')
  return fleet
}
const RULES = 'User-agent: *\nDisallow: /no\nCrawl-delay: 4\n'

test('shadow: nothing waits, no lane is taken, and the report says what would have waited or been refused', async () => {
  const { web, url, call, ask } = await before([{ name: 'shadowed', robots: { body: RULES } }])
  const at = web.origins.shadowed as string
  await expect.poll(async () => (await call('GET', `/v1/robots?url=${at}/1`)).body.verdict).toBe('allowed')
  const dispatcher = new Agent().compose(decorum({ url: url(), shadow: true }))
  const get = async (path: string): Promise<number> => {
    const { statusCode, body } = await request(at + path, { dispatcher, headers: { 'user-agent': 'own/1' } })
    await body.dump()
    return statusCode
  }
  expect(await Promise.all(['/1', '/2', '/3', '/no'].map(get))).toEqual([200, 200, 200, 200])
  const counts = { requests: 4, granted: 1, waited: 2, refused: 1 }
  const { body } = await call('GET', '/v1/shadow')
  expect(body).toMatchObject({
    ...counts,
    lanes: [{ agent: 'journeybot', origin: at, ...counts, refusals: { disallowed: 1 } }],
  })
  expect(body.longestMs).toBeGreaterThan(4_000) // the third would have waited for the delay of the second as well
  // the lane itself is free, and the requests went out as they were
  expect((await ask({ url: `${at}/4`, waitMs: 20_000 })).status).toBe(201)
  const { requests } = await web.evidence()
  expect(requests.filter(({ agent }) => agent === 'own/1')).toHaveLength(4)
  expect((await call('DELETE', '/v1/shadow')).status).toBe(204)
  expect((await call('GET', '/v1/shadow')).body).toMatchObject({ requests: 0, lanes: [] })
})

test('shadow: a service that is away holds nobody up', async () => {
  const { web } = await before([{ name: 'alone', robots: { body: '' } }])
  const dispatcher = new Agent().compose(decorum({ url: 'http://127.0.0.1:9', shadow: true }))
  const { statusCode, body } = await request(`${web.origins.alone}/1`, { dispatcher })
  await body.dump()
  expect(statusCode).toBe(200)
})

test('shadow: Crawlee crawls as before, and the report knows its requests', async () => {
  const { web, url, call } = await before([{ name: 'bare', robots: { body: 'User-agent: *\nDisallow: /no\n' } }])
  const at = web.origins.bare as string
  await expect.poll(async () => (await call('GET', `/v1/robots?url=${at}/1`)).body.verdict).toBe('allowed')
  const crawler = new HttpCrawler(
    {
      ...(await crawleeOptions({ url: url(), shadow: true })),
      additionalMimeTypes: ['text/plain'],
      requestHandler: () => undefined,
    },
    new Configuration({ persistStorage: false }),
  )
  const { requestsFinished } = await crawler.run([`${at}/1`, `${at}/2`, `${at}/no`])
  expect(requestsFinished).toBe(3)
  expect((await call('GET', '/v1/shadow')).body).toMatchObject({ requests: 3, refused: 1 })
})

const PYTHON_CRAWL = `
import sys, urllib.request
from decorum_permits import Permits
for service in ("http://127.0.0.1:9", sys.argv[1]):
    permits = Permits(service, shadow=True)
    for url in sys.argv[2:]:
        with permits.permit(url) as held, urllib.request.urlopen(url) as answer:
            answer.read()
            held.done(answer.status, answer.headers)
`
test.skipIf(skipUnless('python3', 'sys'))(
  'shadow: Python waits neither for its turn nor for a service that is away',
  async () => {
    const { web, url, call } = await before([{ name: 'py', robots: { body: RULES } }])
    const at = web.origins.py as string
    await expect.poll(async () => (await call('GET', `/v1/robots?url=${at}/1`)).body.verdict).toBe('allowed')
    await run('python3', ['-c', PYTHON_CRAWL, url(), `${at}/1`, `${at}/2`, `${at}/no`], { cwd: folder('python') })
    const { body } = await call('GET', '/v1/shadow')
    expect(body).toMatchObject({
      requests: 3,
      granted: 1,
      waited: 1,
      refused: 1,
      lanes: [{ gates: { 'crawl-delay': 1 } }],
    })
  },
)

test.skipIf(skipUnless(SYSTEM_PYTHON, 'scrapy'))(
  'shadow: Scrapy keeps its own settings, and the report knows its requests',
  async () => {
    const { web, url, call } = await before([{ name: 'sc', robots: { body: RULES } }])
    const at = web.origins.sc as string
    await expect.poll(async () => (await call('GET', `/v1/robots?url=${at}/1`)).body.verdict).toBe('allowed')
    const args = [`${folder('scrapy')}/example.py`, `shadow:${url()}`, '-', `${at}/1`, `${at}/2`]
    const { stdout } = await run(SYSTEM_PYTHON, args, { timeout: 290_000 })
    expect(stdout.trim().split('\n').sort()).toEqual([`200 ${at}/1`, `200 ${at}/2`])
    const { body } = await call('GET', '/v1/shadow')
    // Its own request for robots.txt is one more.
    expect(body).toMatchObject({ requests: 3, refused: 1, lanes: [{ refusals: { 'robots-txt': 1 } }] })
  },
)
