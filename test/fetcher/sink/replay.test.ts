/** What replay tools need of an archive: a complete index beside every file, also of killed writers, and records for pages that are as they were. */

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, copyFile, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openContent } from '@decorum/client'
import { openArchive, openSink, type Sink } from '@decorum/fetcher/testing'
import type { ArchiveRef, Outcome, RequestShape } from '@decorum/protocol'
import { systemClock } from '@decorum/protocol'
import { expect, onTestFinished, test } from 'vitest'
import { page, pageOrder } from '../support/orders.ts'
import { python } from '../support/python.ts'
import { answerOf, rawOrigin } from '../support/raw-origin.ts'
import { agentsOf, testConnections } from '../support/tools.ts'

const connections = testConnections()

async function newFolder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'decorum-replay-'))
  onTestFinished(() => rm(made, { recursive: true, force: true }))
  return made
}
const endings = async (dir: string): Promise<string[]> =>
  (await readdir(dir)).map((name) => name.replace(/^.*?\.(?=warc|cdxj)/, '')).sort()

type Fetched = Extract<Outcome, { kind: 'fetched' }>
async function visit(sink: Sink, origin: string, path: string, request?: RequestShape): Promise<Fetched> {
  const order = pageOrder(origin, path, request === undefined ? {} : { request })
  const ledger = { clock: systemClock, wall: () => Date.now(), partitionOf: () => 0 } // the records are told apart by their times
  const { outcome } = await page(connections, order, { sink, ledger })
  if (outcome?.kind !== 'fetched') throw new Error(JSON.stringify(outcome))
  return outcome
}

