/** `decorum check`: the verdict explained, by a file or by the site itself. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openLedgerWithViews } from '@decorum/ledger/views'
import { expect, onTestFinished, test } from 'vitest'
import { connectProxy } from '../fetcher/support/connect-proxy.ts'
import { redisForTest } from '../support/redis.ts'
import { decorum, folder, type Result, site } from './decorum.ts'
import { decorumHere } from './decorum-here.ts'

const redis = await redisForTest()
const AGENTS = JSON.stringify([
  {
    name: 'example-web',
    fallbacks: ['example'],
    userAgent: 'example-web/1.0 (+https://example.com/bot)',
    minDelayMs: 500,
  },
])

/** A site whose robots.txt is answered so. */
const answering = (status: number, body = '', headers: Record<string, string> = {}) =>
  site((request, response) => {
    response.writeHead(status, headers)
    response.end(body)
    return request.url !== undefined
  })

async function check(...args: string[]): Promise<Result> {
  return await decorumHere(['check', ...args], { cwd: await folder(), env: { DECORUM_AGENTS: AGENTS } })
}
const json = (result: Result): Record<string, unknown> => JSON.parse(result.stdout) as Record<string, unknown>

test('by a file: rule, line, group, and the delay with its origin', async () => {
  const file = join(await folder(), 'robots.txt')
  await writeFile(file, '# ours\nUser-agent: example\nCrawl-delay: 30\nDisallow: /private\nAllow: /private/open\n')
  const env = { DECORUM_AGENTS: AGENTS }
  const result = await decorum(['check', 'https://a.example/private/x', '--robots', file], { env }) // the real program
  expect(result, 'disallowed').toMatchObject({ code: 1, stderr: '' })
  expect(result.stdout).toContain('DISALLOWED under decorum')
  expect(result.stdout).toContain('line 4, disallow: /private')
  expect(result.stdout).toContain("10 s: our maximum; the crawl-delay '30' in line 3 is longer")
  const allowed = await check('https://a.example/private/open', '--robots', file, '--json')
  expect(allowed.code).toBe(0)
  const open = json(allowed)
  expect(open).toMatchObject({
    verdicts: [{ allowed: true, rule: { line: 5 }, losers: [{ line: 4 }], delay: { delayMs: 10_000 } }],
  })
})

test('by the site: what it answered, through a redirect', async () => {
  const rules = await answering(200, 'User-agent: *\nDisallow: /no')
  const moved = await answering(301, '', { location: `${rules.origin}/robots.txt` })
  const result = await check(`${moved.origin}/no`, '--json')
  expect(result.code).toBe(1)
  expect(json(result)).toMatchObject({
    asked: { asked: `${moved.origin}/robots.txt`, found: `${rules.origin}/robots.txt`, status: 200 },
    verdicts: [{ allowed: false, rule: { line: 2 } }],
  })
})

test('by the way out of its agent (EGRESS), as a fetcher asks', async () => {
  const proxy = await connectProxy()
  const { origin } = await answering(200, 'User-agent: *')
  const env = { DECORUM_AGENTS: AGENTS, EGRESS: JSON.stringify({ '*': { proxy: proxy.url } }) }
  const result = await decorumHere(['check', `${origin}/x`], { cwd: await folder(), env })
  expect(result).toMatchObject({ code: 0 })
  expect(proxy.asked).toEqual([new URL(origin).host])
})

test.for([
  [404, 'decorum: allowed: no rules, no restriction', 0],
  [503, 'decorum: not now: nothing may be fetched before it answers', 1],
  [429, 'decorum: not now: nothing may be fetched before it answers', 1],
] as const)('a robots.txt that answers %d: %s, exit code %d', async ([status, sentence, code]) => {
  const { origin } = await answering(status)
  const result = await check(`${origin}/x`)
  expect(result).toMatchObject({ code, stdout: expect.stringContaining(sentence) })
})

test('--profile all shows where the profiles differ', async () => {
  const { origin } = await answering(429)
  const { withoutRules } = json(await check(`${origin}/x`, '--profile', 'all', '--json'))
  expect(withoutRules).toEqual([
    { profile: 'decorum', kind: 'closed' },
    { profile: 'rfc9309', kind: 'open' },
    { profile: 'google', kind: 'closed' },
    { profile: 'google-2022', kind: 'closed' },
    { profile: 'coccoc', kind: 'open' },
  ])
})

test('a chain of six redirects counts as no robots.txt, and is not followed to its end', async () => {
  let asked = 0
  const { origin } = await site((_, response) => {
    asked++
    response.writeHead(302, { location: `/robots.txt?${asked}` }).end()
    return true
  })
  expect(await check(`${origin}/x`)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('more than five redirects\ndecorum: allowed'),
  })
  expect(asked).toBe(6)
})

