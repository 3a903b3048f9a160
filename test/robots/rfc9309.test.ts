/** RFC 9309, section by section, under its own profile. */
import { judge, parseRobots, policies, step, unknownOrigin } from '@decorum/robots'
import { describe, expect, test } from 'vitest'
import { lines, matches, under } from './support/ask.ts'

const allowed = under('rfc9309')
const policy = policies.rfc9309

describe('§2.1 protocol definition', () => {
  test('a group is one or more user-agent lines and the rules below them', () => {
    const robots = lines('user-agent: a', 'user-agent: b', 'disallow: /x', 'allow: /x/y')
    for (const agent of ['a', 'b']) {
      expect(allowed(robots, agent, '/x')).toBe(false)
      expect(allowed(robots, agent, '/x/y')).toBe(true)
    }
    expect(allowed(robots, 'c', '/x')).toBe(true)
  })
  test('a group ends where the next user-agent line after a rule starts another', () => {
    const robots = lines('user-agent: a', 'disallow: /x', 'user-agent: b', 'disallow: /y')
    expect(allowed(robots, 'a', '/y')).toBe(true)
    expect(allowed(robots, 'b', '/x')).toBe(true)
  })
  test('the last group may have no rules at all, and ends with the file', () => {
    expect(allowed('user-agent: *\ndisallow: /\n\nuser-agent: me', 'me', '/x')).toBe(true)
  })
  test('empty lines do not end a group', () => {
    expect(allowed(lines('user-agent: a', '', 'user-agent: b', '', '', 'disallow: /x'), 'a', '/x')).toBe(false)
  })
})

describe('§2.2 formal syntax', () => {
  test('field names are compared without case', () => {
    expect(allowed(lines('USER-AGENT: a', 'DisAllow: /x'), 'a', '/x')).toBe(false)
    expect(allowed(lines('uSeR-aGeNt: a', 'disallow: /', 'ALLOW: /x'), 'a', '/x')).toBe(true)
  })
  test('blanks around the colon are allowed', () => {
    expect(allowed('user-agent \t:\t a\ndisallow  :   /x  ', 'a', '/x')).toBe(false)
  })
  test('a number sign starts a comment, on a line of its own or behind a value', () => {
    const robots = lines('# disallow: /', 'user-agent: a # the crawler', 'disallow: /x# all of x', ' # end')
    expect(allowed(robots, 'a', '/x1')).toBe(false)
    expect(allowed(robots, 'a', '/y')).toBe(true)
  })
  test.each([
    ['CR', '\r'],
    ['LF', '\n'],
    ['CRLF', '\r\n'],
  ])('lines end with %s', (_, end) => {
    expect(allowed(['user-agent: a', 'disallow: /x', ''].join(end), 'a', '/x')).toBe(false)
    expect(parseRobots(['user-agent: a', '', 'disallow: /x'].join(end)).decide('/x', 'a').rule?.line).toBe(3)
  })
  test('all three line ends in one file', () => {
    const robots = parseRobots('user-agent: a\rdisallow: /1\r\ndisallow: /2\n\rdisallow: /3')
    expect([1, 2, 3].map((n) => robots.decide(`/${n}`, 'a').rule?.line)).toEqual([2, 3, 5])
  })
  test('the last line needs no end', () => {
    expect(allowed('user-agent: a\ndisallow: /x', 'a', '/x')).toBe(false)
  })
  test('a byte order mark before the first line is no part of it', () => {
    expect(allowed('\ufeffuser-agent: a\ndisallow: /x', 'a', '/x')).toBe(false)
  })
  test('the path is UTF-8', () => {
    expect(allowed(lines('user-agent: a', 'disallow: /ツ'), 'a', '/%E3%83%84')).toBe(false)
  })
})

