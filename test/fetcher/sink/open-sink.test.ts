import { randomFillSync } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { noSink, openSink, type Page, readConfig, type Sink } from '@decorum/fetcher/testing'
import type { Answer } from '@decorum/sending/testing'
import { afterAll, expect, test } from 'vitest'
import { page, pageOrder } from '../support/orders.ts'
import { answerOf, rawOrigin } from '../support/raw-origin.ts'
import { agentsOf, ask, testConnections } from '../support/tools.ts'

const folder = await mkdtemp(join(tmpdir(), 'decorum-sink-'))
afterAll(() => rm(folder, { recursive: true, force: true }))
const connections = testConnections()
const options = { folder: '', agents: agentsOf() }

test('WARC without a folder keeps nothing; none keeps nothing', async () => {
  expect(await openSink('warc', options)).toBe(noSink)
  expect(await openSink('none', { ...options, folder })).toBe(noSink)
  expect(readConfig({ REDIS_URL: 'redis://127.0.0.1', DECORUM_CONTACT: 'a@b.example' }).PAGE_SINK).toBe('warc')
})

test('a folder of files: the decoded body, and what was said about it', async () => {
  const dir = join(folder, 'files')
  const sink = await openSink('folder', { ...options, folder: dir })
  const site = await rawOrigin((socket, { path }) => {
    if (path === '/packed')
      socket.write(answerOf(200, { 'content-encoding': 'gzip', 'content-type': 'text/html' }, gzipSync('<p>unpacked')))
    else if (path === '/bomb')
      socket.write(answerOf(200, { 'content-encoding': 'gzip' }, gzipSync(Buffer.alloc(20_000_000))))
    else socket.write(answerOf(200, { 'content-encoding': 'gzip' }, '\x01not packed at all'))
  })
  const get = async (path: string) => {
    const { outcome } = await page(connections, pageOrder(site.origin, path, { meta: { depth: 1 } }), { sink })
    const ref = outcome?.kind === 'fetched' ? outcome.archive : undefined
    if (ref === undefined) throw new Error(JSON.stringify(outcome))
    const body = await readFile(join(dir, ref.file))
    expect([ref.offset, ref.length]).toEqual([0, body.length])
    return { body, note: JSON.parse(await readFile(join(dir, ref.file.replace(/body$/, 'json')), 'utf8')) }
  }
  const packed = await get('/packed')
  expect(packed.body.toString()).toBe('<p>unpacked')
  expect(packed.note).toMatchObject({
    url: `${site.origin}/packed`,
    status: 200,
    coding: 'gzip',
    cut: false,
    truncated: '',
    id: 'id-1',
    meta: { depth: 1 },
    digest: expect.stringMatching(/^sha1:[A-Z2-7]{32}$/),
  })
  const bomb = await get('/bomb')
  expect(bomb.note.cut).toBe('ratio')
  expect(bomb.body.length).toBeLessThan(3_000_000)
  const wrong = await get('/wrong')
  expect(wrong.body.toString()).toBe('\x01not packed at all')
  expect(wrong.note.undecodable).toContain('gzip')
  const [host] = await readdir(dir)
  expect(host).toBe(`127.0.0.1_${site.port}`)
  expect((await readdir(join(dir, host ?? ''))).filter((name) => name.endsWith('.part'))).toEqual([])
})

test('twelve pages that unpack to 24 MiB each, all at once, never lie in memory together', async () => {
  const dir = join(folder, 'many')
  const sink = await openSink('folder', { ...options, folder: dir })
  // 1 KiB of noise in every 32: below the relation at which a page is cut
  const unpacked = Buffer.alloc(24 * 1024 * 1024)
  for (let at = 0; at < unpacked.length; at += 32_768) randomFillSync(unpacked, at, 1_024)
  const body = gzipSync(unpacked)
  const site = await rawOrigin(answerOf(200, { 'content-encoding': 'gzip' }, body).toString('latin1'))
  const answers: Answer[] = []
  for (let n = 0; n < 12; n++) {
    const at = await ask(connections, site.origin, { path: `/${n}`, maxBytes: 10_000_000 })
    if (at.kind !== 'answered' || at.truncated !== '') throw new Error(JSON.stringify(at))
    answers.push(at)
  }
  const outside = () => process.memoryUsage().external
  const before = outside()
  let most = 0
  const watch = setInterval(() => {
    most = Math.max(most, outside() - before)
  }, 5)
  const signal = new AbortController().signal
  const pages = answers.map((answer, n): Page => ({
    kind: 'page',
    url: `${site.origin}/${n}`,
    agent: 'x',
    requestHead: '',
    answer,
  }))
  const refs = await Promise.all(pages.map((one) => sink.store(one, signal)))
  clearInterval(watch)
  expect(refs.map((ref) => ref?.length)).toEqual(refs.map(() => unpacked.length))
  expect((await readFile(join(dir, refs[11]?.file ?? ''))).equals(unpacked)).toBe(true)
  expect(most, 'of 288 MiB that come out').toBeLessThan(128 * 1024 * 1024)
  await Promise.all(answers.map(({ body: one }) => one.discard()))
})

