import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { Body } from '../../services/fetcher/src/body.ts'
import { base32 } from '../../services/fetcher/src/digest.ts'

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
    const kept = new Body(true)
    const counted = new Body(false)
    for (let at = 0; at < whole.length; ) {
      const size = next() < 0.5 ? Math.ceil(next() * 40) : Math.ceil(next() * 150_000)
      const chunk = whole.subarray(at, at + size)
      at += chunk.length
      await kept.write(Uint8Array.from(chunk))
      void counted.write(chunk)
    }
    const sha1 = hash('sha1', whole, 'hex')
    expect([kept.bytes, counted.bytes]).toEqual([whole.length, whole.length])
    expect([kept.digest().toString('hex'), counted.digest().toString('hex')]).toEqual([sha1, sha1])
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

test('base32 is RFC 4648', () => {
  expect(base32(Buffer.from('fooba'))).toBe('MZXW6YTB')
  expect(base32(hash('sha1', '', 'buffer'))).toBe('3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ')
})
