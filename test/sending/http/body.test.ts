import { hash } from 'node:crypto'
import { base32 } from '@decorum/protocol'
import { Body, DiscardedBodyError, sha1 } from '@decorum/sending/testing'
import { expect, test } from 'vitest'

const joined = async (body: Body): Promise<Buffer> => {
  const chunks: Uint8Array[] = []
  for await (const chunk of body.read()) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** A small generator of its own (mulberry32), so that a seed replays a run. */
function random(seed: number): () => number {
  let a = seed
  return () => {
    a = (a + 0x6d2b79f5) | 0
    let t = Math.imul(a ^ (a >>> 15), 1 | a)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

test('however a body is cut into chunks, its octets, count and digest are the same', async () => {
  const seed = Number(process.env.SEED ?? Date.now() % 1_000_000)
  console.log(`body: SEED=${seed}`)
  const next = random(seed)
  for (let round = 0; round < 120; round++) {
    const whole = Buffer.alloc(Math.floor(next() ** 3 * 700_000), `${round}abc`)
    const startBytes = next() < 0.5 ? 10_000 : 0
    const kept = new Body(true, startBytes)
    const counted = new Body(false, startBytes)
    for (let at = 0; at < whole.length;) {
      const size = next() < 0.5 ? Math.ceil(next() * 40) : Math.ceil(next() * 150_000)
      const chunk = whole.subarray(at, at + size)
      at += chunk.length
      await kept.write(Uint8Array.from(chunk))
      void counted.write(Uint8Array.from(chunk)) // a body's chunks are its own: it gives their memory back
    }
    const sha1 = hash('sha1', whole, 'hex')
    expect([kept.bytes, counted.bytes]).toEqual([whole.length, whole.length])
    for (const body of [kept, counted])
      expect(Buffer.concat(body.start()).equals(whole.subarray(0, startBytes)), `start of ${whole.length}`).toBe(true)
    const digests = [await kept.digest(), await counted.digest()]
    expect(digests.map((digest) => Buffer.from(digest).toString('hex'))).toEqual([sha1, sha1])
    expect((await joined(kept)).equals(whole)).toBe(true)
    await kept.discard()
  }
})

test('a hundred thousand chunks of one octet are gathered', async () => {
  const body = new Body(true)
  for (let i = 0; i < 100_000; i++) void body.write(Buffer.from([i & 255]))
  expect(body.inMemory()?.length).toBeLessThan(20)
  expect((await joined(body)).length).toBe(100_000)
})

test('digests that are made at the same time do not meddle with each other, whatever their size', async () => {
  const sizes = [0, 1, 2_000, 32_767, 32_768, 100_000, 131_072, 163_840, 163_841, 500_000]
  const bodies = Array.from({ length: 60 }, (_, n) =>
    Buffer.alloc(sizes[n % sizes.length] as number, `${n} is not ${n + 1}`),
  )
  const digests = await Promise.all(bodies.map(async (body) => sha1([body.subarray(0, 17), body.subarray(17)])))
  expect(digests.map((digest) => Buffer.from(digest).toString('hex'))).toEqual(
    bodies.map((body) => hash('sha1', body, 'hex')),
  )
})

test('memory of a body that nobody reads is given back after the tick; what Node shares stays', async () => {
  const body = new Body(false)
  const large = [new Uint8Array(60_000).fill(1), new Uint8Array(60_000).fill(2), new Uint8Array(60_000).fill(3)]
  for (const chunk of large) void body.write(chunk)
  const text = 'a smaller one lies in a pool with others. '.repeat(100)
  const shared = Buffer.from(text)
  void body.write(shared)
  const digest = await body.digest()
  await new Promise((resolve) => setImmediate(resolve))
  expect(large.map(({ buffer }) => buffer.byteLength)).toEqual([0, 0, 0])
  expect(shared.toString()).toBe(text)
  const whole = Buffer.concat([...[1, 2, 3].map((n) => Buffer.alloc(60_000, n)), shared])
  expect(Buffer.from(digest).toString('hex')).toBe(hash('sha1', whole, 'hex'))
  const kept = new Body(true)
  const chunk = new Uint8Array(60_000).fill(1)
  void kept.write(chunk)
  await kept.digest()
  await kept.discard()
  await new Promise((resolve) => setImmediate(resolve))
  expect(chunk.byteLength).toBe(60_000) // whoever read it may still hold it
})

test('base32 is RFC 4648', () => {
  expect(base32(Buffer.from('fooba'))).toBe('MZXW6YTB')
  expect(base32(hash('sha1', '', 'buffer'))).toBe('3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ')
})

test.each([1_000, 400_000])(
  'a body of %i octets that was let go cannot be read, digested or looked at',
  async (size) => {
    const body = new Body(true)
    await body.write(Buffer.alloc(size, 'abc'))
    await body.digest()
    await body.discard()
    await expect(joined(body)).rejects.toThrow(DiscardedBodyError)
    expect(() => body.inMemory()).toThrow(DiscardedBodyError)
    expect(() => body.digest()).toThrow(DiscardedBodyError)
  },
)

test.each([
  ['in memory', [30_000, 30_000, 30_000]],
  ['in a temporary file', [200_000, 200_000]],
  ['in both', [200_000, 30_000, 30_000]],
])(
  'a body that is let go while it is read breaks off with an error, never as if it had ended: %s',
  async (_, sizes) => {
    for (let pieces = 1; ; pieces++) {
      const body = new Body(true)
      for (const size of sizes) await body.write(Buffer.alloc(size, 'abc'))
      const reading = body.read()
      let seen = 0
      for (let n = 0; n < pieces; n++) seen += (await reading.next()).value?.length ?? 0
      await body.discard()
      await expect(reading.next()).rejects.toThrow(DiscardedBodyError)
      if (seen === body.bytes) break
    }
  },
)
