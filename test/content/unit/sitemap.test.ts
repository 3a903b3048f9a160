/** Sitemaps as streams: every form that the protocol has, and files that are none. */
import { gzipSync } from 'node:zlib'
import { readSitemap, SITEMAP_MAX_BYTES, SITEMAP_MAX_ENTRIES, type SitemapSource } from '@decorum/content/sitemap'
import fc from 'fast-check'
import { expect, test } from 'vitest'

async function* piecesOf(whole: Buffer, pieceBytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < whole.length; at += pieceBytes) yield whole.subarray(at, at + pieceBytes)
}
async function read(bytes: string | Uint8Array, pieceBytes = 1 << 16, source?: SitemapSource): Promise<string[]> {
  const found: string[] = []
  for await (const { kind, url } of readSitemap(piecesOf(Buffer.from(bytes), pieceBytes), source))
    found.push(`${kind} ${url}`)
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

test('another column and a comment behind the URL of a text are no part of it', async () => {
  expect(await read('http://a.test/1\t2026-11-27\t0.8\nhttp://a.test/2 # why\nhttp://a.test/3#top')).toEqual(
    [1, 2, 3].map((n) => `page http://a.test/${n}`),
  )
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
  const packed = gzipSync(`<urlset>${one('1')}${one('2').repeat(20)}${'<!-- x -->'.repeat(2_000)}</urlset>`)
  const cut = packed.subarray(0, packed.length - 20)
  for (const pieceBytes of [1, 65_536]) {
    const found: string[] = []
    const reading = (async () => {
      for await (const { url } of readSitemap(piecesOf(cut, pieceBytes))) found.push(url)
    })()
    await expect(reading).rejects.toMatchObject({ code: 'damaged' })
    expect(found[0]).toBe('http://a.test/1')
  }
})

test('gzip is read as browsers read it: without its trailer, with a wrong checksum, with octets behind it', async () => {
  const packed = gzipSync(XML)
  const wrong = Buffer.from(packed)
  wrong[packed.length - 6] = 1 ^ (packed.at(-6) as number)
  for (const file of [
    packed.subarray(0, -8),
    packed.subarray(0, -3),
    wrong,
    Buffer.concat([packed, Buffer.from('\r\n')]),
  ])
    for (const pieceBytes of [1, 65_536]) expect(await read(file, pieceBytes)).toEqual(PAGES)
})

test('of a file that is known to be cut, the last line of a text is no URL', async () => {
  const text = 'http://a.test/1\nhttp://a.test/hal'
  expect(await read(text, 3, { isCut: true })).toEqual(['page http://a.test/1'])
  expect(await read(text, 3)).toHaveLength(2)
  const cut = gzipSync(text.repeat(5_000)).subarray(0, -20)
  await expect(read(cut)).rejects.toMatchObject({ code: 'damaged' })
  const long = `http://a.test/1\n${'#'.repeat(SITEMAP_MAX_BYTES - 25)}\nhttp://a.test/half`
  expect(await read(long)).toEqual(['page http://a.test/1'])
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

const one = (path: string, prefix = ''): string =>
  `<${prefix}url><${prefix}loc>http://a.test/${path}</${prefix}loc></${prefix}url>`

test('elements may have a prefix; those of other vocabularies are no addresses of pages', async () => {
  const xml = `<sm:urlset xmlns:sm="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://i.test/">
    <sm:url><sm:loc>http://a.test/1</sm:loc><image:image><image:loc>http://a.test/i.png</image:loc></image:image></sm:url>
    <sm:url><image:image><image:loc>http://a.test/j.png</image:loc></image:image><sm:loc>http://a.test/2</sm:loc></sm:url></sm:urlset>`
  for (const pieceBytes of [1, 5, 65_536])
    expect(await read(xml, pieceBytes)).toEqual([1, 2].map((n) => `page http://a.test/${n}`))
  const index = '<s:sitemapindex><s:sitemap><s:loc>http://a.test/1.xml</s:loc></s:sitemap></s:sitemapindex>'
  expect(await read(index)).toEqual(['sitemap http://a.test/1.xml'])
})

test('RSS names its items, not its channel', async () => {
  const rss = `<?xml version="1.0"?><rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel><link>http://a.test/</link>
    <atom:link href="http://a.test/feed" rel="self"/><image><url>http://a.test/i.png</url><link>http://a.test/</link></image>
    <item><title>a & b</title><link>http://a.test/1?a&amp;b</link><guid>http://a.test/no</guid></item>
    <item><guid isPermaLink="false">http://a.test/no</guid><link><![CDATA[http://a.test/2?a&b]]></link></item>
    <item><guid>http://a.test/3</guid><description>&lt;a href="http://a.test/no"&gt;</description></item></channel></rss>`
  const pages = ['1?a&b', '2?a&b', '3'].map((path) => `page http://a.test/${path}`)
  for (const pieceBytes of [1, 65_536]) expect(await read(rss, pieceBytes)).toEqual(pages)
  const rdf =
    '<rdf:RDF xmlns:rdf="x"><channel><link>http://a.test/</link></channel><item><link>http://a.test/1</link></item></rdf:RDF>'
  expect(await read(rdf)).toEqual(['page http://a.test/1'])
})

test('Atom names its entries by their alternate link, relative to the feed', async () => {
  const atom = `<feed xmlns="http://www.w3.org/2005/Atom"><link href="http://a.test/"/><link rel="self" href="feed"/>
    <entry><link rel="self" href="no"/><link href="/1"/><link href="/no"/></entry>
    <entry><source><link href="http://b.test/"/></source><link rel="alternate" href="2?a&amp;b"/></entry>
    <entry xml:base="/c/"><link href="3"/></entry></feed>`
  expect(await read(atom, 7, { url: 'http://a.test/dir/feed' })).toEqual(
    ['1', 'dir/2?a&b', 'c/3'].map((path) => `page http://a.test/${path}`),
  )
})

test.each([
  ['a notice', 'Warning: Undefined index "x" in /var/www on line 3\n<?xml version="1.0"?>'],
  ['a notice with tags', '<br />\n<b>Warning</b>: it\'s <br> late in <b>a.php</b>\n<?xml version="1.0"?>'],
  ['blank lines', '\n\n  \n<?xml version="1.0"?>'],
  ['a comment', '<!-- <url><loc>http://a.test/no</loc></url> --><?xml version="1.0"?>'],
  ['a notice, and no declaration', 'Notice: x\n'],
])('%s before the sitemap is passed over', async (_, before) => {
  const xml = `${before}<urlset>${one('1')}</urlset>`
  for (const pieceBytes of [1, 65_536]) expect(await read(xml, pieceBytes)).toEqual(['page http://a.test/1'])
})

test.each<[string, (xml: string) => Uint8Array, string, SitemapSource]>([
  ['its declaration', (xml) => Buffer.from(xml, 'latin1'), 'ISO-8859-1', {}],
  ['its header', (xml) => Buffer.from(xml, 'latin1'), 'UTF-8', { type: 'text/xml; charset=iso-8859-1' }],
  ['a byte order mark', (xml) => Buffer.from(`\ufeff${xml}`, 'utf16le'), 'UTF-16', {}],
  ['the other byte order mark', (xml) => Buffer.from(`\ufeff${xml}`, 'utf16le').swap16(), 'UTF-16', {}],
  ['its first characters', (xml) => Buffer.from(xml, 'utf16le'), 'UTF-16', {}],
  ['a declaration behind a notice', (xml) => Buffer.from(`Notice: é\n${xml}`, 'latin1'), 'ISO-8859-1', {}],
])('a sitemap in another encoding: by %s', async (_, encode, declared, source) => {
  const xml = `<?xml version="1.0" encoding="${declared}"?><urlset>${one('café')}${one('x')}</urlset>`
  for (const bytes of [encode(xml), gzipSync(encode(xml)), gzipSync(gzipSync(encode(xml)))])
    expect(await read(bytes, 3, source)).toEqual(['page http://a.test/caf%C3%A9', 'page http://a.test/x'])
})

test('a text in UTF-16 or Latin-1 is read as well', async () => {
  const lines = 'http://a.test/café\nhttp://a.test/x\n'
  const pages = ['page http://a.test/caf%C3%A9', 'page http://a.test/x']
  expect(await read(Buffer.from(`\ufeff${lines}`, 'utf16le'), 1)).toEqual(pages)
  expect(await read(Buffer.from(lines, 'latin1'))).toEqual(pages)
})

test('a sitemap that names nothing is one all the same', async () => {
  for (const empty of ['<urlset/>', '<sm:urlset xmlns:sm="x"></sm:urlset>', '<rss><channel></channel></rss>'])
    expect(await read(empty)).toEqual([])
})

test.each([
  ['', 'empty'],
  [' \n ', 'empty'],
  [gzipSync(''), 'empty'],
  ['<!doctype html><html><head><title>x</title></head><a href="http://a.test/">x</a></html>', 'HTML'],
  ['<html><body>not found</body></html>', 'HTML'],
  ['<?xml version="1.0"?><note>x</note>', 'neither an urlset'],
  ['nothing here', 'neither XML nor a text'],
  [Buffer.from([0x89, 0x50, 0, 0, 1, 2]), 'neither text nor packed'],
])('what is no sitemap is said in a sentence: %#', async (bytes, words) => {
  await expect(read(bytes)).rejects.toMatchObject({ name: 'SitemapError', message: expect.stringContaining(words) })
})

test('whatever comes is read to its end, or refused with that sentence', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'binary' }), fc.integer({ min: 1, max: 9 }), async (text, pieceBytes) => {
      await read(`<urlset><url><loc>${text}`, pieceBytes)
      await read(text, pieceBytes).catch((error: Error) => expect(error.name).toBe('SitemapError'))
    }),
  )
})
