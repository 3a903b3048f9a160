/** examples/breadth-first.py as a user runs it: links are followed over HTTP alone, whatever the pages' encodings and content codings. */
import { execFile, execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { startFleet } from '@decorum/cli'
import { Redis } from 'ioredis'
import { describe, expect, onTestFinished, test } from 'vitest'
import { folder, site } from '../cli/decorum.ts'
import { redisForTest } from '../support/redis.ts'

const EXAMPLE = join(import.meta.dirname, '../../examples/breadth-first.py')
const python = ((): boolean => {
  try {
    execFileSync('python3', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
})()
if (!python) console.warn('skipped: no python3 on PATH (install it to run the example)')

const PAGES = 15
const CODINGS: Record<string, (body: Buffer) => Buffer> = {
  identity: (body) => body,
  gzip: (body) => gzipSync(body),
  br: (body) => brotliCompressSync(body),
  zstd: (body) => zstdCompressSync(body),
  broken: (body) => Buffer.concat([gzipSync(body).subarray(0, 10), Buffer.from('not packed at all')]),
}

describe.skipIf(!python)('examples/breadth-first.py', async () => {
  const redis = await redisForTest()

  test('at most seventy lines, all pages by their depth, nothing that is not to be followed, nothing left behind', async () => {
    expect(readFileSync(EXAMPLE, 'utf8').trimEnd().split('\n').length).toBeLessThanOrEqual(70)
    const { origin, asked } = await site((request, response) => {
      if (request.url === '/robots.txt') {
        response.end('User-agent: *\nDisallow: /private\n')
        return true
      }
      const page = Number(/^\/(\d+)$/.exec(request.url ?? '')?.[1] ?? Number.NaN)
      if (request.url === '/moved') response.writeHead(302, { location: '/14' }).end()
      if (!(page < PAGES)) return request.url === '/moved'
      const children = [2 * page + 1, 2 * page + 2].filter((child) => child < PAGES && child !== 14)
      const links = children.map((child) => `<a href='${child}#x'>Стр. ${child}</a>`)
      const other = ['/private', 'http://elsewhere.test/', 'mailto:a@b', '/never" rel="NoFollow', 'http://[', '/moved']
      if (page === 0) links.push(...other.map((href) => `<a href="${href}">other</a>`))
      const coding = Object.keys(CODINGS)[page % 5] as string
      const isCyrillic = page % 2 === 1
      const body = Buffer.from(`<title>${page}</title>${links.join('\n')}`, isCyrillic ? 'utf16le' : 'utf8')
      response.setHeader('content-type', `text/html; charset=${isCyrillic ? 'utf-16le' : 'utf-8'}`)
      if (coding !== 'identity') response.setHeader('content-encoding', coding === 'broken' ? 'gzip' : coding)
      response.end(CODINGS[coding]?.(body))
      return true
    })
    const env = {
      ...process.env,
      REDIS_URL: redis.url,
      DECORUM_CONTACT: 'https://example.com/bot',
      DECORUM_ALLOW_ADDRESSES: '127.0.0.0/8',
      DEFAULT_DELAY_MS: '20',
      LOG_LEVEL: 'error',
      ARCHIVE_DIR: join(await folder(), 'pages'),
    }
    const fleet = await startFleet({ env, gateways: 1, fetchers: 1, console: true })
    onTestFinished(async () => void (await fleet.stop()))
    const { stdout, stderr } = await promisify(execFile)('python3', [EXAMPLE, `${origin}/0`], {
      env: { ...process.env, CONSOLE: `http://127.0.0.1:${fleet.of('console')[0]?.port}` },
    })
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { kind: string; url: string; depth: number })
    // The bodies of 4, 9 and 14 are damaged: what they would have linked to is not known
    const known = [0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14]
    const fetched = lines.filter(({ kind }) => kind === 'fetched')
    expect(fetched.map(({ url }) => url).sort()).toEqual(known.map((page) => `${origin}/${page}`).sort())
    expect(fetched.find(({ url }) => url.endsWith('/12'))?.depth).toBe(3)
    expect(lines.filter(({ kind }) => kind !== 'fetched').map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(['disallowed', 'redirected']),
    )
    expect(stderr).toContain('422')
    expect(asked).not.toContain('/never')
    const raw = new Redis(redis.url)
    onTestFinished(() => raw.disconnect())
    expect(await raw.xinfo('GROUPS', '{decorum:0}:outcomes')).toEqual([])
  })
})
