import { once } from 'node:events'
import { readdir, readFile, readlink, symlink, truncate, writeFile } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { brotliCompressSync, createGzip, gzipSync, zstdCompressSync } from 'node:zlib'
import { openContent, writeReference } from '@decorum/content'
import { thisHost } from '@decorum/content/reference'
import { openArchive } from '@decorum/fetcher/testing'
import fc from 'fast-check'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { agentsOf } from '../fetcher/support/tools.ts'
import { answer, keep, newFolder } from './support/kept.ts'

const NAME = 'decorum-1.warc.gz'
const codeOf = (reference: string, options = {}): Promise<string> =>
  openContent(reference, options)
    .then((content) => content.bytes())
    .then(
      () => 'none',
      (error: Error & { code?: string }) =>
        error.name === 'ContentError' ? (error.code ?? '') : `${error.name}: ${error.message}`,
    )

test.each([
  '',
  'http://a.test/',
  'file:///etc/passwd',
  'warc+file:///etc/passwd?offset=0&length=10',
  'warc+file:///tmp/a/../b/decorum-1.warc.gz?offset=0&length=10',
  'warc+file:///tmp/a/%2e%2e/decorum-1.warc.gz?offset=0&length=10',
  'warc+file:///tmp/a%2fdecorum-1.warc.gz?offset=0&length=10',
  'warc+file:///tmp/decorum-1.warc.gz?offset=-1&length=10',
  'warc+file:///tmp/decorum-1.warc.gz?offset=0&length=0',
  'warc+file:///tmp/decorum-1.warc.gz?offset=0&length=1e3',
  'warc+file:///tmp/decorum-1.warc.gz?offset=00&length=10',
  'warc+file:///tmp/decorum-1.warc.gz?offset=9007199254740991&length=9007199254740991',
  'warc+file:///tmp/decorum-1.warc.gz?offset=0&length=10&length=20',
  'warc+file:///tmp/decorum-1.warc.gz?offset=0&length=10#x',
  'warc+file:///tmp/decorum-1.warc.gz\0?offset=0&length=10',
  'warc+file:///tmp/decorum-1.warc.gz.open?offset=0&length=10',
  'warc+http://a.test/b/decorum-1.warc.gz?offset=0&length=10',
  'warc+http://user:pass@a.test/decorum-1.warc.gz?offset=0&length=10',
  'warc+ftp://a.test/decorum-1.warc.gz?offset=0&length=10',
  `warc+file:///${'a/'.repeat(5_000)}decorum-1.warc.gz?offset=0&length=10`,
])('not a reference, and nothing is opened: %#', async (reference) => {
  expect(await codeOf(reference)).toBe('bad-reference')
})

test('whatever text is given as a reference ends in one ContentError', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        fc.string(),
        fc.string().map((text) => `warc+file:///${text}/${NAME}?offset=0&length=1`),
      ),
      async (text) => {
        expect(['bad-reference', 'gone', 'unavailable', 'elsewhere']).toContain(await codeOf(text))
      },
    ),
    { numRuns: 300 },
  )
})

test('a folder with any name gives a reference that reads back', async () => {
  const parts = fc.array(
    fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
      .filter((part) => !/[\0/]/.test(part) && part !== '.' && part !== '..' && part.isWellFormed()),
    { minLength: 1, maxLength: 4 },
  )
  await fc.assert(
    fc.asyncProperty(parts, fc.nat(), async (names, offset) => {
      const reference = writeReference(`/nowhere/${names.join('/')}`, { name: NAME, offset, length: 1 })
      expect(await codeOf(reference)).toBe('gone')
    }),
    { numRuns: 200 },
  )
})

test('a file of another machine is said to be there', async () => {
  const elsewhere = `warc+file://another-machine/var/${NAME}?offset=0&length=10`
  await expect(openContent(elsewhere)).rejects.toMatchObject({
    code: 'elsewhere',
    message: expect.stringContaining('another-machine'),
  })
})

test('a head of blanks is read in time that is in proportion to it', async () => {
  const sink = await openArchive(await newFolder(), agentsOf())
  const { ref } = await keep(sink, answer({ 'X-Blanks': `a${' \t'.repeat(125_000)}b`, 'X-End': ' c ' }, 'a page'))
  await sink.close()
  // a reading in the square of the head takes half a minute each time
  for (let times = 0; times < 30; times++) expect((await openContent(ref)).headers.get('x-end')).toBe('c')
})