test('a sink of one’s own: the module in the README does what it says', async () => {
  const readme = await readFile(new URL('../../../services/fetcher/README.md', import.meta.url), 'utf8')
  const [, code = ''] = /```js\n(.*?)```/s.exec(readme) ?? []
  const path = join(folder, 'own.mjs')
  await writeFile(path, code)
  const sink = await openSink(path, { ...options, folder })
  const site = await rawOrigin(answerOf(200, {}, 'mine').toString('latin1'))
  const { outcome } = await page(connections, pageOrder(site.origin, '/x', { meta: { depth: 1 } }), { sink })
  expect(outcome).toMatchObject({ kind: 'fetched' })
  expect(outcome).not.toHaveProperty('archive')
  await sink.close()
  const lines = (await readFile(join(folder, 'pages.ndjson'), 'utf8')).trim().split('\n')
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    { url: `${site.origin}/x`, status: 200, bytes: 4, meta: { depth: 1 } },
  ])
})

test('the README names each setting of the fetcher with its default', async () => {
  const readme = await readFile(new URL('../../../services/fetcher/README.md', import.meta.url), 'utf8')
  const config = readConfig({ REDIS_URL: 'redis://127.0.0.1', DECORUM_CONTACT: 'a@b.example' })
  for (const name of [
    'FETCH_CONCURRENCY',
    'FETCH_PROCESSES',
    'PAGE_MAX_BYTES',
    'ARCHIVE_DIR',
    'PAGE_SINK',
    'HOST',
  ] as const) {
    const [, said = ''] = new RegExp(`\\| \`${name}\` \\| ([^|]+) \\|`).exec(readme) ?? []
    expect([name, said.replaceAll('`', '')]).toEqual([name, config[name] === '' ? 'empty' : String(config[name])])
  }
})

test.each([
  ['does-not-exist.mjs', '', 'a module that loads'],
  ['empty.mjs', 'export const a = 1', 'exports no function openSink'],
  ['wrong.mjs', 'export const openSink = async () => ({ store() {} })', 'openSink must give'],
  ['broken.mjs', 'export const openSink = (', 'a module that loads'],
])('a module that is no sink stops the start: %s', async (name, text, why) => {
  const path = join(folder, name)
  if (text !== '') await writeFile(path, text)
  await expect(openSink(path, options)).rejects.toThrow(why)
  await expect(openSink(path, options)).rejects.toMatchObject({ code: 'SETTINGS' })
})

test('folder without ARCHIVE_DIR stops the start', async () => {
  await expect(openSink('folder', options)).rejects.toThrow('ARCHIVE_DIR')
})

test.each(['warc', 'folder'])('a folder that cannot be made stops the start: %s', async (which) => {
  const inTheWay = join(folder, `file-${which}`)
  await writeFile(inTheWay, '')
  await expect(openSink(which, { ...options, folder: join(inTheWay, 'x') })).rejects.toMatchObject({
    code: 'SETTINGS',
    message: expect.stringContaining('ARCHIVE_DIR'),
  })
})

test('a sink that never comes back, or throws at once, costs the reference and no more', async () => {
  const site = await rawOrigin(answerOf(200, {}, 'x').toString('latin1'))
  const errors: string[] = []
  const visit = (sink: Sink) =>
    page(connections, pageOrder(site.origin), {
      sink,
      stats: { sinkFailed: (error) => errors.push((error as Error).message) },
    })
  const never = await visit({ keepsBodies: true, store: () => new Promise(() => {}), close: async () => {} })
  const throwing = await visit({
    keepsBodies: true,
    store: (_: Page) => {
      throw new Error('at once')
    },
    close: async () => {},
  })
  for (const { outcome } of [never, throwing]) expect(outcome).toMatchObject({ kind: 'fetched', bytes: 1 })
  expect(errors).toEqual([expect.stringContaining('within 5000 ms'), 'at once'])
})
