/** A robots.txt in another form than UTF-8 text: gzip that nothing names, and UTF-16. zlib is what the unpacker is compared with. */
import { constants, gzipSync } from 'node:zlib'
import { parseRobots, policies, ROBOTS_MAX_BYTES } from '@decorum/robots'
import { reportLines } from '@decorum/robots/report'
import { parseRules } from '@decorum/robots/rules'
import { gunzip } from '@decorum/robots/testing'
import { describe, expect, test } from 'vitest'
import { file, pick, random } from './support/files.ts'

const seed = Number(process.env.ROBOTS_SEED ?? Math.floor(Math.random() * 2 ** 31))
const rules = 'user-agent: *\ndisallow: /private/\nsitemap: /s.xml\n'
const utf16 = (text: string): Buffer[] => [Buffer.from(text, 'utf16le'), Buffer.from(text, 'utf16le').swap16()]

describe('gunzip', () => {
  test('gives what zlib packed, at every level and by every strategy', () => {
    console.info(`ROBOTS_SEED=${seed}`)
    const next = random(seed)
    const { Z_DEFAULT_STRATEGY, Z_FILTERED, Z_HUFFMAN_ONLY, Z_RLE, Z_FIXED } = constants
    for (let n = 0; n < 400; n++) {
      const noise = Buffer.from(Array.from({ length: Math.floor(next() * 3_000) }, () => Math.floor(next() * 256)))
      const plain = Buffer.concat([file(next, pick(next, [3, 30, 600])), next() < 0.3 ? noise : Buffer.alloc(0)])
      const strategy = pick(next, [Z_DEFAULT_STRATEGY, Z_FILTERED, Z_HUFFMAN_ONLY, Z_RLE, Z_FIXED])
      const packed = gzipSync(plain, { level: Math.floor(next() * 10), strategy, memLevel: 1 + Math.floor(next() * 9) })
      const { bytes, whole } = gunzip(packed, ROBOTS_MAX_BYTES + 1)
      if (!plain.equals(bytes) || !whole) throw new Error(`file ${n} of ROBOTS_SEED=${seed}`)
    }
  })
  test('of a part it gives a part and says so; trailer and what follows it are not needed', () => {
    const plain = Buffer.from(
      rules.repeat(50) + Array.from({ length: 300 }, (_, i) => `disallow: /${i * 7919}\n`).join(''),
    )
    const packed = gzipSync(plain)
    for (let length = 0; length < packed.length - 8; length++) {
      const { bytes, whole } = gunzip(packed.subarray(0, length), ROBOTS_MAX_BYTES)
      expect(whole, `${length} of ${packed.length}`).toBe(false)
      expect(plain.subarray(0, bytes.length).equals(bytes)).toBe(true)
    }
    for (const more of [packed.subarray(0, -8), Buffer.concat([packed, Buffer.from('\r\n')])])
      expect(gunzip(more, ROBOTS_MAX_BYTES)).toEqual({ bytes: new Uint8Array(plain), whole: true })
  })
  test('all members are read, as zlib does; one that is cut is not whole, and what is no member is not needed', () => {
    const [one, two] = [gzipSync('user-agent: *\n'.repeat(9)), gzipSync(rules)]
    const whole = Buffer.from('user-agent: *\n'.repeat(9) + rules)
    const several = [
      Buffer.concat([gzipSync(''), one, two]),
      Buffer.concat([one, gzipSync(''), two, Buffer.from('\r\n')]),
    ]
    for (const packed of several)
      expect(gunzip(packed, ROBOTS_MAX_BYTES)).toEqual({ bytes: new Uint8Array(whole), whole: true })
    for (let length = 2; length < two.length - 8; length++)
      expect(gunzip(Buffer.concat([one, two.subarray(0, length)]), ROBOTS_MAX_BYTES).whole, `${length}`).toBe(false)
    for (const more of [[0x1f], [0x1f, 0x8c, 8], [0x1f, 0x8b, 1, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0]])
      expect(gunzip(Buffer.concat([one, Buffer.from(more)]), ROBOTS_MAX_BYTES).whole).toBe(true)
    const many = Buffer.concat(Array.from({ length: 30_000 }, () => gzipSync('')))
    expect(gunzip(many, ROBOTS_MAX_BYTES)).toEqual({ bytes: new Uint8Array(), whole: false })
    // what one member has unpacked is not repeated by the next: a fixed block with a length of 3 from 1 octet back
    const back = Buffer.concat([gzipSync('aaa'), gzipSync('').subarray(0, 10), Buffer.from([3, 2, 0])])
    expect(gunzip(back, ROBOTS_MAX_BYTES).whole).toBe(false)
  })
  test('names, comments and further fields of its header are passed over', () => {
    const packed = gzipSync(rules)
    const flagged = Buffer.concat([
      packed.subarray(0, 10),
      Buffer.from('\x03\0abcname\0comment\0hc', 'latin1'),
      packed.subarray(10),
    ])
    flagged[3] = 2 | 4 | 8 | 16
    expect(Buffer.from(gunzip(flagged, ROBOTS_MAX_BYTES).bytes).toString()).toBe(rules)
  })
  test('any damage gives bytes within the bound, and never throws', () => {
    console.info(`ROBOTS_SEED=${seed}`)
    const next = random(seed)
    for (let n = 0; n < 3_000; n++) {
      const packed = gzipSync(file(next, 40))
      for (let m = 0; m < 3; m++) packed[Math.floor(next() * packed.length)] = Math.floor(next() * 256)
      expect(gunzip(packed, 4_000).bytes.length).toBeLessThanOrEqual(4_000)
    }
  })
  test('a bomb is unpacked up to the bound, and blocks without an octet come to an end', () => {
    expect(gunzip(gzipSync(Buffer.alloc(50_000_000)), 1_000)).toMatchObject({ whole: true, bytes: { length: 1_000 } })
    const empty = Buffer.concat([
      gzipSync('').subarray(0, 10),
      Buffer.alloc(500_000, Buffer.from([0, 0, 0, 0xff, 0xff])),
    ])
    expect(gunzip(empty, 1_000)).toEqual({ bytes: new Uint8Array(), whole: false })
  })
})

