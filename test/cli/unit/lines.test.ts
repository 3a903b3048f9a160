/** What a list of URLs may look like. */

import { execFileSync } from 'node:child_process'
import { constants, mkdtempSync } from 'node:fs'
import { open, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Line, linesOf, openInput, withScheme } from '@decorum/cli/testing'
import { MAX_URL_CHARS } from '@decorum/protocol'
import { expect, onTestFinished, test } from 'vitest'

async function read(...chunks: (string | Uint8Array)[]): Promise<Line[]> {
  return readUpTo(undefined, ...chunks)
}
async function readUpTo(most: number | undefined, ...chunks: (string | Uint8Array)[]): Promise<Line[]> {
  async function* input(): AsyncGenerator<string | Uint8Array> {
    yield* chunks
  }
  return allOf(linesOf(input(), most))
}
async function allOf(found: AsyncIterable<Line>): Promise<Line[]> {
  const lines: Line[] = []
  for await (const line of found) lines.push(line)
  return lines
}

test('blank lines and comments are skipped but counted', async () => {
  expect(await read('# list\n\nhttp://a/\n   \n  # more\nhttp://b/\n')).toEqual([
    { number: 3, text: 'http://a/' },
    { number: 6, text: 'http://b/' },
  ])
})

test('LF, CRLF and CR alone end a line, the last one needs no end, a byte order mark is dropped', async () => {
  expect(await read('a\rb\r\rc\r\nd\n\re\r')).toEqual([
    { number: 1, text: 'a' },
    { number: 2, text: 'b' },
    { number: 4, text: 'c' },
    { number: 5, text: 'd' },
    { number: 7, text: 'e' },
  ])
  const bytes = new TextEncoder().encode('\uFEFFhttp://a/\r\nhttp://b/')
  expect(await read(bytes)).toEqual([
    { number: 1, text: 'http://a/' },
    { number: 2, text: 'http://b/' },
  ])
})

test('however the bytes are split into chunks, the lines are the same', async () => {
  for (const end of ['\n', '\r\n', '\r']) {
    const bytes = new TextEncoder().encode(`http://ä.example/日本${end}#x${end}${end}http://b/${end}`)
    const whole = await read(bytes)
    for (let at = 1; at < bytes.length; at++) expect(await read(bytes.slice(0, at), bytes.slice(at))).toEqual(whole)
    expect(await read(...[...bytes].map((octet) => Uint8Array.of(octet)))).toEqual(whole)
    expect(whole.map(({ number }) => number)).toEqual([1, 4])
  }
})

const encodings: [string, (text: string) => Buffer][] = [
  ['UTF-16 with its mark', (text) => Buffer.from(`\ufeff${text}`, 'utf16le')],
  ['UTF-16 with its mark, the other way', (text) => Buffer.from(`\ufeff${text}`, 'utf16le').swap16()],
  ['UTF-8 with its mark', (text) => Buffer.from(`\ufeff${text}`)],
  ['UTF-8', (text) => Buffer.from(text)],
]
test.each(encodings)('a list in %s is read, however it comes', async (_, encode) => {
  const text = 'http://a/é\r\n# ü\r\nhttp://b/日😀\n\nhttp://c/'
  const lines = [1, 3, 5].map((number) => ({ number, text: text.split('\n')[number - 1]?.trim() }))
  const bytes = encode(text)
  expect(await read(bytes)).toEqual(lines)
  expect(await read(...[...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(lines)
})

test.each<[string, Buffer, RegExp]>([
  [
    'Latin-1',
    Buffer.from('http://a/\r\n#\r\nhttp://b/caf\xe9\r\n', 'latin1'),
    /^line 3 is not in UTF-8: convert the list/,
  ],
  ['Latin-1 in the last character', Buffer.from('http://a/\nhttp://b/caf\xe9', 'latin1'), /^line 2 is not in UTF-8/],
  ['GBK', Buffer.from([0x68, 0x0a, 0x0a, 0xd6, 0xd0, 0xce, 0xc4]), /^line 3 is not in UTF-8/],
  ['UTF-16 without its mark', Buffer.from('http://a/\nhttp://b/', 'utf16le'), /^line 1 holds a NUL: .* UTF-16 without/],
  ['half of a character of UTF-16', Buffer.from('\ufeffhttp://a/', 'utf16le').subarray(0, 15), /UTF-16/],
  ['UTF-32', Buffer.from('fffe000068000000', 'hex'), /NUL/],
  ['gzip', Buffer.from([0x1f, 0x8b, 8, 0, 0, 0]), /packed with gzip/],
  ['an image', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0]), /^line 1 is not in UTF-8/],
])('%s is refused with the line, however it comes, and no line of it is made up', async (_, bytes, message) => {
  for (const chunks of [[bytes], [...bytes].map((byte) => Uint8Array.of(byte))]) {
    const refused = await read(...chunks).catch((error: Error) => error)
    expect(refused).toMatchObject({ message: expect.stringMatching(message) })
  }
})

test('a # behind a blank begins a comment, a tab another column; a fragment and a candidate are as they were', async () => {
  const lines = ['http://a/x # why', 'http://a/x\t#', 'http://a/x#y', 'http://a/my file.html', '{"url":"http://a/ #x"}']
  lines.push('http://a/x\t2026-11-27\t0.8', '\thttp://a/y\t', '{"url":\t"http://a/"}') // the parser of URLs drops a tab
  expect((await read(lines.join('\n'))).map(({ text }) => text)).toEqual([
    'http://a/x',
    'http://a/x',
    'http://a/x#y',
    'http://a/my file.html',
    '{"url":"http://a/ #x"}',
    'http://a/x',
    'http://a/y',
    '{"url":\t"http://a/"}',
  ])
})

test('a file is read through before: what is no list, or names nothing, is refused at once', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'decorum-lines-'))
  onTestFinished(() => rm(dir, { recursive: true }))
  const opened = async (bytes: Uint8Array | string): Promise<string> => {
    const file = join(dir, 'urls.txt')
    await writeFile(file, bytes)
    return openInput(file).then(
      (input) => input.destroy() && 'opened',
      (error: Error) => `${error.name}: ${error.message.replace(file, 'it')}`,
    )
  }
  const good = 'http://a/\n'.repeat(20_000)
  expect(await opened(good)).toBe('opened')
  expect(await opened(`${'# x\n\n'.repeat(50_000)}h`)).toBe('opened')
  for (const empty of ['', '\n \r\n', '\ufeff', '# only\r# comments', `${' '.repeat(200_000)}# x`])
    expect(await opened(empty)).toMatch(/^UsageError: it: the list is empty/)
  expect(await opened(Buffer.from(`${good}http://a/\xe9\n`, 'latin1'))).toMatch(
    /^UsageError: it: line 20001 is not in UTF-8/,
  )
  expect(await opened(Buffer.alloc(10))).toMatch(/^UsageError: it: line 1 holds a NUL/)
})

