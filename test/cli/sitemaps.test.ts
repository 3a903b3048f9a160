/** `decorum origin sitemaps`: what a site names by itself, fetched by a fleet that runs, with its rules and its delay. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { main as consoleMain } from '@decorum/console'
import { main as fetcherMain } from '@decorum/fetcher'
import { main as gatewayMain } from '@decorum/gateway'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { decorum, type Site, site } from './decorum.ts'
import { decorumHere } from './decorum-here.ts'

const redis = await redisForTest()
const env = {
  REDIS_URL: redis.url,
  DECORUM_CONTACT: 'https://example.com/bot',
  DECORUM_ALLOW_ADDRESSES: '127.0.0.0/8',
  DEFAULT_DELAY_MS: '20',
}
const folder = await mkdtemp(join(tmpdir(), 'decorum-sitemaps-'))
const services: { port: number; stop(): Promise<void> }[] = []
beforeAll(async () => {
  const common = { ...env, LOG_LEVEL: 'silent', FETCH_PROCESSES: '0' }
  services.push(
    await gatewayMain(common),
    await fetcherMain({ ...common, ARCHIVE_DIR: folder }),
    await consoleMain(common),
  )
})
afterAll(async () => {
  for (const service of services) await service.stop()
  await rm(folder, { recursive: true, force: true })
})
const sitemaps = (origin: string, ...args: string[]) =>
  (args.includes('--enqueue') ? decorum : decorumHere)(['origin', 'sitemaps', origin, ...args], { env }) // the real program for one of them

type Files = Record<string, string | Buffer>
/** @param files  by path; `{o}` is the origin */
const siteWith = async (files: Files) => {
  const made = await site((request, response) => {
    const file = files[request.url ?? '']
    if (file === undefined) {
      response.writeHead(404).end()
      return true
    }
    response.end(typeof file === 'string' ? file.replaceAll('{o}', made.origin) : file)
    return true
  })
  return made
}
const urlset = (...paths: string[]): string =>
  `<urlset>${paths.map((path) => `<url><loc>${path}</loc></url>`).join('')}</urlset>`

test('those that robots.txt names by a relative URL', async () => {
  const { origin, asked } = await siteWith({
    '/robots.txt': 'Sitemap: /maps/one.xml\nSitemap: two.xml\n',
    '/maps/one.xml': urlset('{o}/1'),
    '/two.xml': urlset('{o}/2'),
  })
  const { stdout, code } = await sitemaps(origin)
  expect({ code, urls: stdout.trim().split('\n').sort() }).toEqual({ code: 0, urls: [`${origin}/1`, `${origin}/2`] })
  expect(asked).not.toContain('/maps/two.xml')
})

test('those that robots.txt names, through an index, packed or not, each asked for once; disallowed ones are not asked for', async () => {
  const files: Files = {
    '/robots.txt':
      'User-agent: *\nDisallow: /secret\nSitemap: {o}/index.xml\nSitemap: {o}/secret.xml\nSitemap: {o}/list.txt',
    '/index.xml':
      '<sitemapindex><sitemap><loc>{o}/a.xml.gz</loc></sitemap><sitemap><loc>{o}/index.xml</loc></sitemap><sitemap><loc>{o}/gone.xml</loc></sitemap></sitemapindex>',
    '/list.txt': '{o}/c\nhttp://elsewhere.test/d\n',
    '/secret.xml': urlset('{o}/secret'),
  }
  const { origin, asked } = await siteWith(files)
  files['/a.xml.gz'] = gzipSync(urlset(`${origin}/a?x=1&amp;y`, `${origin}/b`))
  const { code, stdout, stderr } = await sitemaps(`${origin}/any/page`)
  expect(stderr).toContain('secret.xml: disallowed')
  expect(stderr).toContain('gone.xml: status 404')
  expect(stderr).toContain('1 URL of other hosts left out')
  expect(stdout.trim().split('\n').sort()).toEqual([`${origin}/a?x=1&y`, `${origin}/b`, `${origin}/c`])
  expect(code).toBe(0)
  expect(asked.sort()).toEqual(['/a.xml.gz', '/gone.xml', '/index.xml', '/list.txt', '/sitemap.xml'])
  const told = await fetch(`http://127.0.0.1:${services[2]?.port}/v1/origins/${encodeURIComponent(origin)}`)
  expect(await told.json()).toMatchObject({
    sitemaps: [`${origin}/index.xml`, `${origin}/secret.xml`, `${origin}/list.txt`],
  })
  // The rules are known now: the usual place need not be asked
  asked.length = 0
  const again = await sitemaps(origin, '--json')
  expect(
    again.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object),
  ).toContainEqual({ url: `${origin}/c`, sitemap: `${origin}/list.txt` })
  expect(asked).not.toContain('/sitemap.xml')
})

