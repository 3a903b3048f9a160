/** Our own leniencies and profiles: what no standard says, and what `decorum` does about it. */
import { parseRetryAfter, parseRobots, policies, productToken, readRetryAfter } from '@decorum/robots'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { lines, matches, under } from './support/ask.ts'

const allowed = under('decorum')

describe('lines that almost say it', () => {
  test('"disallow /a" without a colon reads as if it had one', () => {
    expect(allowed(lines('user-agent *', 'disallow /a'), 'x', '/a')).toBe(false)
  })
  test('more than two words without a colon say nothing', () => {
    expect(allowed(lines('user-agent: *', 'disallow /a /b'), 'x', '/a')).toBe(true)
  })
  test.each(['dissallow', 'dissalow', 'disalow', 'diasllow', 'disallaw'])('%s disallows', (field) => {
    expect(allowed(lines('user-agent: *', `${field}: /a`), 'x', '/a')).toBe(false)
  })
  test.each(['useragent', 'user agent'])('%s names an agent', (field) => {
    expect(allowed(lines(`${field}: *`, 'disallow: /a'), 'x', '/a')).toBe(false)
  })
  test('site-map names a sitemap', () => {
    expect(parseRobots('site-map: https://h.example/s.xml').sitemaps).toEqual(['https://h.example/s.xml'])
  })
  test('allow is not corrected: "alow" is no field', () => {
    expect(allowed(lines('user-agent: *', 'disallow: /', 'alow: /a'), 'x', '/a')).toBe(false)
  })
  test.each(['crawl-delay', 'Crawl-Delay', 'crawldelay', 'crawl delay'])('%s is a crawl-delay', (field) => {
    expect(parseRobots(`user-agent: *\n${field}: 3`).crawlDelay('x')).toBe(3)
  })
})

describe('agents', () => {
  test('decorum falls back along the dashes of a name, and no further', () => {
    const robots = lines(
      'user-agent: a-b',
      'disallow: /1',
      'user-agent: a',
      'disallow: /2',
      'user-agent: *',
      'disallow: /3',
    )
    const refused = (agent: string | string[]): number[] => [1, 2, 3].filter((n) => !allowed(robots, agent, `/${n}`))
    expect(refused('a-b-c')).toEqual([1])
    expect(refused('a-c')).toEqual([2])
    expect(refused('ab')).toEqual([3])
    expect(refused('b-a')).toEqual([3])
  })
  test('names that the caller lists come before names that we derive', () => {
    const robots = lines('user-agent: foo', 'disallow: /derived', 'user-agent: baz', 'disallow: /listed')
    expect(allowed(robots, ['foo-bar', 'baz'], '/listed')).toBe(false)
    expect(allowed(robots, ['foo-bar', 'baz'], '/derived')).toBe(true)
    expect(allowed(robots, ['foo-bar', 'qux'], '/derived')).toBe(false)
  })
  test('rfc9309, google and google-2022 take names as they stand', () => {
    for (const profile of ['rfc9309', 'google', 'google-2022'] as const)
      expect(under(profile)(lines('user-agent: a', 'disallow: /'), 'a-b', '/x')).toBe(true)
  })
  test('an agent without a name is everybody', () => {
    for (const agent of ['', '*', '123', []]) {
      expect(allowed(lines('user-agent: *', 'disallow: /a'), agent, '/a')).toBe(false)
      expect(allowed(lines('user-agent: a', 'disallow: /a'), agent, '/a')).toBe(true)
    }
  })
  test.each([
    ['Mozilla/5.0 (compatible; x)', 'x'],
    [
      'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Foo-bot/2.0; +https://h.example) Safari',
      'foo-bot',
    ],
    ['Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/120.0', 'mozilla'],
    ['Mozilla/4.0 (compatible; MSIE 8.0; Windows NT 6.1)', 'mozilla'],
    ['coccocbot-web/1.0', 'coccocbot-web'],
    ['MJ12bot', 'mj'],
    ['a_b-C d', 'a_b-c'],
    ['@x', ''],
    ['é', ''],
    ['{|}[\\]^`', ''],
    ['', ''],
  ])('the token of %s is %s', (agent, token) => {
    expect(productToken(agent)).toBe(token)
  })
})