describe('a packed robots.txt', () => {
  const forms = [
    gzipSync(rules),
    Buffer.concat([gzipSync(''), gzipSync(rules)]),
    ...utf16(rules),
    ...utf16(`\ufeff${rules}`),
    ...utf16(`\ufeff${rules}`).map((one) => gzipSync(one)),
  ]
  const ours = [policies.decorum, policies.rfc9309, policies.coccoc]
  test('is read for what is inside, and a warning says so', () => {
    for (const source of forms)
      for (const policy of ours) {
        const robots = parseRobots(source, { policy })
        expect(robots.isAllowed('/private/x', 'x')).toBe(false)
        expect(robots.isAllowed('/open', 'x')).toBe(true)
        expect(robots.sitemapsAt('https://h.example/shop/x')).toEqual(['https://h.example/s.xml'])
        expect(robots.warnings.map(({ kind }) => kind)).toEqual(['not-text', 'sitemap-unusable'])
        expect(parseRules(source, { policy }).isAllowed('/private/x', 'x')).toBe(false)
        expect(reportLines(source, { policy }).map(({ field }) => field)).toEqual(['user-agent', 'disallow', 'sitemap'])
      }
  })
  test('is nothing but bytes under the google profiles, whichever reads the file first', () => {
    for (const source of forms)
      for (const policy of [policies.google, policies['google-2022']]) {
        const robots = parseRobots(source, { policy })
        expect(robots.isAllowed('/private/x', 'x')).toBe(true)
        expect(robots.warnings[0]?.text).toContain('the google profiles find no rule in it')
        expect(robots.under(policies.decorum).isAllowed('/private/x', 'x')).toBe(false)
        expect(parseRobots(source).under(policy).isAllowed('/private/x', 'x')).toBe(true)
      }
  })
  test('what a reader cut off ends with its last whole line', () => {
    const packed = gzipSync(`${rules}${Array.from({ length: 500 }, (_, i) => `disallow: /${i * 7919}\n`).join('')}`)
    const cut = parseRobots(packed.subarray(0, packed.length - 300), { truncated: true })
    const kept = [...cut.rules('x')].map(({ pattern }) => pattern)
    expect(kept.length).toBeGreaterThan(10)
    expect(kept).toEqual(['/private/', ...kept.slice(1).map((_, i) => `/${i * 7919}`)])
    const [wide] = utf16('user-agent: *\ndisallow: /a\n'.repeat(20_000))
    expect(parseRobots(wide as Buffer).warnings.map(({ kind }) => kind)).toEqual(['not-text', 'over-limit'])
  })
  test('lines of a page in gzip are not warned of one by one', () => {
    expect(parseRobots(gzipSync('<!DOCTYPE html>\n<p>no\n<p>rules\n')).warnings.map(({ kind }) => kind)).toEqual([
      'not-text',
      'looks-like-html',
    ])
  })
})

describe('relative sitemaps', () => {
  const robots = parseRobots(
    'sitemap: /a.xml\nsitemap: b.xml\nSitemap: //cdn.example/c.xml\nsitemap: https://h.example/d.xml\nsitemap: javascript:1\nsitemap: ftp://h.example/e\nsitemap:\n',
  )
  test('are read against the URL of the robots.txt, in their order', () => {
    expect(robots.sitemapsAt('https://h.example/shop/x')).toEqual([
      'https://h.example/a.xml',
      'https://h.example/b.xml',
      'https://cdn.example/c.xml',
      'https://h.example/d.xml',
    ])
    expect(robots.sitemaps, 'which are absolute').toEqual(['https://h.example/d.xml'])
  })
  test('survive being printed and read again', () => {
    expect(parseRobots(String(robots)).sitemapsAt('https://h.example')).toEqual(robots.sitemapsAt('https://h.example'))
  })
  test('are kept up to a bound', () => {
    expect(parseRobots('sitemap: x\n'.repeat(40_000)).sitemapsAt('https://h.example')).toHaveLength(1_000)
  })
})