test('--enqueue makes candidates of them, which name their sitemap; bounds end it with exit code 3', async () => {
  const files: Files = {}
  const { origin, asked } = await siteWith(files)
  files['/sitemap.xml'] = urlset(...Array.from({ length: 30 }, (_, n) => `${origin}/${n}`))
  const bounded = await sitemaps(origin, '--most', '3')
  expect(bounded).toMatchObject({ code: 3, stdout: `${origin}/0\n${origin}/1\n${origin}/2\n` })
  const { code, stdout } = await sitemaps(origin, '--enqueue', '--json')
  expect({ code, ...(JSON.parse(stdout) as object) }).toMatchObject({ code: 0, enqueued: 30, sitemaps: 1 })
  await expect.poll(() => asked.filter((path) => /^\/\d+$/.test(path)).length).toBe(30)
})

test('examples/sitemap-seeding.sh seeds a fleet with the pages of several sites', async () => {
  const sites: Site[] = []
  for (const name of ['a', 'b']) {
    const files: Files = {}
    const made = await siteWith(files)
    files['/robots.txt'] = `Sitemap: ${made.origin}/map.xml`
    files['/map.xml'] = urlset(`${made.origin}/${name}1`, `${made.origin}/${name}2`)
    sites.push(made)
  }
  const bin = join(import.meta.dirname, '../../node_modules/.bin')
  const script = join(import.meta.dirname, '../../examples/sitemap-seeding.sh')
  const { stdout } = await promisify(execFile)('sh', [script, ...sites.map(({ origin }) => origin)], {
    env: { ...process.env, ...env, PATH: `${bin}${delimiter}${process.env.PATH}` },
  })
  expect(stdout).toBe('2 enqueued\n2 enqueued\n')
  for (const [at, name] of ['a', 'b'].entries())
    await expect
      .poll(() => sites[at]?.asked.filter((path) => path.startsWith(`/${name}`)).sort())
      .toEqual([`/${name}1`, `/${name}2`])
})

test('sitemaps and feeds of every form are read', async () => {
  const files: Files = {}
  const { origin } = await siteWith(files)
  const prefixed = `<sm:urlset xmlns:sm="x"><sm:url><sm:loc>${origin}/prefixed</sm:loc></sm:url></sm:urlset>`
  Object.assign(files, {
    '/robots.txt': ['prefixed', 'rss', 'atom', 'notice', 'utf16', 'latin1']
      .map((name) => `Sitemap: {o}/${name}\n`)
      .join(''),
    '/prefixed': prefixed,
    '/rss': `<rss><channel><item><link>${origin}/item</link></item></channel></rss>`,
    '/atom': '<feed><entry><link href="/entry"/></entry></feed>',
    '/notice': `<b>Notice</b>: x\n<?xml version="1.0"?>${urlset(`${origin}/noticed`)}`,
    '/utf16': Buffer.from(`\ufeff${urlset(`${origin}/é`)}`, 'utf16le'),
    '/latin1': Buffer.from(`<?xml version="1.0" encoding="ISO-8859-1"?>${urlset(`${origin}/ü`)}`, 'latin1'),
  })
  const { code, stdout } = await sitemaps(origin)
  expect({ code, urls: stdout.trim().split('\n').sort() }).toEqual({
    code: 0,
    urls: ['%C3%A9', '%C3%BC', 'entry', 'item', 'noticed', 'prefixed'].map((path) => `${origin}/${path}`),
  })
})

test.each<[string, string | undefined, string]>([
  ['an HTML page', '<!doctype html><title>x</title>', 'this is an HTML page'],
  ['an empty file', '', 'the file is empty'],
  ['something else', 'x', 'neither XML nor a text'],
  ['nothing', undefined, 'status 404'],
])('where no sitemap can be read that is said, and the exit code is 1: %s', async (_, file, words) => {
  const { origin } = await siteWith(file === undefined ? {} : { '/sitemap.xml': file })
  const { code, stdout, stderr } = await sitemaps(origin)
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toContain(`/sitemap.xml: `)
  expect(stderr).toContain(words)
  expect(stderr).toContain(`no sitemap of ${origin} could be read`)
})

test('of a sitemap that broke off, what came is read, and that is said', async () => {
  const { origin } = await site((request, response) => {
    if (request.url !== '/sitemap.xml') {
      response.writeHead(404).end()
      return true
    }
    const text = `http://${request.headers.host}/1\nhttp://${request.headers.host}/hal`
    response.writeHead(200, { 'content-type': 'text/plain', 'content-length': 1_000 })
    response.write(text, () => response.socket?.end())
    return true
  })
  expect(await sitemaps(origin)).toMatchObject({
    code: 0,
    stdout: `${origin}/1\n`,
    stderr: expect.stringContaining('/sitemap.xml: only a part of it came'),
  })
})

test('a sitemap that names nothing was read', async () => {
  const { origin } = await siteWith({ '/sitemap.xml': '<urlset/>' })
  expect(await sitemaps(origin)).toMatchObject({
    code: 0,
    stdout: '',
    stderr: expect.stringContaining('it names no URL'),
  })
})

test('what is no origin is wrong usage; a site whose sitemaps may not be fetched has none to read', async () => {
  expect(await sitemaps('ftp://a.test')).toMatchObject({ code: 2 })
  const { origin } = await siteWith({ '/robots.txt': 'User-agent: *\nDisallow: /\n' })
  const { code, stdout, stderr } = await sitemaps(origin)
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toContain('/sitemap.xml: disallowed')
})