describe('§2.2.1 the user-agent line', () => {
  test('the product token is compared without case', () => {
    expect(allowed(lines('user-agent: EXAMPLEBOT', 'disallow: /'), 'ExampleBot', '/x')).toBe(false)
  })
  test('a whole User-Agent given by the caller counts by its leading token', () => {
    expect(
      allowed(lines('user-agent: ExampleBot', 'disallow: /'), 'ExampleBot/0.1 (+https://example.com/bot)', '/'),
    ).toBe(false)
  })
  test('letters, low line and minus make a token; what follows is no part of it', () => {
    expect(allowed(lines('user-agent: Example_Bot-x/1.2 beta', 'disallow: /'), 'example_bot-x', '/')).toBe(false)
  })
  test('more than one group for a token is one group', () => {
    const robots = lines(
      'user-agent: ExampleBot',
      'disallow: /foo',
      'disallow: /bar',
      '',
      'user-agent: BazBot',
      'disallow: /boo',
      '',
      'user-agent: ExampleBot',
      'disallow: /baz',
    )
    for (const path of ['/foo', '/bar', '/baz']) expect(allowed(robots, 'ExampleBot', path)).toBe(false)
    expect(allowed(robots, 'ExampleBot', '/boo')).toBe(true)
    expect(allowed(robots, 'BazBot', '/foo')).toBe(true)
    expect(allowed(robots, 'BazBot', '/boo')).toBe(false)
  })
  test('without a group of its own an agent obeys the group of everybody', () => {
    expect(allowed(lines('user-agent: *', 'disallow: /x'), 'me', '/x')).toBe(false)
  })
  test('several groups of everybody are one', () => {
    const robots = lines(
      'user-agent: *',
      'disallow: /a',
      'user-agent: b',
      'disallow: /b',
      'user-agent: *',
      'disallow: /c',
    )
    expect(allowed(robots, 'me', '/a')).toBe(false)
    expect(allowed(robots, 'me', '/c')).toBe(false)
  })
  test('its own group is never merged with the group of everybody', () => {
    expect(allowed(lines('user-agent: *', 'disallow: /x', 'user-agent: me', 'disallow: /y'), 'me', '/x')).toBe(true)
  })
  test('without any matching group no rules apply', () => {
    expect(allowed(lines('user-agent: other', 'disallow: /'), 'me', '/x')).toBe(true)
    expect(parseRobots('user-agent: other\ndisallow: /').decide('/x', 'me')).toEqual({ allowed: true, why: 'no-group' })
  })
  test('a token is matched whole: neither its start nor its end alone', () => {
    expect(allowed(lines('user-agent: foo', 'disallow: /'), 'foo-news', '/')).toBe(true)
    expect(allowed(lines('user-agent: bot', 'disallow: /'), 'kestrelbot', '/')).toBe(true)
  })
})

describe('§2.2.2 the allow and disallow lines', () => {
  test('matching starts with the first octet of the path', () => {
    expect(matches('rfc9309', '/x', '/x')).toBe(true)
    expect(matches('rfc9309', '/x', '/y/x')).toBe(false)
    expect(matches('rfc9309', 'x', '/x')).toBe(false)
  })
  test('paths are compared with case', () => {
    expect(matches('rfc9309', '/X', '/x')).toBe(false)
  })
  test('the match with the most octets is used, wherever it stands', () => {
    for (const rules of [
      ['disallow: /a/', 'allow: /a/b'],
      ['allow: /a/b', 'disallow: /a/'],
    ]) {
      expect(allowed(lines('user-agent: *', ...rules), 'x', '/a/b')).toBe(true)
      expect(allowed(lines('user-agent: *', ...rules), 'x', '/a/c')).toBe(false)
    }
  })
  test('equal octets: allow beats disallow', () => {
    for (const rules of [
      ['disallow: /a', 'allow: /a'],
      ['allow: /a', 'disallow: /a'],
    ])
      expect(allowed(lines('user-agent: *', ...rules), 'x', '/a')).toBe(true)
  })
  test('no match, or no rules: allowed', () => {
    expect(allowed(lines('user-agent: *', 'disallow: /a'), 'x', '/b')).toBe(true)
    expect(allowed('', 'x', '/b')).toBe(true)
  })
  test('an empty pattern matches nothing', () => {
    expect(allowed(lines('user-agent: *', 'disallow:'), 'x', '/')).toBe(true)
    expect(allowed(lines('user-agent: *', 'disallow: /', 'allow:'), 'x', '/')).toBe(false)
  })
  test('/robots.txt itself is always allowed', () => {
    expect(allowed(lines('user-agent: *', 'disallow: /'), 'x', '/robots.txt')).toBe(true)
    expect(allowed(lines('user-agent: *', 'disallow: /'), 'x', '/robots.txt?x')).toBe(false)
    expect(allowed(lines('user-agent: *', 'disallow: /'), 'x', '/a/robots.txt')).toBe(false)
  })
  test.each([
    ['/foo/bar?baz=quz', '/foo/bar?baz=quz'],
    ['/foo/bar/ツ', '/foo/bar/%E3%83%84'],
    ['/foo/bar/%E3%83%84', '/foo/bar/%E3%83%84'],
    ['/foo/bar/%62%61%7A', '/foo/bar/baz'],
    ['/foo/bar/baz', '/foo/bar/%62%61%7A'],
    ['/foo/%e3%83%84', '/foo/ツ'],
    ['/foo/%7Ebar', '/foo/~bar'],
  ])('encoded as compared: %s matches %s', (pattern, path) => {
    expect(matches('rfc9309', `${pattern}$`, path)).toBe(true)
  })
  test('an encoded reserved octet is not the octet itself', () => {
    expect(matches('rfc9309', '/a%2Fb', '/a/b')).toBe(false)
    expect(matches('rfc9309', '/a%2Fb', '/a%2fb')).toBe(true)
    expect(matches('rfc9309', '/a?b=https://foo.bar', '/a?b=https%3A%2F%2Ffoo.bar')).toBe(false)
  })
})

