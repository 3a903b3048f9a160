/** Google's page on robots.txt, table by table, in both editions. */
import { readUrl } from '@decorum/protocol'
import { judge, parseRobots, policies, type RobotsState, step, unknownOrigin } from '@decorum/robots'
import { describe, expect, test } from 'vitest'
import { lines, matches, under } from './support/ask.ts'

const allowed = under('google')

/** Does the robots.txt at the first URL speak for the second one? */
function speaksFor(robotsUrl: string, url: string): boolean {
  const robots = readUrl(robotsUrl)
  const page = readUrl(url)
  if ('refused' in robots || 'refused' in page) return false
  return robots.path === '/robots.txt' && robots.origin === page.origin
}

describe('where a file counts', () => {
  test.each([
    ['https://example.com/robots.txt', 'https://example.com/', true],
    ['https://example.com/robots.txt', 'https://example.com/folder/file', true],
    ['https://example.com/robots.txt', 'https://other.example.com/', false],
    ['https://example.com/robots.txt', 'http://example.com/', false],
    ['https://example.com/robots.txt', 'https://example.com:8181/', false],
    ['https://www.example.com/robots.txt', 'https://www.example.com/', true],
    ['https://www.example.com/robots.txt', 'https://example.com/', false],
    ['https://www.example.com/robots.txt', 'https://shop.www.example.com/', false],
    ['https://www.example.com/robots.txt', 'https://www.shop.example.com/', false],
    ['https://example.com/folder/robots.txt', 'https://example.com/folder/file', false],
    ['https://www.exämple.com/robots.txt', 'https://www.exämple.com/', true],
    ['https://www.exämple.com/robots.txt', 'https://xn--exmple-cua.com/', false],
    ['https://www.exämple.com/robots.txt', 'https://www.xn--exmple-cua.com/', true],
    ['https://www.exämple.com/robots.txt', 'https://www.example.com/', false],
    ['https://212.96.82.21/robots.txt', 'https://212.96.82.21/', true],
    ['https://212.96.82.21/robots.txt', 'https://example.com/', false],
    ['https://example.com:443/robots.txt', 'https://example.com:443/', true],
    ['https://example.com:443/robots.txt', 'https://example.com/', true],
    ['https://example.com:8181/robots.txt', 'https://example.com:8181/', true],
    ['https://example.com:8181/robots.txt', 'https://example.com/', false],
    ['https://example.com/Robots.txt', 'https://example.com/', false],
  ])('%s for %s: %s', (robots, url, valid) => {
    expect(speaksFor(robots, url)).toBe(valid)
  })
})

describe.each(['google', 'google-2022'] as const)('answers, %s', (profile) => {
  const at = 1_800_000_000_000
  const policy = policies[profile]
  const rules = parseRobots('user-agent: *\ndisallow: /x', { policy })
  const verdict = (state: RobotsState, path = '/x'): string =>
    judge({ ...state, rules }, path, 'googlebot', policy, at + 1).kind
  const status = (code: number): RobotsState =>
    step(unknownOrigin, { kind: 'answered', status: code, hash: 'h', jitter: 0 }, at)

  test('2xx: the file is processed as it is served', () => {
    for (const code of [200, 204, 206]) {
      expect(verdict(status(code))).toBe('refused')
      expect(verdict(status(code), '/y')).toBe('allowed')
    }
  })
  test('3xx: more than five hops, a loop, a hop to nowhere are a 404', () => {
    for (const reason of [
      'too-many-redirects',
      'redirect-loop',
      'blocked-address',
      'blocked-port',
      'blocked-scheme',
      'blocked-hop',
    ] as const)
      expect(verdict(step(unknownOrigin, { kind: 'unanswered', reason, jitter: 0 }, at))).toBe('allowed')
  })
  test('4xx but 429: as if there were no file', () => {
    for (const code of [400, 401, 403, 404, 410, 451]) expect(verdict(status(code))).toBe('allowed')
  })
  test('429: as a server error', () => {
    expect(verdict(status(429))).toBe('wait')
  })
  test('5xx: the site is closed for now', () => {
    for (const code of [500, 502, 503]) expect(verdict(status(code))).toBe('wait')
  })
  test('other errors, DNS and network: as a server error', () => {
    for (const reason of [
      'dns',
      'nxdomain',
      'connect',
      'tls',
      'timeout',
      'reset',
      'protocol',
      'decoding',
      'no-contact',
    ] as const)
      expect(verdict(step(unknownOrigin, { kind: 'unanswered', reason, jitter: 0 }, at))).toBe('wait')
  })
  test('503 is asked more often than 500', () => {
    const due = (code: number): number => {
      const judged = judge(status(code), '/x', 'googlebot', policy, at)
      return judged.kind === 'wait' ? judged.until - at : 0
    }
    expect(due(503)).toBeLessThan(due(500))
  })
})

