/** What a site says about a page: headers, the head of the page, and what counts when they differ. */
import { HEAD_BYTES, isHtml, pageStatements } from '@decorum/content/said'
import { expect, test } from 'vitest'

const URL_ = 'http://a.test/dir/page?x'
const html = 'text/html; charset=utf-8'
const said = (
  body: string | Uint8Array,
  headers: [string, string][] = [['Content-Type', html]],
  names = ['mybot', 'otherbot'],
) => pageStatements(URL_, headers, names, [typeof body === 'string' ? Buffer.from(body) : body])

test('all of it, from the head of the page', () => {
  expect(
    said(`<!doctype html><HTML LANG="de-AT"><meta name=robots content="noarchive, NOINDEX">
      <base href="/other/"><link rel="alternate canonical" href="page#top"><body><meta name=robots content=nofollow>`),
  ).toEqual({
    robots: ['noarchive', 'noindex'],
    canonical: 'http://a.test/other/page',
    language: 'de-at',
    charset: 'utf-8',
  })
})

test('all of it, from headers alone', () => {
  const headers: [string, string][] = [
    ['content-type', 'application/pdf; charset="ISO-8859-1"'],
    ['X-Robots-Tag', 'none'],
    ['x-robots-tag', 'mybot: noarchive'],
    ['Link', '<style.css>; rel=stylesheet, <http://a.test/real.pdf>; rel="canonical"'],
    ['content-language', 'fr'],
  ]
  expect(said('', headers)).toEqual({
    robots: ['noarchive', 'nofollow', 'noindex'],
    canonical: 'http://a.test/real.pdf',
    language: 'fr',
    charset: 'iso-8859-1',
  })
})

test.each<[string, string, string[] | undefined]>([
  ['rules for another agent', '<meta name=googlebot content=noindex>', undefined],
  ['rules for this agent, in whatever case', '<meta name=MyBot content=noindex>', ['noindex']],
  ['rules for a fallback of it', '<meta name=otherbot content=nofollow>', ['nofollow']],
  [
    'rules of several',
    '<meta name=robots content=nofollow><meta name=mybot content=noarchive>',
    ['noarchive', 'nofollow'],
  ],
  ['none', '<meta name=robots content=none>', ['nofollow', 'noindex']],
  ['what is usual', '<meta name=robots content="index, follow, all">', undefined],
  ['a comment', '<!-- <meta name=robots content=noindex> -->', undefined],
  ['a script', '<script>"<meta name=robots content=noindex>"</script>', undefined],
  ['a body that no tag begins', '<title>x</title><p>text<meta name=robots content=noindex>', undefined],
  ['a body behind a head that has ended', '</head><blockquote><meta name=robots content=noindex>', undefined],
  [
    'a head that goes on behind a noscript',
    '<noscript><img src=x><p>on!</noscript><meta name=robots content=noindex>',
    ['noindex'],
  ],
  [
    'a head that goes on behind elements that end nothing',
    '<template><p></template></template><STYLE>p{}</STYLE><meta name=robots content=noindex>',
    ['noindex'],
  ],
])('robots: %s', (_, head, robots) => {
  expect(said(head)?.robots).toEqual(robots)
})

test('X-Robots-Tag for another agent is not ours, and both places together make the stricter rule', () => {
  const headers: [string, string][] = [
    ['content-type', html],
    ['x-robots-tag', 'googlebot: noindex'],
    ['x-robots-tag', 'noarchive'],
  ]
  expect(said('<meta name=robots content=nofollow>', headers)?.robots).toEqual(['noarchive', 'nofollow'])
})

test.each([
  ['UTF-8', '/caf\xc3\xa9', 'http://a.test/caf%C3%A9'],
  ['Latin-1', '/caf\xe9?q=\xe9', 'http://a.test/caf%E9?q=%E9'],
])('canonical of a Link header whose octets are %s: they are those of the URL', (_, href, canonical) => {
  expect(pageStatements('http://a.test/x', [['Link', `<${href}>; rel=canonical`]], [], [])).toEqual({ canonical })
})

test.each([
  ['no canonical link', '<link rel=stylesheet href=a>', undefined],
  ['the first of two', '<link rel=canonical href=a><link rel=canonical href=b>', 'http://a.test/dir/a'],
  ['another scheme', '<link rel=canonical href="javascript:x">', undefined],
  ['an empty one', '<link rel=canonical href="">', undefined],
  ['entities', '<link rel=canonical href="?a&amp;b">', 'http://a.test/dir/page?a&b'],
])('canonical: %s', (_, head, canonical) => {
  expect(said(head)?.canonical).toBe(canonical)
})

test.each<[string, string, boolean]>([
  ['alone', '<a>;rel=canonical', true],
  ['with blanks', '<a> ; REL = "Canonical"', true],
  ['one of several', '<a>; rel="alternate canonical"', true],
  ['before another parameter', '<a>; rel=canonical; type="text/html"', true],
  ['part of another word', '<a>; rel="x-canonical"', false],
  ['a quote that does not end', '<a>; rel="canonical', false],
  ['another link', '<a>; rel=next, <b>; title=canonical', false],
])('a canonical URL in a header: %s', (_, link, isOne) => {
  expect(said('', [['link', link]])?.canonical).toBe(isOne ? 'http://a.test/dir/a' : undefined)
})

