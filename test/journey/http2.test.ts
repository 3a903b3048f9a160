/**
 * A whole fleet before sites of HTTP/2, one agent directly and one through a proxy that wants a login: one request at a time with the
 * delay after each, as the sites saw it, and the login in no line of a log and in no archive.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { startFleet } from '@decorum/cli'
import { type Outcome, openFrontier } from '@decorum/client'
import { expect, onTestFinished, test } from 'vitest'
import { folder } from '../cli/decorum.ts'
import { connectProxy } from '../fetcher/support/connect-proxy.ts'
import { type H2Origin, h2Origin } from '../fetcher/support/h2-origin.ts'
import { redisForTest } from '../support/redis.ts'

const redis = await redisForTest()
const DELAY_MS = 60
const PAGES = 25
const agent = (name: string) => ({ name, userAgent: `${name}/1.0 (+https://example.com/bot)` })

const site = (): Promise<H2Origin> =>
  h2Origin((request, response) => {
    if (request.url === '/robots.txt') response.end('User-agent: *\nDisallow: /private\n')
    else setTimeout(() => response.end(`page ${request.url}`), 15)
  })

/** From the end of each answer to the next request, ms. */
const delays = ({ asked }: H2Origin): number[] =>
  asked.slice(1).map(({ at }, nth) => at - (asked[nth]?.endedAt ?? Number.NaN))

test('a fleet of two fetchers, directly and through a proxy: HTTP/2, one stream at a time, each delay kept', async () => {
  const loop = monitorEventLoopDelay({ resolution: 5 })
  loop.enable()
  const proxy = await connectProxy({ login: 'crawler:hidden-word' })
  const [direct, behind] = [await site(), await site()]
  const pages = join(await folder(), 'pages')
  const said: string[] = []
  const fleet = await startFleet({
    env: {
      ...process.env,
      REDIS_URL: redis.url,
      DECORUM_AGENTS: JSON.stringify([agent('direct'), agent('behind')]),
      EGRESS: JSON.stringify({ behind: { proxy: proxy.url } }),
      DECORUM_ALLOW_ADDRESSES: '127.0.0.0/8',
      DEFAULT_DELAY_MS: String(DELAY_MS),
      NODE_EXTRA_CA_CERTS: fileURLToPath(new URL('../fetcher/certs/ca.pem', import.meta.url)),
      ARCHIVE_DIR: pages,
      LOG_LEVEL: 'debug',
    },
    gateways: 1,
    fetchers: 2,
    onEvent: (event) => void said.push(JSON.stringify(event)),
  })
  onTestFinished(async () => void (await fleet.stop()))
  const frontier = await openFrontier({ redis: redis.url })
  const candidates = Array.from({ length: PAGES }, (_, n) => [
    { url: `${direct.origin}/${n}`, agent: 'direct' },
    { url: `${behind.origin}/${n}`, agent: 'behind' },
  ]).flat()
  await frontier.enqueue([...candidates, { url: `${behind.origin}/private/x`, agent: 'behind' }])
  const outcomes: Outcome[] = []
  for await (const { outcome, content, ack } of frontier.outcomes({ group: 'test' })) {
    outcomes.push(outcome)
    if (outcome.kind === 'fetched') expect(await content?.text()).toBe(`page ${new URL(outcome.url).pathname}`)
    await ack()
    if (outcomes.length === candidates.length + 1) break
  }
  await frontier.close()
  await fleet.stop()

  const fetched = outcomes.filter((outcome) => outcome.kind === 'fetched')
  expect(fetched).toHaveLength(2 * PAGES)
  for (const outcome of fetched) expect(outcome).toMatchObject({ protocol: 'h2', tls: 'TLSv1.3', address: '127.0.0.1' })
  expect(outcomes.filter(({ kind }) => kind === 'disallowed')).toHaveLength(1)
  for (const one of [direct, behind]) {
    expect(one.asked).toHaveLength(PAGES + 1)
    expect(one.asked[0]).toMatchObject({ path: '/robots.txt', version: '2.0' })
    expect(one.asked.every(({ version }) => version === '2.0')).toBe(true)
    expect(one.most).toBe(1)
    expect(Math.min(...delays(one)), 'but for how late this process looked').toBeGreaterThanOrEqual(
      DELAY_MS - loop.max / 1e6,
    )
  }
  expect(proxy.asked.length).toBeGreaterThan(0)
  expect(new Set(proxy.asked)).toEqual(new Set([`127.0.0.1:${behind.port}`]))

  let archived = ''
  for (const name of await readdir(pages)) {
    const bytes = await readFile(join(pages, name))
    archived += name.endsWith('.gz') ? gunzipSync(bytes).toString('latin1') : bytes.toString('latin1')
  }
  expect(archived).toContain('WARC-Protocol: h2')
  expect(said.length).toBeGreaterThan(0)
  for (const text of [archived, said.join('\n'), JSON.stringify(outcomes)]) {
    expect(text).not.toContain('hidden-word')
    expect(text).not.toContain(Buffer.from('crawler:hidden-word').toString('base64'))
  }
})