test('a record that is cut off, flipped, overwritten, of another kind or followed by another one never reads as a page', async () => {
  const folder = await newFolder()
  const sink = await openArchive(folder, agentsOf())
  const { file, offset, length, ref } = await keep(
    sink,
    answer({ 'Content-Type': 'text/plain' }, 'a page of some words'),
  )
  await sink.close()
  const whole = await readFile(join(folder, file))
  const at = (from: number, bytes: number): string =>
    writeReference(folder, { name: file, offset: from, length: bytes })
  expect(await codeOf(ref)).toBe('none')
  expect(await codeOf(at(offset, length - 1)), 'cut off').toBe('damaged')
  expect(await codeOf(at(offset + 1, length)), 'not at its start').toBe('damaged')
  expect(await codeOf(at(0, offset)), 'the warcinfo record').toBe('damaged')
  expect(await codeOf(at(offset + length, whole.length - offset - length)), 'the request record').toBe('damaged')
  expect(await codeOf(at(offset, whole.length)), 'beyond the end of the file').toBe('damaged')
  for (let bit = 0; bit < length; bit++) {
    const broken = Buffer.from(whole)
    broken[offset + bit] = (broken[offset + bit] ?? 0) ^ 0x10
    await writeFile(join(folder, file), broken)
    // A flip that gzip cannot see (its time, the bits that fill the last byte) changes nothing of the page
    const read = await openContent(ref).then(
      (content) => content.text(),
      (error: { code: string }) => error.code,
    )
    expect(['damaged', 'a page of some words'], `byte ${bit}`).toContain(read)
    if (bit >= 10 && bit < length - 9) expect(read, `byte ${bit}`).toBe('damaged')
  }
  await truncate(join(folder, file), offset + 5)
  expect(await codeOf(ref), 'the file was cut').toBe('damaged')
})

test('whatever bytes lie in the file end in `damaged`', async () => {
  const folder = await newFolder()
  const record = (head: string): Buffer => gzipSync(head)
  const reference = (bytes: Uint8Array): string =>
    writeReference(folder, { name: NAME, offset: 0, length: bytes.length })
  const warc = 'WARC/1.1\r\nWARC-Type: response\r\nContent-Length: '
  const some = [
    record(''),
    record('WARC/1.1\r\n\r\n'),
    record(`${warc}5\r\n\r\nHTTP/1.1 200 OK\r\n\r\nx\r\n\r\n`),
    record(`${warc}99999999999\r\n\r\nHTTP/1.1 200 OK\r\n\r\nx\r\n\r\n`),
    record(`${warc}-1\r\n\r\nHTTP/1.1 200 OK\r\n\r\n`),
    record(`${warc}20\r\n\r\nFTP/1.1 200 OK\r\n\r\nx\r\n\r\n`),
    record(`WARC/1.1\r\n${'x'.repeat(70_000)}`),
    record(`WARC/1.1\r\n${'x'.repeat(3_000_000)}`),
    record(`${warc}4000000\r\n\r\nHTTP/1.1 200 OK\r\n${'x'.repeat(3_000_000)}`),
  ]
  for (const [at, bytes] of some.entries()) {
    await writeFile(join(folder, NAME), bytes)
    expect(await codeOf(reference(bytes)), `record ${at}`).toBe('damaged')
  }
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ minLength: 1 }), fc.boolean(), async (bytes, packed) => {
      const kept = packed ? gzipSync(bytes) : bytes
      await writeFile(join(folder, NAME), kept)
      expect(await codeOf(reference(kept))).toBe('damaged')
    }),
    { numRuns: 200 },
  )
})

test('a symbolic link with the name of an archive leads to nothing that is no record', async () => {
  const folder = await newFolder()
  await symlink('/etc/passwd', join(folder, NAME))
  expect(await codeOf(writeReference(folder, { name: NAME, offset: 0, length: 20 }))).toBe('damaged')
})

test('bodies that are not what their headers say: one clear error each', async () => {
  const sink = await openArchive(await newFolder(), agentsOf())
  const says = async (fields: Record<string, string>, body: Uint8Array | string): Promise<string> =>
    codeOf((await keep(sink, answer(fields, body))).ref)
  const binary = Buffer.from([0x01, 0x02, 0x03, 0x04, 0x05, 0xff, 0xff])
  for (const coding of ['gzip', 'deflate', 'br', 'zstd', 'compress', 'gzip, none', 'constructor'])
    expect(await says({ 'Content-Encoding': coding }, binary), coding).toBe('undecodable')
  expect(await says({ 'Content-Encoding': 'gzip' }, gzipSync('some words').subarray(0, 20))).toBe('undecodable')
  expect(await says({ 'Content-Encoding': 'gzip, gzip, gzip, gzip' }, 'x')).toBe('undecodable')
  expect(await says({ 'Content-Encoding': 'gzip' }, '')).toBe('none')
  const refused = await keep(sink, answer({ 'Content-Type': 'text/html; charset=iso-2022-kr' }, 'x'))
  await expect((await openContent(refused.ref)).text()).rejects.toMatchObject({ code: 'undecodable' })
  await sink.close()
})