describe('path values', () => {
  const table: [pattern: string, matching: string[], other: string[]][] = [
    ['/', ['/', '/any', '/any/path?x'], []],
    ['/*', ['/', '/any', '/any/path?x'], []],
    ['/$', ['/'], ['/any', '/?x']],
    [
      '/fish',
      ['/fish', '/fish.html', '/fish/salmon.html', '/fishheads', '/fishheads/yummy.html', '/fish.php?id=anything'],
      ['/Fish.asp', '/catfish', '/?id=fish', '/desert/fish'],
    ],
    [
      '/fish*',
      ['/fish', '/fish.html', '/fish/salmon.html', '/fishheads', '/fishheads/yummy.html', '/fish.php?id=anything'],
      ['/Fish.asp', '/catfish', '/?id=fish', '/desert/fish'],
    ],
    [
      '/fish/',
      ['/fish/', '/fish/?id=anything', '/fish/salmon.htm'],
      ['/fish', '/fish.html', '/animals/fish/', '/Fish/Salmon.asp'],
    ],
    [
      '/*.php',
      [
        '/index.php',
        '/filename.php',
        '/folder/filename.php',
        '/folder/filename.php?parameters',
        '/folder/any.php.file.html',
        '/filename.php/',
      ],
      ['/', '/windows.PHP'],
    ],
    [
      '/*.php$',
      ['/filename.php', '/folder/filename.php'],
      ['/filename.php?parameters', '/filename.php/', '/filename.php5', '/windows.PHP'],
    ],
    ['/fish*.php', ['/fish.php', '/fishheads/catfish.php?parameters'], ['/Fish.PHP']],
  ]
  for (const profile of ['google', 'google-2022'] as const)
    for (const [pattern, matching, other] of table) {
      test.each(matching)(`${profile}: ${pattern} matches %s`, (path) =>
        expect(matches(profile, pattern, path)).toBe(true),
      )
      if (other.length > 0)
        test.each(other)(`${profile}: ${pattern} does not match %s`, (path) =>
          expect(matches(profile, pattern, path)).toBe(false),
        )
    }
})

describe('order of precedence for rules', () => {
  test.each([
    ['/page', 'allow: /p', 'disallow: /', true],
    ['/folder/page', 'allow: /folder', 'disallow: /folder', true],
    ['/page.htm', 'allow: /page', 'disallow: /*.htm', false],
    ['/page.php5', 'allow: /page', 'disallow: /*.ph', true],
    ['/', 'allow: /$', 'disallow: /', true],
    ['/page.htm', 'allow: /$', 'disallow: /', false],
  ])('%s with %s and %s: %s', (path, one, other, verdict) => {
    for (const profile of ['google', 'google-2022'] as const) {
      expect(under(profile)(lines('user-agent: *', one, other), 'x', path)).toBe(verdict)
      expect(under(profile)(lines('user-agent: *', other, one), 'x', path)).toBe(verdict)
    }
  })
})

describe('order of precedence for user agents', () => {
  const robots = lines(
    'user-agent: googlebot-news',
    'disallow: /1',
    '',
    'user-agent: *',
    'disallow: /2',
    '',
    'user-agent: googlebot',
    'disallow: /3',
  )
  test.each([
    ['Googlebot News', ['googlebot-news', 'googlebot'], 1],
    ['Googlebot (web)', ['googlebot'], 3],
    ['Googlebot Images', ['googlebot-image', 'googlebot'], 3],
    ['Googlebot News, fetching images', ['googlebot-news', 'googlebot'], 1],
    ['Googlebot Storebot', ['storebot-google'], 2],
    ['Otherbot (web)', ['otherbot'], 2],
    ['Otherbot (news)', ['otherbot-news'], 2],
  ])('%s follows its group', (_, agent, group) => {
    const refused = [1, 2, 3].filter((n) => !allowed(robots, agent, `/${n}`))
    expect(refused).toEqual([group])
  })
  test('googlebot/1.2 and googlebot* are googlebot', () => {
    for (const name of ['googlebot/1.2', 'googlebot*', 'Googlebot Images'])
      expect(allowed(lines(`user-agent: ${name}`, 'disallow: /'), 'googlebot', '/x')).toBe(false)
  })
})

describe('grouping', () => {
  const robots = lines(
    'user-agent: a',
    'disallow: /c',
    '',
    'user-agent: b',
    'disallow: /d',
    '',
    'user-agent: e',
    'user-agent: f',
    'disallow: /g',
    '',
    'user-agent: h',
  )
  test.each([
    ['a', ['/c']],
    ['b', ['/d']],
    ['e', ['/g']],
    ['f', ['/g']],
    ['h', []],
  ])('%s has its rules and no others', (agent, refused) => {
    expect(['/c', '/d', '/g'].filter((path) => !allowed(robots, agent, path))).toEqual(refused)
  })
  test('groups of one user agent are combined, groups of everybody are not added', () => {
    const news = lines(
      'user-agent: googlebot-news',
      'disallow: /fish',
      '',
      'user-agent: *',
      'disallow: /carrots',
      '',
      'user-agent: googlebot-news',
      'disallow: /shrimp',
    )
    const refused = (agent: string): string[] =>
      ['/fish', '/carrots', '/shrimp'].filter((path) => !allowed(news, agent, path))
    expect(refused('googlebot-news')).toEqual(['/fish', '/shrimp'])
    expect(refused('otherbot')).toEqual(['/carrots'])
  })
  test('records other than allow, disallow and user-agent do not part a group', () => {
    for (const other of ['sitemap: https://example.com/sitemap.xml', 'crawl-delay: 5', 'foo: bar']) {
      const joined = lines('user-agent: a', other, '', 'user-agent: b', 'disallow: /')
      expect(allowed(joined, 'a', '/x')).toBe(false)
      expect(allowed(joined, 'b', '/x')).toBe(false)
    }
  })
})