describe('crawl-delay', () => {
  const delay = (...text: string[]): number | undefined => parseRobots(lines(...text)).crawlDelay('me')
  test('an earlier delay closes the lines above itself, for delays and not for rules', () => {
    const robots = parseRobots(
      lines('user-agent: *', 'crawl-delay: 10', 'user-agent: me', 'crawl-delay: 5', 'disallow: /x'),
    )
    expect(robots.crawlDelay('me')).toBe(5)
    expect(robots.crawlDelay('other')).toBe(10)
    expect(robots.isAllowed('/x', 'me')).toBe(false)
    expect(robots.isAllowed('/x', 'other')).toBe(false)
  })
  test('without a delay in between, all user-agent lines of the run share it', () => {
    const robots = parseRobots(lines('user-agent: a', 'user-agent: me', 'crawl-delay: 5'))
    expect([robots.crawlDelay('a'), robots.crawlDelay('me')]).toEqual([5, 5])
  })
  test('below the rules it still belongs to the lines above them', () => {
    expect(delay('user-agent: me', 'disallow: /x', 'crawl-delay: 4')).toBe(4)
  })
  test('several for one group: the largest', () => {
    expect(delay('user-agent: me', 'crawl-delay: 2', 'crawl-delay: 7', 'crawl-delay: 3')).toBe(7)
    expect(delay('user-agent: me', 'crawl-delay: 2', 'disallow: /', 'user-agent: me', 'crawl-delay: 1')).toBe(2)
  })
  test('without a user-agent above it, it is void', () => {
    expect(delay('crawl-delay: 5', 'user-agent: me', 'disallow: /')).toBeUndefined()
  })
  test('a group of its own without a delay does not take the one of everybody', () => {
    expect(delay('user-agent: *', 'crawl-delay: 5', 'disallow: /', 'user-agent: me', 'disallow: /x')).toBeUndefined()
  })
  test.each([
    ['0', 0],
    ['5', 5],
    ['0.5', 0.5],
    ['.5', 0.5],
    ['10.', 10],
    ['007', 7],
    ['1000000000', 1e9],
    ['5 # s', 5],
    ['-1', undefined],
    ['1e9', undefined],
    ['NaN', undefined],
    ['Infinity', undefined],
    ['10,5', undefined],
    ['5s', undefined],
    ['0x10', undefined],
    ['', undefined],
    ['.', undefined],
    ['1 2', undefined],
    ['９', undefined],
    ['9'.repeat(400), undefined],
  ])('crawl-delay: %s is %s', (text, seconds) => {
    expect(delay('user-agent: me', `crawl-delay: ${text}`)).toBe(seconds)
  })
})

describe('URLs as callers give them', () => {
  test('dots and doubled encodings are read as a browser would, so that no rule is walked around', () => {
    const robots = lines('user-agent: *', 'disallow: /private')
    for (const path of [
      '/a/../private',
      '/./private',
      '/%2e/private',
      '/a/%2E%2e/private',
      '/a/.%2e/private',
      '/a\\..\\private',
    ])
      expect(allowed(robots, 'x', path), path).toBe(false)
    expect(allowed(robots, 'x', '/private/../open')).toBe(true)
    expect(allowed(robots, 'x', '/a?b=/../private')).toBe(true)
    expect(allowed(robots, 'x', 'http:\\\\example.com\\private')).toBe(false)
  })
  test('an empty query is part of a URL, also of one that is tidied', () => {
    const robots = lines('user-agent: *', 'disallow: /*?')
    for (const path of ['/a?', '/b/../a?', '/b/../a?#c', ' /a?', '/a? '])
      expect(allowed(robots, 'x', path), path).toBe(false)
    for (const path of ['/a', '/b/../a#?', '/b/../a']) expect(allowed(robots, 'x', path), path).toBe(true)
  })
  test('names that only start with a dot are names', () => {
    expect(matches('decorum', '/.well-known/x', '/.well-known/x')).toBe(true)
    expect(matches('decorum', '/a/..b', '/a/..b')).toBe(true)
  })
  test('fragment, user info and port take no part; no path is the root', () => {
    const robots = parseRobots(lines('user-agent: *', 'disallow: /$', 'disallow: /a$', 'disallow: /?q'))
    for (const url of [
      'https://h.example',
      'https://u:p@h.example:8080/#x',
      'https://h.example/a#/b',
      'http://h.example?q',
      'HTTPS://h.example/a',
    ])
      expect(robots.isAllowed(url, 'x'), url).toBe(false)
    expect(robots.isAllowed('https://h.example/b#/a', 'x')).toBe(true)
  })
  test('a lone surrogate is U+FFFD, an emoji four octets', () => {
    expect(matches('decorum', '/%EF%BF%BD$', '/\ud800')).toBe(true)
    expect(matches('decorum', '/%F0%9F%A6%86$', '/🦆')).toBe(true)
    expect(matches('decorum', '/🦆$', '/%f0%9f%a6%86')).toBe(true)
  })
  test.each(['%', '%G1', '%0', '%zz', '100%'])('%s is taken as it stands', (text) => {
    expect(matches('decorum', `/${text}$`, `/${text}`)).toBe(true)
  })
  test('a star in the URL is matched by a star of the file, and by an encoded one alone besides', () => {
    expect(matches('decorum', '/a*b', '/a*b')).toBe(true)
    expect(matches('decorum', '/a%2Ab', '/a%2ab')).toBe(true)
    expect(matches('decorum', '/a%2Ab', '/axb')).toBe(false)
    expect(matches('google', '/a*b', '/a*b')).toBe(true)
  })
})