test('the canonical URL of a header counts before that of the page', () => {
  expect(
    said('<link rel=canonical href=page>', [
      ['content-type', html],
      ['link', '<header>; rel=canonical'],
    ])?.canonical,
  ).toBe('http://a.test/dir/header')
})

test.each([
  ['de, en', undefined],
  ['not a language', undefined],
  ['', undefined],
  [' En-GB ', 'en-gb'],
])('a Content-Language of %j is %j', (value, language) => {
  expect(said('', [['content-language', value]])?.language).toBe(language)
})

test('the encoding of the page is the one in which it is read', () => {
  expect(
    said(Buffer.from('<meta charset=windows-1251><link rel=canonical href="/\xc6">', 'latin1'), [
      ['content-type', 'text/html'],
    ]),
  ).toEqual({
    charset: 'windows-1251',
    canonical: 'http://a.test/%D0%96',
  })
})

test('values are decoded, names and markup are found in the bytes as they are', () => {
  const of = (text: string, encoding: string, type = 'text/html') =>
    said(Buffer.from(text, encoding as BufferEncoding), [['content-type', type]])
  expect(
    of('<meta charset=iso-8859-1><html lang=fr><link rel=canonical href="/caf\xe9?q=\xe9&amp;r=&eacute;">', 'latin1'),
  ).toEqual({ charset: 'windows-1252', language: 'fr', canonical: 'http://a.test/caf%C3%A9?q=%E9&r=%E9' })
  expect(of('\ufeff<html lang=fr><link rel=canonical href="/é?é">', 'utf16le')).toEqual({
    charset: 'utf-16le',
    language: 'fr',
    canonical: 'http://a.test/%C3%A9?%C3%A9',
  })
  const jis = '<link rel=canonical href="/?\x1b$BF|K\\\x1b(B"><meta name=robots content=noindex>'
  expect(of(jis, 'latin1', 'text/html; charset=iso-2022-jp')).toMatchObject({
    canonical: 'http://a.test/?%1B$BF|K\\%1B(B',
    robots: ['noindex'],
  })
})

test('as XML a head goes on behind elements that end at once; as HTML the rest is the script', () => {
  const head = '<html><head><script src="x"/><title/><![CDATA[<p>]]><meta name="robots" content="noarchive"/></head>'
  expect(said(head, [['content-type', 'application/xhtml+xml']])?.robots).toEqual(['noarchive'])
  expect(said(head)?.robots).toBeUndefined()
})

test('a page without a media type is read when it begins with a tag', () => {
  for (const type of ['', 'html', undefined])
    expect(said(' <meta name=robots content=noarchive>', type === undefined ? [] : [['content-type', type]])).toEqual({
      robots: ['noarchive'],
      charset: 'utf-8',
    })
  expect(said('x<meta name=robots content=noarchive>', [])).toBeUndefined()
})

test('two lines of Content-Type are one list', () => {
  const page = '<meta name=robots content=noarchive>'
  const lines = (...values: string[]) =>
    said(
      page,
      values.map((value): [string, string] => ['Content-Type', value]),
    )
  expect(lines('text/html; charset=koi8-r', 'text/html')).toEqual({ charset: 'koi8-r', robots: ['noarchive'] })
  expect(lines('text/html', 'text/plain')).toBeUndefined()
})

test.each([
  ['behind the link', '<link rel=canonical href=p><base href="/b/">', 'http://a.test/b/p'],
  ['that is a script', '<base href="javascript:x"><base href="/b/"><link rel=canonical href=p>', 'http://a.test/dir/p'],
])('canonical with a base %s', (_, head, canonical) => {
  expect(said(head)?.canonical).toBe(canonical)
})

test('a page that says nothing has nothing', () => {
  expect(said('', [])).toBeUndefined()
  expect(said('', [['content-type', 'image/png']])).toBeUndefined()
})

test('what stands behind the first 64 KiB is not read, and bytes that are no text do no harm', () => {
  const far = `${'<link>'.repeat(HEAD_BYTES / 6 + 1)}<meta name=robots content=noindex>`
  expect(said(far)?.robots).toBeUndefined()
  expect(() => said(Buffer.from(Array.from({ length: 9_000 }, (_, n) => (n * 7_919) % 256)))).not.toThrow()
  expect(() => said(`<meta name=robots content="${'noindex,'.repeat(5_000)}">`)).not.toThrow()
})

test('a head that comes in pieces says the same, wherever it is cut', () => {
  const page = Buffer.from(
    `<html lang=de><!--${'x'.repeat(20_000)}--><meta name=robots content=noindex><title>\u00df</title><p>`,
  )
  const whole = said(page)
  expect(whole).toEqual({ charset: 'utf-8', language: 'de', robots: ['noindex'] })
  for (let cut = 0; cut < page.length; cut += cut < 30 ? 1 : 611)
    expect(pageStatements(URL_, [['content-type', html]], [], [page.subarray(0, cut), page.subarray(cut)])).toEqual(
      whole,
    )
})

test('only HTML is read', () => {
  expect(isHtml([['content-type', 'text/html']])).toBe(true)
  expect(isHtml([['Content-Type', ' application/xhtml+xml;a']])).toBe(true)
  expect(isHtml([['content-type', 'text/htmlx']])).toBe(false)
  expect(isHtml([]), 'the first bytes of the body decide').toBeUndefined()
})