test('a killed writer: the next one on its folder finishes its file and its index, and each page replays', async () => {
  const dir = await newFolder()
  const child = fork(new URL('../support/archive-child.ts', import.meta.url), [dir], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const told: (ArchiveRef & { url: string })[] = []
  child.on('message', (ref: ArchiveRef) => told.push({ ...ref, url: `http://127.0.0.1/${told.length}` }))
  await expect.poll(() => told.length).toBeGreaterThan(60)
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(await endings(dir)).toEqual(['warc.gz.open'])
  const [left = ''] = await readdir(dir)
  await appendFile(join(dir, left), Buffer.from([0x1f, 0x8b, 8, 0, 1])) // and broke off within a record

  const sink = await openArchive(dir, agentsOf())
  await expect.poll(() => endings(dir)).toEqual(['cdxj', 'warc.gz'])
  await sink.close()
  const [index = '', file = ''] = (await readdir(dir)).sort()
  expect((await python('check', join(dir, file))).out).toMatch(/responses (\d+) requests/)
  const { code, out } = await python('cdxj', join(dir, index))
  expect(code, out).toBe(0)
  expect(Number(/lines (\d+)/.exec(out)?.[1])).toBeGreaterThanOrEqual(told.length)
  const replayed = await python('replay', dir, ...told.map(({ url }) => url))
  expect(replayed.code, replayed.out).toBe(0)
  for (const [nth, { ref = '' }] of told.entries()) {
    expect(replayed.out.split('\n')[nth]).toMatch(new RegExp(`^200 text/plain page ${nth} page ${nth} `))
    expect(await (await openContent(ref)).text()).toContain(`page ${nth} `)
  }
})

test('an index made from the records is the one that their writer would have written', async () => {
  const dir = await newFolder()
  const sink = await openArchive(dir, agentsOf())
  const site = await rawOrigin((socket, { path, head }) => {
    if (path === '/none') socket.write(answerOf(404, {}, ''))
    else if (/if-none-match/.test(head)) socket.write('HTTP/1.1 304 Not Modified\r\nETag: "a"\r\n\r\n')
    else if (path === '/moved') socket.write(answerOf(301, { location: '/none' }, 'moved'))
    else
      socket.write(answerOf(200, { 'content-type': 'Text/HTML; charset=x', 'x-odd': 'a:b' }, `<p>${path}\r\n\r\nmore`))
  })
  for (const path of ['/b', '/a?z=1&b=2', '/A', '/none', '/%C3%BC']) await visit(sink, site.origin, path)
  await page(connections, pageOrder(site.origin, '/moved'), { sink })
  const { digest } = await visit(sink, site.origin, '/b', { ifNoneMatch: '"x"' })
  await visit(sink, site.origin, '/b', { ifNoneMatch: '"x"', knownDigest: digest })
  await visit(sink, site.origin, '/a', { knownDigest: (await visit(sink, site.origin, '/a')).digest })
  await sink.close()
  const [index = '', file = ''] = (await readdir(dir)).sort()
  const written = await readFile(join(dir, index), 'utf8')
  expect(written.trim().split('\n')).toHaveLength(10)
  const other = await newFolder()
  await copyFile(join(dir, file), join(other, `${file}.open`))
  await (await openArchive(other, agentsOf())).close()
  expect((await readdir(other)).sort()).toEqual([index, file])
  expect(await readFile(join(other, index), 'utf8')).toBe(written)
})

test('a file of a writer that is at work is left alone', async () => {
  const dir = await newFolder()
  const sink = await openArchive(dir, agentsOf())
  const site = await rawOrigin(answerOf(200, {}, 'x').toString('latin1'))
  await visit(sink, site.origin, '/')
  const child = fork(new URL('../support/archive-child.ts', import.meta.url), [dir], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  await once(child, 'message')
  const second = await openArchive(dir, agentsOf())
  await second.close()
  expect((await endings(dir)).filter((ending) => ending === 'warc.gz.open').length).toBeGreaterThanOrEqual(1)
  child.kill('SIGKILL')
  await once(child, 'exit')
  await sink.close()
})

test('pages that are as they were: 304 and the same bytes become revisit records, which replay as the page', async () => {
  const dir = await newFolder()
  const sink = await openArchive(dir, agentsOf())
  let version = 1
  const site = await rawOrigin((socket, { path, head }) => {
    if (path === '/tagged' && head.includes(`if-none-match: "v${version}"`))
      socket.write(`HTTP/1.1 304 Not Modified\r\nETag: "v${version}"\r\n\r\n`)
    else
      socket.write(answerOf(200, { etag: `"v${version}"`, 'content-type': 'text/plain' }, `${path} version ${version}`))
  })
  const urls = ['/tagged', '/plain'].map((path) => site.origin + path)
  const replay = async (): Promise<string[]> => {
    const { code, out } = await python('replay', dir, ...urls)
    expect(code, out).toBe(0)
    return out.trim().split('\n')
  }
  const tagged = await visit(sink, site.origin, '/tagged')
  const plain = await visit(sink, site.origin, '/plain')
  expect([tagged.unchanged, plain.unchanged]).toEqual([undefined, undefined])

  const again = await visit(sink, site.origin, '/tagged', { ifNoneMatch: '"v1"', knownDigest: tagged.digest })
  const same = await visit(sink, site.origin, '/plain', { knownDigest: plain.digest })
  expect(again).toMatchObject({ status: 304, unchanged: true, bytes: 0 })
  expect(same).toMatchObject({ status: 200, unchanged: true, digest: plain.digest })
  expect([again.archive, same.archive], 'no page lies there').toEqual([undefined, undefined])
  await sink.close()
  expect(await replay()).toEqual(['200 warc/revisit /tagged version 1', '200 warc/revisit /plain version 1'])
  const [file = ''] = (await readdir(dir)).filter((name) => name.endsWith('.warc.gz'))
  const checked = await python('check', join(dir, file))
  expect(checked.code, checked.out).toBe(0)
  expect(checked.out).toContain('kinds: warcinfo response request response request revisit request revisit request')

  version = 2
  const seconds = (): number => Math.floor(Date.now() / 1000)
  const before = seconds()
  await expect.poll(seconds).toBeGreaterThan(before) // an index tells captures apart by the second
  const second = await openArchive(dir, agentsOf())
  const changed = await visit(second, site.origin, '/plain', { knownDigest: plain.digest })
  expect(changed.unchanged).toBeUndefined()
  expect(await (await openContent(changed.archive?.ref ?? '')).text()).toBe('/plain version 2')
  await second.close()
  expect((await replay())[1]).toBe('200 text/plain /plain version 2')
})

test('the same bytes count only when they are the whole of a good answer; a sink that keeps no revisits is not asked', async () => {
  const site = await rawOrigin((socket, { path }) => {
    socket.write(answerOf(path === '/gone' ? 404 : 200, {}, 'the same bytes'))
  })
  const dir = await newFolder()
  const sink = await openSink('folder', { folder: dir, agents: agentsOf() })
  const { digest } = await visit(sink, site.origin, '/')
  expect(await visit(sink, site.origin, '/', { knownDigest: digest })).toMatchObject({ unchanged: true })
  expect((await visit(sink, site.origin, '/gone', { knownDigest: digest })).unchanged).toBeUndefined()
  const cut = await visit(sink, site.origin, '/', { maxBytes: 4 })
  expect(await visit(sink, site.origin, '/', { maxBytes: 4, knownDigest: cut.digest })).not.toHaveProperty('unchanged')
  await sink.close()
  const none = await openSink('none', { folder: '', agents: agentsOf() })
  expect(await visit(none, site.origin, '/', { knownDigest: digest })).toMatchObject({ unchanged: true })
})
