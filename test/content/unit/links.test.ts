import { type Link, LinkReader, MAX_LINKS } from '@decorum/content/testing'
import fc from 'fast-check'
import { expect, test } from 'vitest'

const BASE = 'https://site.test/dir/page?q=1'
function linksOf(html: string, xRobotsTag: string[] = [], pieces = [html.length]): Link[] {
  const reader = new LinkReader(BASE, xRobotsTag)
  let at = 0
  for (const piece of pieces) {
    reader.write(html.slice(at, at + piece))
    at += piece
  }
  reader.write(html.slice(at))
  return reader.end()
}
const urls = (html: string): string[] => linksOf(html).map(({ url }) => url)

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

test('the first base with an address counts for all that follow', () => {
  expect(urls('<base target=x><base href="/first/"><base href="/other/"><a href=a>')).toEqual([
    'https://site.test/first/a',
  ])
  expect(urls('<base href="http://[bad"><a href=a>')).toEqual(['https://site.test/dir/a'])
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
  ['script without end', `<script>${'</scrip'.repeat(1_000_000)}`],
])('a hostile page is read to its end in pieces: %s', (_name, html) => {
  const pieces = Array.from({ length: Math.ceil(html.length / 65_536) }, () => 65_536)
  expect(linksOf(html, [], pieces).length).toBeLessThanOrEqual(1)
})

test('a page of too many links gives the first ones', () => {
  const html = Array.from({ length: MAX_LINKS + 10 }, (_, at) => `<a href=${at}>`).join('')
  expect(linksOf(html, [], [5_000])).toHaveLength(MAX_LINKS)
})