describe('weights', () => {
  test('trailing stars count for nothing, an end anchor for one', () => {
    expect(allowed(lines('user-agent: *', 'allow: /a', 'disallow: /a**'), 'x', '/a')).toBe(true)
    expect(allowed(lines('user-agent: *', 'allow: /a', 'disallow: /a$'), 'x', '/a')).toBe(false)
  })
  test('* alone closes everything, and weighs one octet', () => {
    expect(allowed(lines('user-agent: *', 'disallow: *'), 'x', '/a')).toBe(false)
    expect(allowed(lines('user-agent: *', 'disallow: *', 'allow: /'), 'x', '/a')).toBe(true)
  })
  test('weight is counted as compared: /%62 and /b are as heavy', () => {
    expect(allowed(lines('user-agent: *', 'disallow: /%62', 'allow: /b'), 'x', '/b')).toBe(true)
  })
  test('of two rules alike, the line above is named', () => {
    expect(parseRobots(lines('user-agent: *', 'disallow: /a', 'disallow: /a')).decide('/a', 'x').rule?.line).toBe(2)
  })
})

test('records that are reported: field, value, line and whose they are', () => {
  const robots = parseRobots(
    lines(
      'host: h.example',
      'user-agent: a',
      'request-rate: 1/10s 1800-1900',
      'visit-time: 0600 0845',
      'user-agent: b',
      'Content-Signal: search=yes',
      'clean-param: a&b /x',
      'disallow: /',
    ),
  )
  expect(robots.records).toEqual([
    { field: 'host', value: 'h.example', line: 1, agents: [] },
    { field: 'request-rate', value: '1/10s 1800-1900', line: 3, agents: ['a', 'b'] },
    { field: 'visit-time', value: '0600 0845', line: 4, agents: ['a', 'b'] },
    { field: 'content-signal', value: 'search=yes', line: 6, agents: ['a', 'b'] },
    { field: 'clean-param', value: 'a&b /x', line: 7, agents: ['a', 'b'] },
  ])
})

test('one file under several profiles is parsed once', () => {
  const robots = parseRobots(lines('user-agent: a', 'disallow: /%7Ex'), { policy: policies.decorum })
  expect(robots.under(policies.decorum)).toBe(robots)
  expect(robots.under(policies.google)).toBe(robots.under(policies['google-2022']))
  expect(robots.under({ ...policies.decorum, name: 'other', firstRetryMs: 1 }), 'only reading matters').toBe(robots)
  expect(robots.isAllowed('/~x', 'a-b')).toBe(false)
  expect(robots.under(policies.google).isAllowed('/~x', 'a')).toBe(true)
  expect(robots.under(policies.rfc9309).isAllowed('/~x', 'a-b')).toBe(true)
})

