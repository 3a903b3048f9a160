/** Sitemaps as streams: every form that the protocol has, and files that are none. */
import { gzipSync } from 'node:zlib'
import { readSitemap, SITEMAP_MAX_ENTRIES } from '@decorum/content/sitemap'
import fc from 'fast-check'
import { expect, test } from 'vitest'

async function read(bytes: string | Uint8Array, pieceBytes = 1 << 16): Promise<string[]> {
  const whole = Buffer.from(bytes)
  async function* pieces() {
    for (let at = 0; at < whole.length; at += pieceBytes) yield whole.subarray(at, at + pieceBytes)
  }
  const found: string[] = []
  for await (const { kind, url } of readSitemap(pieces())) found.push(`${kind} ${url}`)
  return found
}
const XML = `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
  <!-- <url><loc>http://a.test/comment</loc></url> -->
  <url><loc>
    http://a.test/1?a&amp;b=&#49;#top </loc><lastmod>2026-11-22</lastmod></url>
  <url><loc><![CDATA[http://a.test/2?c&d]]></loc><image:image><image:loc>http://a.test/i.png</image:loc></image:image></url>
  <url><loc>/relative</loc></url><url><loc>ftp://a.test/</loc></url><url><loc/></url>
</urlset>`
const PAGES = ['page http://a.test/1?a&b=1', 'page http://a.test/2?c&d']

test.each([1, 2, 7, 100, 65_536])('an urlset, in pieces of %d bytes', async (pieceBytes) => {
  expect(await read(XML, pieceBytes)).toEqual(PAGES)
  expect(await read(gzipSync(XML), pieceBytes)).toEqual(PAGES)
})

test('an index names sitemaps', async () => {
  const index = '<sitemapindex><sitemap><loc>http://a.test/1.xml.gz</loc></sitemap></sitemapindex>'
  expect(await read(index)).toEqual(['sitemap http://a.test/1.xml.gz'])
})

test('a text with one URL per line', async () => {
  expect(await read('\ufeffhttp://a.test/1\r\nhttp://a.test/2\n\nnot a url\nhttp://a.test/3')).toEqual(
    [1, 2, 3].map((n) => `page http://a.test/${n}`),
  )
})

test('a file of more URLs than the protocol allows is read so far', async () => {
  const many = Array.from({ length: SITEMAP_MAX_ENTRIES + 5 }, (_, n) => `<url><loc>http://a.test/${n}</loc></url>`)
  expect(await read(`<urlset>${many.join('')}</urlset>`)).toHaveLength(SITEMAP_MAX_ENTRIES)
})

test('gzip that breaks off: what came is read, then the error is named', async () => {
  const packed = gzipSync(XML)
  await expect(read(packed.subarray(0, packed.length - 20))).rejects.toMatchObject({ code: 'damaged' })
})

test('an error of the source is its own', async () => {
  const broken = (async function* () {
    yield gzipSync(XML).subarray(0, 50)
    throw new Error('the fetcher went away')
  })()
  await expect(
    (async () => {
      for await (const _ of readSitemap(broken));
    })(),
  ).rejects.toThrow('the fetcher went away')
})

test('anything else names nothing, and nothing of it throws', async () => {
  expect(await read('')).toEqual([])
  expect(await read('<html><a href="http://a.test/">x</a></html>')).toEqual([])
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'binary' }), fc.integer({ min: 1, max: 9 }), async (text, pieceBytes) => {
      await read(`<urlset><url><loc>${text}`, pieceBytes)
      await read(text, pieceBytes)
    }),
  )
})