test.each([
  ['example.com/x', 'https://example.com/x'],
  ['//example.com/x', 'https://example.com/x'],
  ['www.example.co.uk', 'https://www.example.co.uk'],
  ['example.com:8080?x', 'http://example.com:8080?x'],
  ['bücher.example/é', 'https://bücher.example/é'],
  ['192.0.2.1/x', 'http://192.0.2.1/x'],
  ['example.com:443', 'https://example.com:443'],
  ['localhost:3000', 'http://localhost:3000'],
  ['http://example.com/', undefined],
  ['mailto:a@example.com', undefined],
  ['not a url', undefined],
  ['v1.2', undefined],
  ['/path/only.html', undefined],
])('%j without its scheme may be meant as %j', (text, meant) => {
  expect(withScheme(text)).toBe(meant)
})

test('a line of a megabyte is cut where its refusal is certain, and the next line is whole', async () => {
  const long = 'x'.repeat(1_000_000)
  const pieces = Array.from({ length: 100 }, (_, n) => long.slice(n * 10_000, (n + 1) * 10_000))
  for (const ends of [['\nhttp://b/\n'], ['\r', 'http://b/\r'], ['\r', '\nhttp://b/']])
    expect((await read(...pieces, ...ends)).map(({ number, text }) => [number, text.length])).toEqual([
      [1, MAX_URL_CHARS + 1],
      [2, 9],
    ])
})

test('where longer lines are wanted they come whole, and those that are too long are cut there', async () => {
  const line = 'x'.repeat(100_000)
  const [whole] = await readUpTo(100_000, line.slice(0, 40_000), line.slice(40_000), '\ny')
  expect(whole?.text.length).toBe(100_000)
  const [cut, next] = await readUpTo(99_998, line, line, '\ny')
  expect([cut?.text.length, next]).toEqual([99_999, { number: 2, text: 'y' }])
})

test('what cannot be read is a usage error that says why', async () => {
  await expect(openInput('/nowhere/urls.txt')).rejects.toThrow(
    '/nowhere/urls.txt cannot be read: there is no such file',
  )
  await expect(openInput('/')).rejects.toThrow('/ cannot be read: it is a folder, and a file is needed')
})

test('a named pipe is read when somebody writes to it; until then it can be given up', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'decorum-lines-'))
  const pipe = join(dir, 'pipe')
  execFileSync('/usr/bin/mkfifo', [pipe])
  onTestFinished(async () => {
    await (await open(pipe, constants.O_RDWR | constants.O_NONBLOCK)).close() // lets go whoever still waits for a writer
    await rm(dir, { recursive: true })
  })
  const givenUp = await openInput(pipe)
  const reading = allOf(linesOf(givenUp)).catch(() => 'given up')
  givenUp.destroy()
  expect(await reading).toBe('given up')

  const lines = allOf(linesOf(await openInput(pipe)))
  const writer = await open(pipe, 'w')
  await writer.writeFile('http://a/\nhttp://b/\n')
  await writer.close()
  expect((await lines).map(({ text }) => text)).toEqual(['http://a/', 'http://b/'])
})
