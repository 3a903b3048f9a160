import { type Link, type LinkOptions, linkReader, MAX_LINKS } from '@decorum/content/testing'
import fc from 'fast-check'
import { expect, test } from 'vitest'

const BASE = 'https://site.test/dir/page?q=1'
/** Reads again with a base that stands behind links, as Content does. */
function linksOf(html: string, xRobotsTag: string[] = [], pieces = [html.length], options: LinkOptions = {}): Link[] {
  const reader = linkReader(BASE, xRobotsTag, options)
  let at = 0
  for (const piece of pieces) {
    reader.write(html.slice(at, at + piece))
    at += piece
  }
  reader.write(html.slice(at))
  const base = reader.lateBase
  return base === undefined ? reader.end() : linksOf(html, xRobotsTag, pieces, { ...options, base })
}
const urls = (html: string, options: LinkOptions = {}): string[] =>
  linksOf(html, [], undefined, options).map(({ url }) => url)

test('links are absolute, without fragment, each once, in the order of the page', () => {
  const html = `<A HREF='b'>1</A><a href="/c#top">2</a><a href=//other.test>3</a><a href="?x">4</a><a href="b#again">5</a>
    <map><area href="d&amp;e&#x66;"></map><iframe src="f"></iframe><frame src="https://g.test:443/">`
  expect(urls(html)).toEqual([
    'https://site.test/dir/b',
    'https://site.test/c',
    'https://other.test/',
    'https://site.test/dir/page?x',
    'https://site.test/dir/d&ef',
    'https://site.test/dir/f',
    'https://g.test/',
  ])
})

test('what is no link: other schemes, no address, scripts, comments, text areas, other elements, what is no URL', () => {
  const html = `<a href="mailto:a@b.test"><a href="javascript:x()"><a name=b><a href="http://[bad"><a href="data:,x">
    <script>var a = '<a href="s">'</script><!-- <a href="c"> --><textarea><a href="t"></textarea><title><a href="t2"></title>
    <style><a href="y"></style><link href="l"><img src="i"><abbr href="q"><a data-href="z">`
  expect(urls(html)).toEqual([])
})

test.each([
  ['the first one with an address', '<base target=x><base href="/first/"><base href="/other/"><a href=a>', '/first/a'],
  ['one that is no URL: none, and no other', '<base href="http://[bad"><base href="/other/"><a href=a>', '/dir/a'],
  ['a script: none', '<base href="javascript:void(0)"><a href=a>', '/dir/a'],
  ['data: none', '<base href="data:text/html,x"><a href=a>', '/dir/a'],
  ['an empty one: the page', '<base href=""><base href="/other/"><a href=a>', '/dir/a'],
])('base: %s', (_, html, path) => {
  expect(urls(html)).toEqual([`https://site.test${path}`])
})

test('a base behind links counts for them as well', () => {
  expect(urls('<a href="one"><base href="/b/"><a href="two"><base href="/c/">')).toEqual([
    'https://site.test/b/one',
    'https://site.test/b/two',
  ])
})

test('a long base and many links: the answer has a bound', () => {
  const html = `<base href="/${'x'.repeat(8_000)}/">${Array.from({ length: 20_000 }, (_, at) => `<a href=${at}>`).join('')}`
  const chars = urls(html, {}).reduce((sum, url) => sum + url.length, 0)
  expect(chars).toBeLessThanOrEqual(33 * 1024 * 1024)
})

test.each([
  ['windows-1251', 'Привет', '%CF%F0%E8%E2%E5%F2'],
  ['GBK', '中文€', '%D6%D0%CE%C4%80'],
  ['gb18030', '😀', '%949%FC6'],
  ['Big5', '中文', '%A4%A4%A4%E5'],
  ['Shift_JIS', '日本', '%93%FA%96{'],
  ['EUC-JP', '日本', '%C6%FC%CB%DC'],
  ['EUC-KR', '한국', '%C7%D1%B1%B9'],
  ['ISO-2022-JP', '日本', '%1B$BF|K\\%1B(B'],
  ['windows-1252', 'café', 'caf%E9'],
  [
    'windows-1252',
    'Привет\u2603',
    '%26%231055%3B%26%231088%3B%26%231080%3B%26%231074%3B%26%231077%3B%26%231090%3B%26%239731%3B',
  ],
  ['UTF-8', 'é', '%C3%A9'],
  ['UTF-16LE', 'é', '%C3%A9'],
  ['replacement', 'é', '%C3%A9'],
])('the query of a link in a page in %s is sent in that encoding; path and host never: %s', (encoding, word, query) => {
  const [link = ''] = urls(`<a href="//ü.test/é/${word}?q=${word}&amp;x='#${word}">`, { encoding })
  const [, own] = link.split('?')
  expect(own).toBe(`q=${query}&x=%27`)
  expect(link.split('?')[0]).toBe(`https://xn--tda.test/%C3%A9/${encodeURIComponent(word)}`)
})

test('blanks, tabs and line ends in and around an address are dropped as the parser of URLs drops them', () => {
  expect(urls('<a href=" /s?\n q=\té \x01 ">', { encoding: 'windows-1252' })).toEqual(['https://site.test/s?%20q=%E9'])
  expect(urls('<a href="/s#?é">', { encoding: 'windows-1252' })).toEqual(['https://site.test/s'])
})