describe('§2.2.3 special characters', () => {
  test('# makes a comment: allow: / # comment', () => {
    expect(allowed(lines('user-agent: *', 'disallow: /a', 'allow: /a/b # comment'), 'x', '/a/b')).toBe(true)
  })
  test('$ ends the pattern: /this/path/exactly$', () => {
    expect(matches('rfc9309', '/this/path/exactly$', '/this/path/exactly')).toBe(true)
    expect(matches('rfc9309', '/this/path/exactly$', '/this/path/exactly/not')).toBe(false)
  })
  test('* is any octets, none too: /this/*/exactly', () => {
    expect(matches('rfc9309', '/this/*/exactly', '/this/path/exactly')).toBe(true)
    expect(matches('rfc9309', '/this/*exactly', '/this/exactly')).toBe(true)
  })
  test('an encoded special character is the character itself', () => {
    expect(matches('rfc9309', '/path/file-with-a-%2A.html', '/path/file-with-a-*.html')).toBe(true)
    expect(matches('rfc9309', '/path/file-with-a-%2A.html', '/path/file-with-a-x.html')).toBe(false)
    expect(matches('rfc9309', '/path/foo-%24', '/path/foo-$')).toBe(true)
    expect(matches('rfc9309', '/path/foo-%24', '/path/foo-$/more')).toBe(true)
    expect(matches('rfc9309', '/path/foo-%24', '/path/foo-')).toBe(false)
  })
})

describe('§2.2.4 other records', () => {
  test('sitemap and unknown records do not interfere with groups', () => {
    for (const other of [
      'sitemap: https://x.example/s.xml',
      'crawl-delay: 1',
      'noindex: /',
      'content-signal: search=yes',
    ])
      expect(allowed(lines('user-agent: a', other, 'user-agent: b', 'disallow: /x'), 'a', '/x')).toBe(false)
  })
})

