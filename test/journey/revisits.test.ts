/** examples/revisit.mjs as a user runs it: the second round asks with validators, and not one body is sent. */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { openContent } from '@decorum/client'
import { main as fetcherMain } from '@decorum/fetcher'
import { main as gatewayMain } from '@decorum/gateway'
import { afterAll, expect, test } from 'vitest'
import { site } from '../cli/decorum.ts'
import { redisForTest } from '../support/redis.ts'

const EXAMPLE = join(import.meta.dirname, '../../examples/revisit.mjs')
const redis = await redisForTest()
const root = await mkdtemp(join(tmpdir(), 'decorum-revisits-'))
const env = {
  REDIS_URL: redis.url,
  DECORUM_CONTACT: 'https://example.com/bot',
  DECORUM_ALLOW_ADDRESSES: '127.0.0.0/8',
  DEFAULT_DELAY_MS: '20',
  LOG_LEVEL: 'silent',
  FETCH_PROCESSES: '0',
}
const services = [await gatewayMain(env), await fetcherMain({ ...env, ARCHIVE_DIR: join(root, 'pages') })]
afterAll(async () => {
  for (const service of services) await service.stop()
  await rm(root, { recursive: true, force: true })
})

test('the second round: all unchanged, no bodies; what has changed since is fetched again, and nothing else', async () => {
  const PAGES = 25
  const versions = new Map<string, number>()
  const bodies: string[] = []
  const { origin } = await site((request, response) => {
    const path = request.url ?? ''
    if (!/^\/\d+$/.test(path)) return false
    const version = versions.get(path) ?? 1
    // Half of the pages have an ETag, half a date
    const isTagged = Number(path.slice(1)) % 2 === 0
    const tag = `"${path}-${version}"`
    const date = new Date(Date.UTC(2026, 10, version)).toUTCString()
    const { 'if-none-match': asked, 'if-modified-since': since } = request.headers
    const isSame = isTagged ? asked === tag : since === date
    response.setHeader(isTagged ? 'etag' : 'last-modified', isTagged ? tag : date)
    if (isSame) response.writeHead(304).end()
    else {
      bodies.push(path)
      response.end(`page ${path} version ${version}`)
    }
    return true
  })
  const urls = Array.from({ length: PAGES }, (_, n) => `${origin}/${n}`)
  const round = async (): Promise<{ url: string; kind: string; unchanged: boolean; bytes: number; ref: string }[]> => {
    bodies.length = 0
    const args = [EXAMPLE, join(root, 'known.json'), ...urls]
    const { stdout } = await promisify(execFile)(process.execPath, args, {
      env: { ...process.env, REDIS_URL: redis.url },
    })
    return stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Awaited<ReturnType<typeof round>>[number])
  }

  const first = await round()
  expect(first.map(({ unchanged }) => unchanged)).toEqual(urls.map(() => false))
  expect(bodies).toHaveLength(PAGES)

  const second = await round()
  expect(second.map(({ url }) => url).sort()).toEqual(urls.toSorted())
  for (const one of second) expect(one).toMatchObject({ kind: 'fetched', unchanged: true, bytes: 0 })
  expect(bodies).toEqual([])
  for (const { url, ref } of second)
    expect(await (await openContent(ref)).text()).toBe(`page ${new URL(url).pathname} version 1`)

  for (const path of ['/3', '/8']) versions.set(path, 2)
  const third = await round()
  expect(
    third
      .filter(({ unchanged }) => !unchanged)
      .map(({ url }) => new URL(url).pathname)
      .sort(),
  ).toEqual(['/3', '/8'])
  expect(bodies.sort()).toEqual(['/3', '/8'])
  const known = JSON.parse(await readFile(join(root, 'known.json'), 'utf8')) as Record<string, { ref: string }>
  expect(await (await openContent(known[`${origin}/8`]?.ref ?? '')).text()).toBe('page /8 version 2')
})