describe('syntax', () => {
  test('allow without a path, disallow without a path: ignored', () => {
    expect(allowed(lines('user-agent: *', 'disallow:'), 'x', '/a')).toBe(true)
    expect(allowed(lines('user-agent: *', 'disallow: /', 'allow:'), 'x', '/a')).toBe(false)
  })
  test('sitemaps are absolute URLs, of any host, tied to no user agent, in order', () => {
    const robots = lines(
      'user-agent: a',
      'sitemap: https://other.example/1.xml',
      'disallow: /',
      'Sitemap:http://h.example/2.xml # two',
      'sitemap: /relative.xml',
    )
    expect(parseRobots(robots).sitemaps).toEqual(['https://other.example/1.xml', 'http://h.example/2.xml'])
  })
  test('crawl-delay is not supported: reported, and not to be honoured', () => {
    expect(policies.google.crawlDelay).toBe(false)
    expect(policies['google-2022'].crawlDelay).toBe(false)
    expect(parseRobots('user-agent: *\ncrawl-delay: 3', { policy: policies.google }).crawlDelay('x')).toBe(3)
  })
  test('an unreadable line does not spoil the others', () => {
    expect(allowed(lines('<html>', 'user-agent: *', 'what is this', 'disallow: /x'), 'y', '/x')).toBe(false)
  })
})

describe("google/robotstxt's own ways", () => {
  test('allow: …/index.html and …/index.htm open their folder', () => {
    for (const page of ['index.html', 'index.htm']) {
      const robots = lines('user-agent: *', `allow: /allowed-slash/${page}`, 'disallow: /')
      expect(allowed(robots, 'x', '/allowed-slash/')).toBe(true)
      expect(allowed(robots, 'x', `/allowed-slash/${page}`)).toBe(true)
      expect(allowed(robots, 'x', '/allowed-slash/other')).toBe(false)
      expect(allowed(robots, 'x', '/')).toBe(false)
      expect(under('decorum')(robots, 'x', '/allowed-slash/')).toBe(false)
    }
  })
  test('disallow: …/index.html closes the page alone', () => {
    expect(allowed(lines('user-agent: *', 'disallow: /a/index.html'), 'x', '/a/')).toBe(true)
  })
  test('the URL is compared as it is given, the pattern with its octets encoded', () => {
    expect(matches('google', '/foo/bar/ツ', '/foo/bar/%E3%83%84')).toBe(true)
    expect(matches('google', '/foo/bar/ツ', '/foo/bar/ツ')).toBe(false)
    expect(matches('google', '/foo/bar/%62%61%7A', '/foo/bar/baz')).toBe(false)
    expect(matches('google', '/foo/bar/%62%61%7A', '/foo/bar/%62%61%7A')).toBe(true)
    expect(matches('google', '/a%aa', '/a%AA')).toBe(true)
    expect(matches('google', '/a%AA', '/a%aa')).toBe(false)
  })
  test('a trailing star counts as an octet and so decides a tie', () => {
    const robots = lines('user-agent: *', 'allow: /fish', 'disallow: /fish*')
    expect(allowed(robots, 'x', '/fish')).toBe(false)
    expect(under('rfc9309')(robots, 'x', '/fish')).toBe(true)
  })
  test('a line keeps 16,663 octets', () => {
    const start = 'disallow: /'
    const fits = 'x'.repeat(16_663 - start.length)
    expect(parseRobots(`user-agent: *\n${start}${fits}qux\n`).decide(`/${fits}`, 'y').rule?.pattern).toBe(`/${fits}`)
  })
  test.each([
    ['', '/'],
    ['http://www.example.com', '/'],
    ['http://www.example.com/', '/'],
    ['http://www.example.com/a', '/a'],
    ['http://www.example.com/a/', '/a/'],
    ['http://www.example.com/a/b?c=http://d.e/', '/a/b?c=http://d.e/'],
    ['http://www.example.com/a/b?c=d&e=f#fragment', '/a/b?c=d&e=f'],
    ['example.com', '/'],
    ['example.com/', '/'],
    ['example.com/a', '/a'],
    ['example.com/a/b?c=d&e=f#fragment', '/a/b?c=d&e=f'],
    ['a', '/'],
    ['a/', '/'],
    ['/a', '/a'],
    ['a/b', '/b'],
    ['example.com?a', '/?a'],
    ['example.com/a;b#c', '/a;b'],
    ['//a/b/c', '/b/c'],
  ])('path and query of %s: %s', (url, path) => {
    expect(parseRobots('user-agent: *\ndisallow: /none', { policy: policies.google }).explain(url, 'x').path).toBe(path)
  })
})
