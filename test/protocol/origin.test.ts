/** One reading of a URL for all. */

import { hostOf, MAX_PATH_BYTES, namesRobotsTxt, printableUrl, readUrl, registrableDomain } from '@decorum/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'

test.each([
  ['HTTP://EXAMPLE.com:80/A?b#c', 'http://example.com', '/A?b'],
  ['https://example.com:443', 'https://example.com', '/'],
  ['http://example.com:8080/', 'http://example.com:8080', '/'],
  ['http://example.com./x', 'http://example.com', '/x'],
  ['http://example.com.:8080/x', 'http://example.com:8080', '/x'],
  ['http://例え.jp/é?ü', 'http://xn--r8jz45g.jp', '/%C3%A9?%C3%BC'],
  ['http://[2001:DB8:0::1]:8080/x', 'http://[2001:db8::1]:8080', '/x'],
  // An IPv4 address that IPv6 wraps is reached at the same server as the address itself: one lane for both.
  ['http://[::ffff:192.0.2.1]:8080/x', 'http://192.0.2.1:8080', '/x'],
  ['http://[::FFFF:c000:201]/x', 'http://192.0.2.1', '/x'],
  ['http://[0:0:0:0:0:ffff:7f00:1]/x', 'http://127.0.0.1', '/x'],
  ['http://[::ffff:0:192.0.2.1]/x', 'http://[::ffff:0:c000:201]', '/x'],
  ['http://0x7f.1/', 'http://127.0.0.1', '/'],
  ['http://a.test/a/../b/./c', 'http://a.test', '/b/c'],
  ['http://a.test/a b|c', 'http://a.test', '/a%20b|c'],
  ['http://a.test?q', 'http://a.test', '/?q'],
  // An empty query is part of the URL, as browsers request it and as rules like `/*?` mean it.
  ['http://a.test/a?', 'http://a.test', '/a?'],
  ['http://a.test/a?#b', 'http://a.test', '/a?'],
  ['http://a.test?', 'http://a.test', '/?'],
  ['http://a.test/a#b?', 'http://a.test', '/a'],
  ['http://a.test/a#', 'http://a.test', '/a'],
  ['http://a.test/%zz%2f', 'http://a.test', '/%zz%2f'],
  ['http://under_score.test/', 'http://under_score.test', '/'],
  [`http://${'a'.repeat(63)}.test/`, `http://${'a'.repeat(63)}.test`, '/'],
])('%.60s', (text, origin, path) => {
  expect(readUrl(text)).toMatchObject({ origin, path })
})

test.each([
  ['', 'not-a-url'],
  ['/relative', 'not-a-url'],
  ['http://', 'not-a-url'],
  ['http://a b/', 'not-a-url'],
  ['http://a.test:99999/', 'not-a-url'],
  ['ftp://a.test/', 'ftp-not-supported'],
  ['file:///etc/passwd', 'scheme-not-supported'],
  ['javascript:alert(1)', 'scheme-not-supported'],
  ['data:text/html,x', 'scheme-not-supported'],
  ['http://user@a.test/', 'user-info'],
  ['http://user:secret@a.test/', 'user-info'],
  ['http://a..test/', 'bad-host'],
  ['http://a.test../', 'bad-host'],
  [`http://${'a'.repeat(64)}.test/`, 'bad-host'],
  [`http://${'a.'.repeat(127)}test/`, 'bad-host'],
  [`http://a.test/${'x'.repeat(MAX_PATH_BYTES)}`, 'url-too-long'],
  [`http://a.test/${'é'.repeat(MAX_PATH_BYTES / 4)}`, 'url-too-long'],
  [`http://a.test/#${'x'.repeat(9_000)}`, 'url-too-long'],
])('refused: %.60s → %s', (text, refused) => {
  expect(readUrl(text)).toEqual({ refused })
})

test('a path of exactly the longest length is kept', () => {
  expect(readUrl(`http://a.test/${'x'.repeat(MAX_PATH_BYTES - 1)}`)).toMatchObject({ origin: 'http://a.test' })
})

test('reading what was read gives the same again: no two parts can disagree', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.webUrl({ withQueryParameters: true }),
        fc.string().map((s) => `http://a.test/${s}`),
      ),
      (text) => {
        const first = readUrl(text)
        if ('refused' in first) return
        expect(readUrl(first.origin + first.path)).toEqual(first)
        expect(hostOf(first.origin)).toBe(first.host)
        expect(first.path).toMatch(/^\/[\x21-\x7e]*$/)
      },
    ),
  )
})

test('what is printed shows no credentials and no control characters, and is cut', () => {
  for (const text of [
    'http://user:secret@a.test/x',
    'http://user:sec@ret@a.test/x',
    ' \u0000http://user:secret@a.test/x',
    'ht\ntp://user:secret@a.test/x',
    'http:\\\\user:secret@a.test/x',
    'HTTP:user:secret@a.test/x',
  ]) {
    expect(printableUrl(text)).not.toMatch(/user|sec|ret/)
    expect(printableUrl(text)).toContain('a.test/x')
  }
  expect(printableUrl('http://a.test/@x?a@b#c@d')).toBe('http://a.test/@x?a@b#c@d')
  expect(printableUrl('http://a.test/\u001b[31m\u202e\u2028\ud800')).toBe(
    'http://a.test/\\u001b[31m\\u202e\\u2028\\ud800',
  )
  expect(printableUrl(`http://a.test/${'x'.repeat(9_000)}`)).toHaveLength(2_049)
})

test.each([
  ['/robots.txt', true],
  ['/robots.txt?v=1', true],
  ['/ROBOTS.txt', true],
  ['/%72obots%2Etxt', true],
  ['/%72%6F%62%6F%74%73%2E%74%78%74', true],
  ['/robots.txt/', false],
  ['/a/robots.txt', false],
  ['/robots.txt%20', false],
  ['/robots%00.txt', false],
  ['/robotsXtxt', false],
  ['/', false],
  [`/${'%72'.repeat(600)}obots.txt`, false],
] as const)('%s may be the robots.txt of its origin: %s', (path, names) => {
  expect(namesRobotsTxt(path)).toBe(names)
})

test('a registrable domain is one by the public suffix list with its private part; an address has none', () => {
  const domains = ['a.b.example.co.uk', 'foo.github.io', 'x.foo.github.io', '127.0.0.1', '[::1]', 'localhost']
  expect(domains.map(registrableDomain)).toEqual([
    'example.co.uk',
    'foo.github.io',
    'foo.github.io',
    undefined,
    undefined,
    undefined,
  ])
})