describe('Retry-After', () => {
  const now = Date.UTC(2026, 10, 20, 12, 0, 0)
  test.each([
    ['120', 120_000],
    ['0', undefined],
    [' 5 ', 5_000],
    ['86400', 86_400_000],
    ['86401', 86_400_000],
    ['9'.repeat(20), 86_400_000],
    ['Fri, 20 Nov 2026 12:01:00 GMT', 60_000],
    ['Fri, 20 Nov 2026 11:59:59 GMT', undefined],
    ['Fri, 31 Dec 9999 23:59:59 GMT', 86_400_000],
    ['Fri, 20 Nov 0120 12:00:00 GMT', undefined],
    ['Tue, 31 Feb 2027 12:00:00 GMT', 86_400_000], // a day that there is not: some day in March
    ['Fri, 20 Nov 2026 25:00:00 GMT', undefined],
    ['Friday, 20-Nov-26 12:01:00 GMT', 60_000],
    ['Fri Nov 20 12:01:00 2026', 60_000],
    ['Sun Nov  1 12:01:00 2026', undefined],
    ['Fri, 20 Nov 2026 12:01:00 UTC', 60_000],
    ['Fri, 20 Nov 2026 12:01:00 +0000', 60_000],
    ['Fri, 20 Nov 2026 13:01:00 +0100', 60_000],
    ['Fri, 20 Nov 2026 04:01:00 PST', 60_000],
    ['Fri, 20 Nov 2026 12:01:00', 60_000],
    ['Fri, 20-Nov-2026 12:01:00 GMT', 60_000],
    ['Fri, 20 Nov 2026 12:01 GMT', 60_000],
    ['20 Nov 2026 12:01:00 GMT', 60_000],
    ['Fri Nov 20 2026 13:01:00 GMT+0100 (Central European Standard Time)', 60_000],
    ['2026-11-20T12:01:00Z', 60_000],
    ['2026-11-20T13:01:00.5+01:00', 60_000],
    ['"120"', 120_000],
    ['6.0', 6_000],
    ['6s', 6_000],
    ['6 sec', 6_000],
    ['5 minutes', 300_000],
    ['1h', 3_600_000],
    ['2 days', 86_400_000],
    ['1500ms', 1_500],
    ['120; comment', 120_000],
    ['3,600', 3_600_000],
    ['6, 6', 6_000],
    ['Fri, 20 Nov 2026 12:01:00 GMT, 30', 60_000],
    ['soon, 30', 30_000],
    ['-1', undefined],
    ['1.5', 1_500],
    ['1e3', undefined],
    ['0x10', undefined],
    ['5, 10', 10_000],
    [`1${' '.repeat(16_000)}x`, undefined],
    ['\tFri, 20 Nov 2026 12:01:00 GMT ', 60_000],
    ['Sat, 13 Sep 275760 00:00:00 GMT', 86_400_000],
    ['\u{a0}5', 5_000],
    ['Invalid Date', undefined],
    ['٥', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('%s: %s ms', (value, ms) => {
    expect(parseRetryAfter(value, now)).toBe(ms)
  })
  test('of several lines the longest counts, and the first part that cannot be read is named', () => {
    expect(readRetryAfter(['6', '7', '2'])).toEqual({ retryAfterMs: 7_000 })
    expect(readRetryAfter(['soon', '7', 'x'.repeat(99)])).toEqual({ retryAfterMs: 7_000, retryAfterUnread: 'soon' })
    expect(readRetryAfter('x'.repeat(16_384)).retryAfterUnread).toHaveLength(64)
  })
  test('every date of the three forms of RFC 9110 is read as Date prints it', () => {
    const anyDate = fc.date({ min: new Date(0), max: new Date(Date.UTC(2069, 11, 31)), noInvalidDate: true })
    fc.assert(
      fc.property(anyDate, (date) => {
        const at = Math.floor(date.getTime() / 1_000) * 1_000
        const [day = '', of = '', month = '', year = '', time = ''] = date.toUTCString().split(/,? /)
        const forms = [
          `${day}, ${of} ${month} ${year} ${time} GMT`,
          `${day}day, ${of}-${month}-${year.slice(2)} ${time} GMT`,
        ]
        for (const text of [...forms, `${day} ${month} ${of.replace(/^0/, ' ')} ${time} ${year}`])
          expect(readRetryAfter(text), text).toEqual({ retryAfterAt: at })
      }),
    )
  })
  test('of any text something is read or named, and nothing lasts longer than a day', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[0-9 ,;:+.a-zA-Z-]{0,80}$/)), (text) => {
        const ms = parseRetryAfter(text, now)
        expect(ms === undefined || (ms > 0 && ms <= 86_400_000)).toBe(true)
      }),
    )
  })
})
