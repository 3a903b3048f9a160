/** Content codings: what was packed comes back whole, in whatever pieces it came, and what servers get wrong is overlooked and marked. */
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { ContentError, unpacked } from '@decorum/content/coding'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

type Options = { complete?: boolean; mostBetween?: number }
async function read(
  body: Uint8Array,
  codings: string[],
  { complete = true, mostBetween = 1e9 }: Options = {},
  step = 0,
) {
  const marks: string[] = []
  const pieces: Uint8Array[] = []
  const source = step === 0 ? [body] : piecesOf(body, step)
  const overlooked = (mark: string): void => void marks.push(mark)
  for await (const piece of unpacked(source, codings, { complete, mostBetween, overlooked })) pieces.push(piece)
  return { bytes: Buffer.concat(pieces), marks }
}
function* piecesOf(body: Uint8Array, step: number): Generator<Uint8Array> {
  for (let at = 0; at < body.length; at += step) yield body.subarray(at, at + step)
}

const PACK: Record<string, (body: Uint8Array) => Buffer> = {
  gzip: (body) => gzipSync(body),
  deflate: (body) => deflateSync(body),
  br: (body) => brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
  zstd: (body) => zstdCompressSync(body),
}
const coding = fc.constantFrom(...Object.keys(PACK))
const body = fc.oneof(
  fc.uint8Array({ maxLength: 4_000 }),
  fc.string({ maxLength: 4_000 }).map((text) => Buffer.from(text)),
)

test('up to three codings, in pieces of any size, come back as they were packed', async () => {
  await fc.assert(
    fc.asyncProperty(
      body,
      fc.array(coding, { maxLength: 3 }),
      fc.integer({ min: 1, max: 70 }),
      async (plain, codings, step) => {
        const packed = codings.reduce((octets: Uint8Array, name) => PACK[name]?.(octets) ?? octets, plain)
        const { bytes, marks } = await read(packed, codings, {}, step)
        expect([bytes.equals(plain), marks]).toEqual([true, []])
      },
    ),
    { numRuns: 60 },
  )
})

test('octets behind the end are overlooked, in pieces of any size', async () => {
  const behind = fc.constantFrom('\r\n', '\0\0\0', 'x'.repeat(300), '<!-- cached -->')
  await fc.assert(
    fc.asyncProperty(body, coding, behind, fc.integer({ min: 1, max: 400 }), async (plain, name, more, step) => {
      const packed = Buffer.concat([PACK[name]?.(plain) as Buffer, Buffer.from(more)])
      const { bytes, marks } = await read(packed, [name], {}, step)
      expect([bytes.equals(plain), marks]).toEqual([true, ['coding-trailing-octets']])
    }),
    { numRuns: 80 },
  )
})

test('a body that is cut anywhere gives its beginning, and never passes for whole', async () => {
  const cut = fc.double({ min: 0, max: 0.999, noNaN: true })
  const long = fc.uint8Array({ minLength: 40, maxLength: 4_000 })
  await fc.assert(
    fc.asyncProperty(long, coding, cut, fc.integer({ min: 1, max: 400 }), async (plain, name, share, step) => {
      const packed = PACK[name]?.(plain) as Buffer
      const trailer = { gzip: 8, deflate: 4 }[name] ?? 0
      const part = packed.subarray(0, Math.max(4, Math.floor((packed.length - trailer) * share)))
      const { bytes, marks } = await read(part, [name], {}, step)
      expect(bytes.equals(Buffer.from(plain).subarray(0, bytes.length))).toBe(true)
      expect(marks).toEqual(['coding-cut'])
      expect((await read(part, [name], { complete: false }, step)).marks).toEqual([])
    }),
    { numRuns: 80 },
  )
})

describe('the head of gzip', () => {
  const packed = gzipSync('some words')
  const withHead = (flags: number, ...fields: Uint8Array[]): Buffer => {
    const head = Buffer.from(packed.subarray(0, 10))
    head[3] = flags
    return Buffer.concat([head, ...fields, packed.subarray(10)])
  }
  const name = Buffer.from(`${'name'.repeat(900)}\0`)
  test.each([
    ['extra field', withHead(4, Buffer.from([3, 0, 1, 2, 3]))],
    ['name', withHead(8, name)],
    ['name and comment', withHead(24, name, Buffer.from('comment\0'))],
    ['checksum of the head', withHead(2, Buffer.from([1, 2]))],
    ['all of these', withHead(30, Buffer.from([1, 0, 9]), name, name, Buffer.from([1, 2]))],
  ])('with %s is read', async (_, octets) => {
    expect((await read(octets, ['gzip'], {}, 7)).bytes.toString()).toBe('some words')
  })
  test('that never ends is no gzip', async () => {
    await expect(read(withHead(8, Buffer.alloc(300_000, 65)), ['gzip'])).rejects.toMatchObject({ code: 'undecodable' })
  })
})

test('a body of very many members or frames is refused', async () => {
  for (const name of ['gzip', 'zstd']) {
    const many = Buffer.concat(Array.from({ length: 201 }, () => PACK[name]?.(Buffer.from('a')) as Buffer))
    await expect(read(many, [name]), name).rejects.toMatchObject({ code: 'undecodable' })
  }
})

test('what comes out between two codings is bounded as well', async () => {
  const bomb = gzipSync(gzipSync(Buffer.alloc(4_000_000), { level: 0 }))
  await expect(read(bomb, ['gzip', 'gzip'], { mostBetween: 1_000_000 })).rejects.toMatchObject({ code: 'too-large' })
})

test.each([
  ['text', Buffer.from('as plain as it gets')],
  ['nothing', Buffer.alloc(0)],
  ['UTF-16', Buffer.from('\ufeffas plain as it gets', 'utf16le')],
  ['an image', Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1')],
  ['a document', Buffer.from('%PDF-1.7\n\0\x01', 'latin1')],
])('a word that is no coding, and a coding that is not applied: %s is read', async (_, plain) => {
  for (const word of ['none', 'binary', 'utf-8', 'compress'])
    expect(await read(plain, [word])).toEqual({ bytes: plain, marks: ['coding-unknown'] })
  for (const name of Object.keys(PACK))
    expect(await read(plain, [name])).toEqual({ bytes: plain, marks: plain.length === 0 ? [] : ['coding-misnamed'] })
})

test('an unknown coding of a body that is no text is undecodable', async () => {
  for (const codings of [['compress'], ['none', 'gzip'], ['gzip', 'none']]) {
    const octets = codings.includes('gzip') ? gzipSync(Buffer.from([1, 2, 3])) : Buffer.from([1, 2, 3])
    await expect(read(octets, codings)).rejects.toBeInstanceOf(ContentError)
  }
})

test('an error of the source is passed on as it is', async () => {
  const failure = new Error('the disk is gone')
  const source = (async function* () {
    yield gzipSync('a')
    throw failure
  })()
  const reading = async (): Promise<void> => {
    const options = { complete: true, mostBetween: 1e9, overlooked: () => {} }
    for await (const _ of unpacked(source, ['gzip', 'none'], options));
  }
  await expect(reading()).rejects.toBe(failure)
})

test('deflate with and without its wrapper', async () => {
  for (const packed of [deflateSync('some words'), deflateRawSync('some words')])
    expect((await read(packed, ['deflate'], {}, 3)).bytes.toString()).toBe('some words')
})
