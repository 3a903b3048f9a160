import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { contentOf, openContent, writeReference } from '@decorum/content'
import { contentServer } from '@decorum/content/server'
import { openArchive } from '@decorum/fetcher/testing'
import { expect, onTestFinished, test } from 'vitest'
import { agentsOf } from '../fetcher/support/tools.ts'
import { answer, keep, newFolder } from './support/kept.ts'

const PAGE = '<!doctype html><title>Blåbær</title><a href="../two">two</a>'

test('a page reads while its file is written and after the file is finished, under the same reference', async () => {
  const folder = await newFolder()
  const sink = await openArchive(folder, agentsOf())
  const { ref, url } = await keep(sink, answer({ 'Content-Type': 'text/html', 'X-One': 'a' }, PAGE))
  expect(ref).toMatch(/^warc\+file:\/\/[a-z0-9.-]+\/.*\.warc\.gz\?offset=\d+&length=\d+$/)
  const during = await openContent(ref)
  expect(await during.text()).toBe(PAGE)
  await sink.close()
  const after = await openContent(ref)
  expect(after).toMatchObject({ status: 200, url })
  expect(after.headers.get('x-one')).toBe('a')
  expect(await after.text()).toBe(PAGE)
  expect(await after.links()).toEqual([{ url: new URL('/two', url).href, nofollow: false }])
})

test.each([
  ['gzip', gzipSync],
  ['x-gzip', gzipSync],
  ['deflate', deflateSync],
  ['deflate', deflateRawSync],
  ['br', brotliCompressSync],
  ['zstd', zstdCompressSync],
  ['gzip, br', (bytes: string) => brotliCompressSync(gzipSync(bytes))],
  ['identity', (bytes: string) => bytes],
] as const)('a body in content coding %s is undone for bytes, text, stream and links (%#)', async (coding, pack) => {
  const sink = await openArchive(await newFolder(), agentsOf())
  const fields = { 'Content-Type': 'text/html; charset=utf-8', 'Content-Encoding': coding }
  const { ref } = await keep(sink, answer(fields, pack(PAGE)))
  const content = await openContent(ref)
  expect(Buffer.from(await content.bytes()).toString()).toBe(PAGE)
  expect(await content.text()).toBe(PAGE)
  expect(Buffer.concat(await content.stream().toArray()).toString()).toBe(PAGE)
  expect(await content.links()).toHaveLength(1)
  await sink.close()
})

test.each([
  ['windows-1251', 'text/html; charset=windows-1251', '', [0xcf, 0xf0, 0xe8], 'При'],
  ['Shift_JIS by meta', 'text/html', '<meta charset="shift_jis">', [0x82, 0xa0], 'あ'],
  [
    'meta http-equiv',
    'text/html',
    '<meta http-equiv=content-type content="text/html; charset=euc-kr">',
    [0xb0, 0xa1],
    '가',
  ],
  ['the header wins over meta', 'text/html; charset="utf-8"', '<meta charset=koi8-r>', [0xc3, 0xa9], 'é'],
  ['a byte order mark wins over the header', 'text/html; charset=koi8-r', '\xef\xbb\xbf', [0xc3, 0xa9], 'é'],
  ['UTF-16 by its byte order mark', 'text/html', '\xff\xfe', [0x42, 0x04], 'т'],
  ['nothing said, and it is UTF-8', 'text/html', '', [0xe2, 0x82, 0xac], '€'],
  ['nothing said, and it is not: windows-1252', 'text/html', '', [0x80, 0xe9], '€é'],
  ['a charset that does not exist is as if none were named', 'text/html; charset=bogus', '', [0xc3, 0xa9], 'é'],
  ['latin1 means windows-1252', 'text/html; charset=iso-8859-1', '', [0x93, 0x94], '“”'],
  ['XML by its declaration', 'application/xml', '<?xml version="1.0" encoding="windows-1250"?>', [0xb9], 'ą'],
  ['x-user-defined', 'text/plain; charset=x-user-defined', '', [0x80], '\uf780'],
])('text is decoded: %s', async (_name, type, before, bytes, expected) => {
  const sink = await openArchive(await newFolder(), agentsOf())
  const { ref } = await keep(
    sink,
    answer({ 'Content-Type': type }, Buffer.concat([Buffer.from(before, 'latin1'), Buffer.from(bytes)])),
  )
  const text = await (await openContent(ref)).text()
  expect(text.endsWith(expected)).toBe(true)
  await sink.close()
})

test('a large page is read as a stream, from the file and over HTTP alike', async () => {
  const folder = await newFolder()
  const sink = await openArchive(folder, agentsOf())
  const body = randomBytes(900_000)
  const { ref, file, offset, length } = await keep(sink, answer({ 'Content-Type': 'application/octet-stream' }, body))
  expect(length).toBeGreaterThan(256 * 1024)
  expect(Buffer.from(await (await openContent(ref)).bytes()).equals(body)).toBe(true)
  const server = createServer(
    (request, response) =>
      void contentServer({ folders: async () => [folder], token: 'the-token-of-the-fleet' })(request, response),
  )
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const remote = writeReference(base, { name: file, offset, length })
  const content = await openContent(remote, { token: 'the-token-of-the-fleet', fetchers: [`${base}/`] })
  expect(Buffer.from(await content.bytes()).equals(body)).toBe(true)
  expect(Buffer.concat(await content.stream().toArray()).equals(body)).toBe(true)
  await sink.close()
})

test('what the fetcher cut off reads as far as it came, also in the midst of a content coding', async () => {
  const sink = await openArchive(await newFolder(), agentsOf())
  const words = Array.from({ length: 20_000 }, (_, at) => `word${at} `).join('')
  const packed = gzipSync(words)
  const { ref } = await keep(sink, answer({ 'Content-Encoding': 'gzip' }, packed), { maxBytes: packed.length >> 1 })
  const text = await (await openContent(ref)).text()
  expect(text.length).toBeGreaterThan(1_000)
  expect(words.startsWith(text)).toBe(true)
  await sink.close()
})

test('the content of an outcome opens nothing before it is asked, and knows status and headers', async () => {
  const reference = writeReference('/nowhere/at/all', { name: 'decorum-1.warc.gz', offset: 0, length: 10 })
  const content = contentOf(
    {
      url: 'http://a.test/',
      status: 404,
      headers: [
        ['X-A', 'b'],
        ['bad name', 'c'],
      ],
    },
    reference,
  )
  expect(content.status).toBe(404)
  expect([...content.headers]).toEqual([['x-a', 'b']])
  await expect(content.text()).rejects.toMatchObject({ name: 'ContentError', code: 'gone' })
})

test('no Content-Type: links of what begins like HTML, none of anything else', async () => {
  const sink = await openArchive(await newFolder(), agentsOf())
  const html = await keep(sink, answer({}, ` \n${PAGE}`))
  const other = await keep(sink, answer({}, `{"a": "<a href=x>"}`))
  const image = await keep(sink, answer({ 'Content-Type': 'image/png' }, PAGE))
  expect(await (await openContent(html.ref)).links()).toHaveLength(1)
  expect(await (await openContent(other.ref)).links()).toEqual([])
  expect(await (await openContent(image.ref)).links()).toEqual([])
  await sink.close()
})