test('decompression bombs stop at maxBytes, in bytes, text, stream and links, and as records', async () => {
  const folder = await newFolder()
  const sink = await openArchive(folder, agentsOf())
  const zeros = Buffer.alloc(60_000_000)
  const bombs = {
    gzip: gzipSync(zeros),
    br: brotliCompressSync(zeros),
    zstd: zstdCompressSync(zeros),
    'gzip, gzip': gzipSync(gzipSync(zeros)),
  }
  for (const [coding, bomb] of Object.entries(bombs)) {
    const { ref } = await keep(sink, answer({ 'Content-Type': 'text/html', 'Content-Encoding': coding }, bomb))
    const content = await openContent(ref, { maxBytes: 1_000_000 })
    const tooLarge = { code: 'too-large' }
    await expect(content.bytes(), coding).rejects.toMatchObject(tooLarge)
    await expect(content.text(), coding).rejects.toMatchObject(tooLarge)
    await expect(content.links(), coding).rejects.toMatchObject(tooLarge)
    let most = 0
    const read = async (): Promise<void> => {
      for await (const chunk of content.stream()) most += (chunk as Buffer).length
    }
    await expect(read(), coding).rejects.toMatchObject(tooLarge)
    expect(most).toBeLessThanOrEqual(1_000_000)
  }
  await sink.close()
  // The record itself: a gigabyte in one member, most of it body
  const member = await packed(1_000_000_000)
  await writeFile(join(folder, NAME), member)
  const reference = writeReference(folder, { name: NAME, offset: 0, length: member.length })
  expect(await codeOf(reference)).toBe('too-large')
  await expect.poll(() => openFilesIn(folder)).toEqual([])
})

/** The files of a folder that this process has open. */
async function openFilesIn(folder: string): Promise<string[]> {
  const open = (await readdir('/proc/self/fd')).map((one) => readlink(`/proc/self/fd/${one}`).catch(() => ''))
  return (await Promise.all(open)).filter((path) => path.startsWith(folder))
}

async function packed(bytes: number): Promise<Buffer> {
  const http = 'HTTP/1.1 200 OK\r\n\r\n'
  const gzip = createGzip({ level: 1 })
  const out = gzip.toArray()
  gzip.write(`WARC/1.1\r\nWARC-Type: response\r\nContent-Length: ${http.length + bytes}\r\n\r\n${http}`)
  const zeros = Buffer.alloc(10_000_000)
  for (let left = bytes; left > 0; left -= zeros.length)
    if (!gzip.write(zeros)) await new Promise((resolve) => gzip.once('drain', resolve))
  gzip.end('\r\n\r\n')
  return Buffer.concat(await out)
}