test.each<[string, string, string | undefined]>([
  ['0; url=/there', '<p>', '/there'],
  ['5;URL = "/there"rest', '', '/there'],
  ["0, url='/there", '', '/there'],
  ['0 /there', '', '/there'],
  ['.5;there', '', '/dir/there'],
  ['300', '', undefined],
  ['0;url=', '', undefined],
  ['url=/there', '', undefined],
  ['0url=/there', '', undefined],
  ['0;url=javascript:x()', '', undefined],
])('a refresh %j leads on, in the page and in the header', (content, more, path) => {
  const target = path === undefined ? [] : [`https://site.test${path}`]
  expect(urls(`<meta http-equiv=Refresh content="${content.replaceAll('"', '&quot;')}">${more}`)).toEqual(target)
  expect(urls(more, { refresh: content })).toEqual(target)
})

test('served as XML a script may end at once and CDATA is text; as HTML the rest is that script', () => {
  const page = '<script src="x.js"/><title/><a href="one"></a><![CDATA[<a href="no">]]><a href="two"/>'
  expect(urls(page, { isXml: true })).toEqual(['https://site.test/dir/one', 'https://site.test/dir/two'])
  expect(urls(page)).toEqual([])
})

test('what is no HTML in HTML: elements of SVG and MathML end at once, and its links are links', () => {
  expect(
    urls(`<svg><title/><style/><a href="/s"/><a xlink:href="/x"></a><foreignObject><p><script/></script></foreignObject></svg>
      <math><mi>x</mi></math><svg/><title><a href="/no"></title><svg><p><title><a href="/no"></title><a xlink:href="/no"><a href="/last">`),
  ).toEqual(['/s', '/x', '/last'].map((path) => `https://site.test${path}`))
})

test('nofollow: by rel with blanks or commas', () => {
  const html =
    '<a href=a rel="ugc,nofollow"><a href=b rel="nofollow, noopener"><a href=c rel="no-nofollow"><a href=d rel="nofollow-x">'
  expect(linksOf(html).map(({ nofollow }) => nofollow)).toEqual([true, true, false, false])
})

test('nofollow: by rel, unless another link to the same URL follows; by meta robots and X-Robots-Tag for all', () => {
  const html =
    '<a rel="NoFollow noopener" href=a>x</a><a rel=nofollow href=b></a><a href=b></a><a rel=nofollower href=c>'
  expect(linksOf(html).map(({ nofollow }) => nofollow)).toEqual([true, false, false])
  for (const content of ['nofollow', 'index, NOFOLLOW', 'none'])
    expect(linksOf(`<meta name=ROBOTS content="${content}">${html}`).map(({ nofollow }) => nofollow)).toEqual([
      true,
      true,
      true,
    ])
  expect(linksOf(html, ['noindex', 'nofollow']).every(({ nofollow }) => nofollow)).toBe(true)
  expect(linksOf(html, ['otherbot: nofollow']).some(({ nofollow }) => !nofollow)).toBe(true)
})

test('however a page is cut into pieces, its links are the same', () => {
  const part = fc.constantFrom(
    '<a href="',
    '">',
    'x',
    '/',
    '&amp;',
    '&',
    '#',
    '<a ',
    'href',
    '=',
    "'",
    '<!--',
    '-->',
    '<script>',
    '</script>',
    ' rel=nofollow ',
    '<base href=/b/>',
    '</a>',
    'é',
    '<',
    '😀',
    '<title>',
  )
  fc.assert(
    fc.property(fc.array(part, { maxLength: 40 }), fc.array(fc.nat({ max: 7 }), { maxLength: 60 }), (parts, pieces) => {
      const html = `${parts.join('')}"'--></script></title><a href=last>`
      expect(linksOf(html, [], pieces)).toEqual(linksOf(html))
    }),
    { numRuns: 3_000 },
  )
})

test.each([
  ['unclosed elements, and ends of others', `${'<b>'.repeat(400_000)}${'</x>'.repeat(400_000)}`],
  ['one attribute without end', `<a href="${'x'.repeat(8_000_000)}`],
  ['one comment without end', `<!-- ${'-'.repeat(8_000_000)}`],
  ['one element name without end', `<${'a'.repeat(8_000_000)}`],
  ['one attribute name without end', `<a ${'a'.repeat(8_000_000)}`],
  ['entities', `<a href="${'&amp;'.repeat(1_000_000)}">${'&amp'.repeat(1_000_000)}`],
  ['attributes', `<a ${'href=x '.repeat(1_000_000)}>`],
  ['digits of a refresh', `<meta http-equiv=refresh content="${'1'.repeat(8_000)}x">`.repeat(1_000)],
  ['blanks of an address', `<a href="?é${' '.repeat(8_000)}x">`.repeat(1_000)],
  ['foreign elements', '<svg><desc>'.repeat(800_000)],
  ['script without end', `<script>${'</scrip'.repeat(1_000_000)}`],
])('a hostile page is read to its end in pieces: %s', (_name, html) => {
  const pieces = Array.from({ length: Math.ceil(html.length / 65_536) }, () => 65_536)
  expect(linksOf(html, [], pieces).length).toBeLessThanOrEqual(1)
})

test('a page of too many links gives the first ones', () => {
  const html = Array.from({ length: MAX_LINKS + 10 }, (_, at) => `<a href=${at}>`).join('')
  expect(linksOf(html, [], [5_000])).toHaveLength(MAX_LINKS)
})
