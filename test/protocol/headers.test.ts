/** Header fields as they were meant: lists in one line or several, a Content-Type that comes twice, codings. */
import {
  codingsOf,
  contentTypeOf,
  type Fields,
  linesOf,
  mediaTypeOf,
  membersOf,
  single,
  targetOf,
} from '@decorum/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'

const typeOf = (...values: string[]): string | undefined => {
  const { essence, charset } = mediaTypeOf(contentTypeOf(values.map((value) => ['Content-Type', value])))
  return charset === undefined ? essence : `${essence};charset=${charset}`
}

test('a field is found in any case, and its lines come in order without the blanks around them', () => {
  const fields: Fields = [
    ['X-Robots-Tag', ' noindex '],
    ['x-other', 'a'],
    ['x-robots-tag', 'nofollow'],
  ]
  expect(linesOf(fields, 'x-robots-tag')).toEqual(['noindex', 'nofollow'])
  expect(linesOf(fields, 'link')).toEqual([])
})

test('only space and tab are blanks: an octet 0xa0 at the end is half of an à in UTF-8', () => {
  for (const [value, path] of [
    ['/voil\xc3\xa0', '/voil%C3%A0'],
    [' \t/voil\xc3\xa0\t ', '/voil%C3%A0'],
    ['/\xa0', '/%A0'],
    ['/x?q=\xa0', '/x?q=%A0'],
  ] as const)
    expect(targetOf([['Location', value]], 'http://h.example/')).toMatchObject({ at: { path } })
  expect(membersOf([['Vary', 'a\xa0 , \xc3\xa0']], 'vary')).toEqual(['a\xa0', '\xc3\xa0'])
})

test('the same value twice is one value; two values are none', () => {
  const location = (...values: string[]) => values.map((value): [string, string] => ['location', value])
  expect(single(location('/a', '/a'), 'location')).toBe('/a')
  expect(single(location('/a', '/b'), 'location')).toBeNull()
  expect(single([], 'location')).toBeUndefined()
  expect(targetOf(location('/a', '/b'), 'http://h.example/')).toMatchObject({ kind: 'unusable' })
})

test('a list is the same in one line and in several', () => {
  const member = fc.oneof(fc.stringMatching(/^[a-z0-9-]{0,6}$/), fc.stringMatching(/^"[a-z,\\]{0,4}[a-z]"$/))
  fc.assert(
    fc.property(fc.array(fc.array(member, { maxLength: 4 }), { maxLength: 4 }), (lines) => {
      const fields = lines.map((line): [string, string] => ['Vary', line.join(' , ')])
      expect(membersOf(fields, 'vary')).toEqual(lines.flat().filter((one) => one !== ''))
    }),
  )
})

test('a list takes time in proportion to its length, however its quotation marks stand', () => {
  // a reading in the square of the length would take an hour for some of them
  for (const part of ['\\"', '"', '"\\', '\\', ',"', '"\\",'])
    for (const line of [`,"${part.repeat(2_000_000)}`, `,${part.repeat(2_000_000)}`])
      expect(membersOf([['Content-Encoding', line]], 'content-encoding').length).toBeGreaterThan(0)
})

test.each([
  ['a "b, c', ['a "b', 'c']],
  ['"a, b", "c, d', ['"a, b"', '"c', 'd']],
  ['"a\\", b", c', ['"a\\", b"', 'c']],
])('a quotation mark without another one is a character: %s', (line, members) => {
  expect(membersOf([['Vary', line]], 'vary')).toEqual(members)
})

test.each([
  [['text/html'], 'text/html'],
  [['text/html,text/html'], 'text/html'],
  [['text/html', 'text/html; charset=gbk'], 'text/html;charset=gbk'],
  [['text/html;charset=gbk', 'text/html'], 'text/html;charset=gbk'],
  [['text/html;charset=gbk, text/plain'], 'text/plain'],
  [['text/html;charset="a,b", x/x'], 'x/x'],
  [['text/plain;charset=gbk, text/html, text/html;charset=utf-8'], 'text/html;charset=utf-8'],
  [['text/html', '*/*'], 'text/html'],
  [['text/html', ''], 'text/html'],
  [['text/html', 'cannot be read'], 'text/html'],
  [['cannot be read, either'], undefined],
  [['', ''], undefined],
])('of Content-Type %j counts %j (Fetch standard, "extract a MIME type")', (values, found) => {
  expect(typeOf(...values)).toBe(found)
})

test.each([
  [['gzip'], ['gzip']],
  [
    ['gzip', 'gzip'],
    ['gzip', 'gzip'],
  ],
  [['gzip, br'], ['gzip', 'br']],
  [
    ['GZip,', ' , x-gzip'],
    ['gzip', 'gzip'],
  ],
  [['identity'], []],
  [['"gzip";q=1'], ['gzip']],
  [['none'], ['none']],
  [[''], []],
])('the codings of %j are %j', (values, codings) => {
  expect(codingsOf(values.map((value): [string, string] => ['content-encoding', value]))).toEqual(codings)
})

test.each([
  ['/caf\xe9', 'http://h.example/caf%E9'],
  ['/caf\xc3\xa9', 'http://h.example/caf%C3%A9'],
  ['/?q=\xe4\xf6', 'http://h.example/?q=%E4%F6'],
  ['http://b\xc3\xbccher.example/', 'http://xn--bcher-kva.example/'],
  ['/\u4e2d', 'http://h.example/%E4%B8%AD'],
])('Location %j, bytes as Latin-1, leads to %s', (location, url) => {
  expect(targetOf([['Location', location]], 'http://h.example/a')).toMatchObject({ kind: 'target', url })
})
