/** What a list of URLs may look like. */

import { execFileSync } from 'node:child_process'
import { constants, mkdtempSync } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Line, linesOf, openInput } from '@decorum/cli/testing'
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

test('a line of a megabyte is cut where its refusal is certain, and the next line is whole', async () => {
  const long = 'x'.repeat(1_000_000)
  const pieces = Array.from({ length: 100 }, (_, n) => long.slice(n * 10_000, (n + 1) * 10_000))
  for (const ends of [['\nhttp://b/\n'], ['\r', 'http://b/\r'], ['\r', '\nhttp://b/']])
    expect((await read(...pieces, ...ends)).map(({ number, text }) => [number, text.length])).toEqual([
      [1, 8_193],
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
  await expect(openInput('/')).rejects.toThrow('/ cannot be read: it is a directory')
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