test('without a fleet it says so, and address guard and contact apply all the same', async () => {
  const { origin, asked } = await answering(200, 'User-agent: *\nDisallow: /no')
  expect((await check(`${origin}/x`)).stdout).toContain(
    'No fleet is running here, so this request did not wait for a lane.',
  )
  expect(json(await check(`${origin}/x`, '--json'))).toMatchObject({ asked: { by: 'alone', status: 200 } })
  const guarded = { DECORUM_AGENTS: AGENTS, DECORUM_ALLOW_ADDRESSES: '' }
  asked.length = 0
  const refused = await decorumHere(['check', `${origin}/x`], { env: guarded })
  const [alone, why, advice] = refused.stdout.split('\n')
  expect([refused.code, alone, why, advice]).toEqual([
    1,
    'No fleet is running here, so this request did not wait for a lane.',
    `${origin}/robots.txt: 127.0.0.1 is not a public address`,
    'decorum: no: for a site of your own, set DECORUM_ALLOW_ADDRESSES=127.0.0.1',
  ])
  const port = await decorumHere(['check', 'http://127.0.0.1:6379/'], { env: { DECORUM_AGENTS: AGENTS } })
  expect(port.stdout).toMatch(/\ndecorum: no: for a site of your own, set DECORUM_ALLOW_PORTS=6379\n/)
  expect(asked).toEqual([])
})

test('beside a fleet the delay is the one that is in force: by the policy of the site, or by hand', async () => {
  const ledger = await openLedgerWithViews({ redis: redis.url, partitions: 1 })
  onTestFinished(() => ledger.close())
  await expect.poll(async () => (await ledger.viewPartition(0)).holdUntil).toBeUndefined() // of an empty Redis
  const { origin } = await answering(200, 'User-agent: *\nCrawl-delay: 2')
  const delay = async (...more: string[]): Promise<string> => {
    const env = { DECORUM_AGENTS: AGENTS, REDIS_URL: redis.url }
    const { stdout } = await decorumHere(['check', `${origin}/x`, ...more], { env })
    return more.includes('--json')
      ? JSON.parse(stdout).verdicts[0].delay
      : (/^ *delay .*$/m.exec(stdout)?.[0] ?? '').trim()
  }
  expect(await delay()).toBe("delay  2 s: the crawl-delay '2' in line 2")
  const policy = { site: '127.0.0.1', delayMs: 3_000, hasConsent: false, shown: { delayMs: 3_000 } }
  await ledger.setRates({ version: 1, leastDelays: [], sitePolicies: [policy] })
  expect(await delay()).toBe('delay  3 s, by the policy for 127.0.0.1')
  expect(await delay('--json')).toMatchObject({ delayMs: 3_000, decidedBy: 'policy', site: { written: '2' } })
  const until = Date.now() + 60_000
  await ledger.operate({ action: 'delay', origin, delayMs: 4_000, until, by: 'ann', reason: 'small host' }, [
    'example-web',
  ])
  expect(await delay()).toBe('delay  4 s, set by hand: small host')
})

test('redirects of a robots.txt are followed at the pace of the agent', async () => {
  const at: number[] = []
  const { origin } = await site((request, response) => {
    at.push(performance.now())
    if (request.url === '/robots.txt') response.writeHead(302, { location: '/other' }).end()
    else response.end('User-agent: *\nDisallow: /no')
    return true
  })
  expect(json(await check(`${origin}/no`, '--json'))).toMatchObject({ verdicts: [{ allowed: false }] })
  expect(at).toHaveLength(2)
  expect((at[1] as number) - (at[0] as number)).toBeGreaterThanOrEqual(500) // minDelayMs of the agent
})

test('a site that does not answer: no verdict, exit code 1', async () => {
  const { code, stdout } = await check('http://127.0.0.1:9999/x')
  expect({ code, stdout }).toEqual({
    code: 1,
    stdout: expect.stringMatching(/ECONNREFUSED[\s\S]*nothing may be fetched/),
  })
})

test('what cannot be fetched at all, and a file that is not there', async () => {
  expect(await check('javascript:alert(1)')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('scheme-not-supported'),
  })
  expect(await check('example.com/x')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('not-a-url; a scheme is missing: write https://example.com/x'),
  })
  expect(await check('http://a.example/', '--robots', 'none.txt')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('none.txt cannot be read'),
  })
  expect(await check('http://a.example/', '--robots', '.')).toMatchObject({
    code: 2,
    stderr: 'decorum: . cannot be read: it is a folder, and a file is needed\n',
  })
})
