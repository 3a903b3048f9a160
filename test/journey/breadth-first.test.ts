/**
 * The example as a user runs it: the client's tarball installed in an empty folder, a fleet of two fetchers that each work in
 * a folder of their own, and a web of twenty hosts. What is read is held against warcio.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { spawnWeb } from '@decorum/cli/synthetic-web'
import { openFrontier } from '@decorum/client'
import { afterAll, expect, test } from 'vitest'
import { WARCParser } from 'warcio'
import { startDecorum } from '../cli/decorum.ts'
import { repositoryCopy, run } from '../robots/support/packed.ts'
import { redisForTest } from '../support/redis.ts'

const repo = join(import.meta.dirname, '../..')
const redis = await redisForTest()
const root = await mkdtemp(join(tmpdir(), 'decorum-breadth-first-'))
afterAll(() => rm(root, { recursive: true, force: true }))

const HOSTS = 20
const PAGES = 15

/** A binary tree of pages on each host; the first page leads to the next host, and to what is not to be followed. */
const sites = Array.from({ length: HOSTS }, (_, host) => ({
  name: `host${host}`,
  robots: { body: 'User-agent: *\nDisallow: /private\n' },
  pages: { status: 404, body: 'nothing here' },
  paths: Object.fromEntries(
    Array.from({ length: PAGES }, (_page, page) => {
      const children = [2 * page + 1, 2 * page + 2].filter((child) => child < PAGES)
      const links = children.map((child) => `<a href="../p/${child}#top">Стр. ${child}</a>`)
      if (page === 0)
        links.push(`<a href="{origin:host${(host + 1) % HOSTS}}/p/0">next host</a>`, '<a rel=nofollow href=/p/never>')
      if (page === 1) links.push('<a href="/private">refused</a>', '<a href="http://elsewhere.test/">another host</a>')
      return [
        `/p/${page}`,
        { type: 'text/html', body: `<meta charset=utf-8><title>${page}</title>${links.join('\n')}` },
      ]
    }),
  ),
}))

test('three hundred pages of twenty hosts, found by following links, with the packed client in an empty folder', async () => {
  const web = await spawnWeb({ sites, record: join(root, 'record.ndjson') })
  const env = {
    REDIS_URL: redis.url,
    DEFAULT_DELAY_MS: '20',
    DECORUM_CONTACT: 'https://example.com/bot',
    ARCHIVE_DIR: 'pages',
  }
  const roles = [startDecorum(['gateway'], { env })]
  for (const name of ['one', 'two']) {
    await mkdir(join(root, name))
    roles.push(startDecorum(['fetcher'], { env, cwd: join(root, name) }))
  }
  // The crawl takes less than a second: a fetcher that comes late would find little to do.
  for (const role of roles) await role.hears('"msg":"ready"')
  const user = await installedClient()
  await cp(join(repo, 'examples/breadth-first.mjs'), join(user, 'breadth-first.mjs'))
  const seeds = Object.values(web.origins).map((origin) => `${origin}/p/0`)
  const child = spawn(oldestNode(), ['breadth-first.mjs', ...seeds], {
    cwd: user,
    env: { PATH: process.env.PATH, REDIS_URL: redis.url },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  // Another reader, to hold what the frontier was told against an independent reader of WARC
  const judge = await openFrontier({ redis: redis.url })
  const judged = judgeAll(judge, HOSTS * (PAGES + 1))
  expect(await once(child, 'exit')).toEqual([0, null])
  const lines = said
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { kind: string; url: string; links?: number })
  const fetched = lines.filter(({ kind }) => kind === 'fetched').map(({ url }) => url)
  const wanted = Object.values(web.origins).flatMap((origin) =>
    Array.from({ length: PAGES }, (_, page) => `${origin}/p/${page}`),
  )
  expect(fetched.toSorted()).toEqual(wanted.toSorted())
  expect(lines.filter(({ kind }) => kind === 'disallowed').map(({ url }) => url)).toHaveLength(HOSTS)
  expect(lines).toHaveLength(HOSTS * (PAGES + 1))
  expect(await judged).toBe(HOSTS * PAGES)
  // Both have had a part in it; where one was kept from running meanwhile, it has one in what follows.
  const keeping = async (name: string): Promise<boolean> =>
    (await readdir(join(root, name, 'pages')).catch(() => [])).length > 0
  for (let more = 0; !(await keeping('one')) || !(await keeping('two')); more++) {
    await judge.enqueue(Object.values(web.origins).map((origin) => ({ url: `${origin}/more/${more}` })))
    await judgeAll(judge, HOSTS)
  }
  await judge.close()
  for (const { child: role } of roles) role.kill('SIGTERM')
  for (const { result } of roles) expect((await result).code).toBe(0)
  const kept = await Promise.all(['one', 'two'].map((name) => readdir(join(root, name, 'pages'))))
  expect(kept.every((names) => names.some((name) => name.endsWith('.warc.gz')))).toBe(true)
  await web.stop()
})

async function judgeAll(frontier: Awaited<ReturnType<typeof openFrontier>>, outcomes: number): Promise<number> {
  let pages = 0
  let left = outcomes
  for await (const { outcome, content, ack } of frontier.outcomes({ group: 'judge' })) {
    if (outcome.kind === 'fetched') {
      const { ref = '', offset = 0, length = 0 } = outcome.archive ?? {}
      const path = new URL(ref.replace(/^warc\+/, '')).pathname
      const file = await readFile(path).catch(() => readFile(`${path}.open`))
      const [record] = await records(file.subarray(offset, offset + length))
      expect(record).toMatchObject({ type: 'response', url: outcome.url, body: await content?.text() })
      pages++
    }
    await ack()
    if (--left === 0) return pages
  }
  return pages
}

async function records(bytes: Uint8Array): Promise<{ type: string; url: string; body: string }[]> {
  const found = []
  for await (const record of new WARCParser(new Blob([bytes]).stream()))
    found.push({ type: record.warcType ?? '', url: record.warcTargetURI ?? '', body: await record.contentText() })
  return found
}

/** Packed as its README says, installed without any registry. */
async function installedClient(): Promise<string> {
  const user = join(root, 'user')
  await mkdir(user)
  await writeFile(join(user, 'package.json'), '{ "name": "user", "private": true }')
  const packed = run(
    'npm',
    ['pack', '--silent', '--pack-destination', root],
    join(repositoryCopy(root), 'packages/client'),
  )
  const tarball = join(root, packed.trim().split('\n').at(-1) ?? '')
  run('npm', ['install', '--offline', '--no-audit', '--no-fund', tarball], user)
  expect(await readdir(join(user, 'node_modules/@decorum'))).toEqual(['client'])
  return user
}

/** Of this machine, from 20 on: users of the client need no newer one. */
function oldestNode(): string {
  const found = (process.env.PATH ?? '').split(delimiter).map((path) => join(path, 'node'))
  const versions = [process.execPath, ...found].flatMap((node) => {
    try {
      const version = execFileSync(node, ['--version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
      const major = Number(/^v(\d+)/.exec(version)?.[1])
      return major >= 20 ? [{ node, major }] : []
    } catch {
      return []
    }
  })
  return versions.toSorted((a, b) => a.major - b.major)[0]?.node ?? process.execPath
}