describe('§2.3 access method', () => {
  const at = 1_800_000_000_000
  const answer = (status: number) => step(unknownOrigin, { kind: 'answered', status, hash: 'h', jitter: 0 }, at)
  const rules = parseRobots('user-agent: *\ndisallow: /x', { policy })
  const verdict = (state: object, now = at + 1): string =>
    judge({ ...state, rules }, 'https://h.example/x', 'me', policy, now).kind

  test('§2.3.1.1 success: the rules are followed', () => {
    for (const status of [200, 201, 204, 206, 299]) expect(verdict(answer(status))).toBe('refused')
  })
  test('§2.3.1.2 more than five redirects: as unavailable', () => {
    expect(verdict(step(unknownOrigin, { kind: 'unanswered', reason: 'too-many-redirects', jitter: 0 }, at))).toBe(
      'allowed',
    )
  })
  test('§2.3.1.3 unavailable, 400 to 499: any resource may be accessed', () => {
    for (const status of [400, 401, 403, 404, 410, 418, 429, 451, 499]) expect(verdict(answer(status))).toBe('allowed')
  })
  test('§2.3.1.4 unreachable, 500 to 599 or a network error: complete disallow', () => {
    for (const status of [500, 502, 503, 504, 599]) expect(verdict(answer(status))).toBe('wait')
    for (const reason of ['dns', 'connect', 'tls', 'timeout', 'reset', 'protocol', 'decoding'] as const)
      expect(verdict(step(unknownOrigin, { kind: 'unanswered', reason, jitter: 0 }, at))).toBe('wait')
  })
  test('§2.3.1.4 after 30 days: as unavailable', () => {
    const day = 86_400_000
    expect(verdict(answer(500), at + 30 * day - 1)).not.toBe('allowed')
    expect(verdict(answer(500), at + 30 * day)).toBe('allowed')
  })
  test('§2.3.1.5 a body with errors: every line that parses counts', () => {
    expect(allowed('<html>\nuser-agent: *\n\0\0\ndisallow: /x\n</html>', 'me', '/x')).toBe(false)
  })
})

test('§2.4 a cached copy is used for 24 hours, and longer only while the file is unreachable', () => {
  const at = 1_800_000_000_000
  const day = 86_400_000
  const rules = parseRobots('user-agent: *\ndisallow: /x')
  const fresh = step(unknownOrigin, { kind: 'answered', status: 200, hash: 'h', jitter: 0 }, at)
  const kind = (state: object, now: number): string => judge({ ...state, rules }, '/x', 'me', policy, now).kind
  expect(kind(fresh, at + day - 1)).toBe('refused')
  expect(kind(fresh, at + day)).toBe('ask')
  const failing = step(fresh, { kind: 'answered', status: 500, jitter: 0 }, at + day)
  expect(kind(failing, at + 2 * day)).toBe('refused')
})

describe('§2.5 limits', () => {
  const head = 'user-agent: *\ndisallow: /in\n#'
  test('at least 500 KiB are parsed', () => {
    const robots = `${head}${'x'.repeat(512_000 - head.length - 13)}\ndisallow: /y`
    expect(robots.length).toBe(512_000)
    expect(allowed(robots, 'me', '/y')).toBe(false)
  })
  test('what lies behind is ignored', () => {
    const robots = `${head}${'x'.repeat(512_000 - head.length)}\ndisallow: /y\n`
    expect(allowed(robots, 'me', '/y')).toBe(true)
    expect(allowed(robots, 'me', '/in')).toBe(false)
  })
})

describe('§5 examples', () => {
  const simple = lines(
    'User-Agent: *',
    'Disallow: *.gif$',
    'Disallow: /example/',
    'Allow: /publications/',
    '',
    'User-Agent: foobot',
    'Disallow:/',
    'Allow:/example/page.html',
    'Allow:/example/allowed.gif',
    '',
    'User-Agent: barbot',
    'User-Agent: bazbot',
    'Disallow: /example/page.html',
    '',
    'User-Agent: quxbot',
  )
  test.each([
    ['otherbot', '/a.gif', false],
    ['otherbot', '/a.gif?x', true],
    ['otherbot', '/example/page.html', false],
    ['otherbot', '/publications/x', true],
    ['foobot', '/', false],
    ['foobot', '/example/page.html', true],
    ['foobot', '/example/allowed.gif', true],
    ['foobot', '/example/other.html', false],
    ['barbot', '/example/page.html', false],
    ['bazbot', '/example/page.html', false],
    ['barbot', '/a.gif', true],
    ['quxbot', '/example/page.html', true],
    ['quxbot', '/a.gif', true],
  ])('§5.1 %s, %s: %s', (agent, path, verdict) => {
    expect(allowed(simple, agent, path)).toBe(verdict)
  })
  test('§5.2 the longest match', () => {
    const robots = lines('User-Agent: foobot', 'Allow: /example/page/', 'Disallow: /example/page/disallowed.gif')
    expect(allowed(robots, 'foobot', '/example/page/disallowed.gif')).toBe(false)
    expect(allowed(robots, 'foobot', '/example/page/x.gif')).toBe(true)
  })
})