describe('a store that answers wrongly', async () => {
  const member = gzipSync('WARC/1.1\r\nWARC-Type: response\r\n\r\n')
  const asked: string[] = []
  let answering: (response: ServerResponse) => void = () => {}
  const elsewhere = createServer((request, response) => {
    asked.push(`elsewhere ${request.headers.authorization ?? ''}`)
    response.end()
  })
  const server = createServer((_, response) => answering(response))
  for (const one of [server, elsewhere]) one.listen(0, '127.0.0.1')
  await Promise.all([once(server, 'listening'), once(elsewhere, 'listening')])
  afterAll(() => {
    for (const one of [server, elsewhere]) one.closeAllConnections()
    for (const one of [server, elsewhere]) one.close()
  })
  const at = ({ address, port } = server.address() as AddressInfo): string => `http://${address}:${port}`
  const s3 = { endpoint: at(), region: 'us-east-1', accessKeyId: 'key', secretAccessKey: 'the-secret' }
  const name = 'decorum-20261122083000000-00000-a-1.warc.gz'
  const ref = `warc+s3://pages/crawl/${name}?offset=0&length=${member.length}&until=file%3A%2F%2F${thisHost()}%2Fnowhere`

  test.each<[string, string, (response: ServerResponse) => void]>([
    ['refuses the key', 'unavailable', (to) => to.writeHead(403).end('<Error><Code>AccessDenied</Code></Error>')],
    ['breaks down', 'unavailable', (to) => to.writeHead(500).end('x'.repeat(100_000))],
    ['sends the whole object instead of the range', 'unavailable', (to) => to.writeHead(200).end(member)],
    ['sends less', 'unavailable', (to) => to.writeHead(206).end(member.subarray(0, 9))],
    ['sends more', 'unavailable', (to) => to.writeHead(206).end(Buffer.concat([member, member]))],
    ['sends other bytes', 'damaged', (to) => to.writeHead(206).end(Buffer.alloc(member.length, 7))],
    ['sends a record that is no page', 'damaged', (to) => to.writeHead(206).end(member)],
    ['breaks off', 'unavailable', (to) => to.writeHead(206, { 'content-length': '99' }).write('x', () => to.destroy())],
    ['packs the answer', 'unavailable', (to) => to.writeHead(206, { 'content-encoding': 'gzip' }).end(member)],
    ['closes the connection', 'unavailable', (to) => to.destroy()],
    [
      'sends on to another host',
      'unavailable',
      (to) => to.writeHead(307, { location: at(elsewhere.address() as AddressInfo) }).end(),
    ],
  ])('that %s ends in one ContentError, without the secret', async (_, code, answer) => {
    answering = (response) => {
      answer(response)
    }
    const error = await openContent(ref, { s3 }).catch((thrown: Error) => thrown)
    expect(error).toMatchObject({ name: 'ContentError', code })
    expect(String((error as Error).message)).not.toContain('the-secret')
    expect(asked, 'signatures are for the store alone').toEqual([])
  })

  test('a fetcher or a console that sends on to another host: the token and the login stay', async () => {
    answering = (to) => to.writeHead(307, { location: at(elsewhere.address() as AddressInfo) }).end()
    const kept = ref.replace(/^warc\+s3:\/\/pages\/crawl(.*)&until=.*$/, `warc+${at()}$1`)
    const login = at().replace('//', '//decorum:the-secret@')
    for (const options of [{ token: 'the-secret', fetchers: [at()] }, { via: login }]) {
      const error = await openContent(kept, options).catch((thrown: Error) => thrown)
      expect(error).toMatchObject({ name: 'ContentError', code: 'unavailable' })
      expect(String((error as Error).message)).not.toContain('the-secret')
    }
    expect(asked).toEqual([])
  })

  test.each([
    'until=http://169.254.169.254',
    'until=http%3A%2F%2Fa%3Ab%40127.0.0.1',
    'until=file%3A%2F%2Fhost%2F..%2F..%2Fetc',
    'until=warc%2Bfile%3A%2F%2Fhost%2Fetc',
    'until=',
    'until=gopher%3A%2F%2F127.0.0.1',
    'until=http%3A%2F%2F127.0.0.1%2Fv1%2Fcontent%3Fref%3Dx',
  ])('a reference with %s is none', async (until) => {
    const text = ref.replace(/until=.*$/, until)
    await expect(openContent(text, { s3 })).rejects.toMatchObject({ code: 'bad-reference' })
  })
})

/** Sends pieces for as long as they are taken. */
async function endless(status: number, headers: Record<string, string>): Promise<{ base: string; sent: () => number }> {
  let sent = 0
  const server = createServer((_, response) => {
    response.writeHead(status, headers)
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536))) sent += 65_536
    }
    response.on('drain', more)
    more()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sent: () => sent }
}

test.each([
  ['more than the record', 200, 206],
  ['an error without end', 500, 403],
])('a keeper or a store that sends %s is not read on', async (_, ofKeeper, ofStore) => {
  const place = { name: NAME, offset: 0, length: 1_000 }
  const keeper = await endless(ofKeeper, {})
  expect(await codeOf(writeReference(keeper.base, place), { fetchers: [keeper.base] })).toBe('unavailable')
  const store = await endless(ofStore, {})
  const s3 = { endpoint: store.base, region: 'r', accessKeyId: 'a', secretAccessKey: 's' }
  const stored = writeReference(await newFolder(), place, { bucket: 'pages', prefix: '' })
  expect(await codeOf(stored, { s3 })).toBe('unavailable')
  // What fits into buffers of sockets and streams on the way, and not what comes in seconds
  for (const { sent } of [keeper, store]) expect(sent()).toBeLessThan(64 * 1024 * 1024)
})
