/** Cốc Cốc's page on robots.txt (help.coccoc.com/en/search-engine/robots-txt), example by example. */
import { judge, parseRobots, policies, type RobotsState, step, unknownOrigin } from '@decorum/robots'
import { describe, expect, test } from 'vitest'
import { lines, matches, under } from './support/ask.ts'

const allowed = under('coccoc')
const policy = policies.coccoc
const at = 1_800_000_000_000

function verdict(state: RobotsState, now = at + 1): string {
  const rules = parseRobots('user-agent: *\ndisallow: /x', { policy })
  return judge({ ...state, rules }, '/x', 'coccocbot-web', policy, now).kind
}

describe('the answer to the request', () => {
  const status = (code: number): RobotsState =>
    step(unknownOrigin, { kind: 'answered', status: code, hash: 'h', jitter: 0 }, at)
  test('before anything else, robots.txt is asked for', () => {
    expect(verdict(unknownOrigin)).toBe('ask')
  })
  test('200 OK: its directives are used until the next request', () => {
    expect(verdict(status(200))).toBe('refused')
  })
  test('any answer other than 200 OK: unrestricted access', () => {
    for (const code of [201, 204, 206, 301, 304, 400, 401, 403, 404, 410, 429, 500, 503, 599, 999])
      expect(verdict(status(code))).toBe('allowed')
  })
  test('redirects count up to the fifth; after that it is no 200 OK', () => {
    expect(verdict(step(unknownOrigin, { kind: 'unanswered', reason: 'too-many-redirects', jitter: 0 }, at))).toBe(
      'allowed',
    )
  })
  test('no answer: the site is set aside, for as long as it gives none', () => {
    for (const reason of ['dns', 'connect', 'tls', 'timeout', 'reset', 'protocol'] as const) {
      const silent = step(unknownOrigin, { kind: 'unanswered', reason, jitter: 0 }, at)
      expect(verdict(silent)).toBe('wait')
      expect(['wait', 'ask']).toContain(verdict(silent, at + 400 * 86_400_000))
    }
  })
})

describe('user-agent: the closest name, less specific ones ignored', () => {
  test('a rule that names no robot instructs none', () => {
    expect(allowed(lines('Disallow: /cgi-bin'), 'coccocbot-web', '/cgi-bin')).toBe(true)
  })
  test('*: all robots', () => {
    expect(allowed(lines('User-agent: *', 'Disallow: /cgi-bin'), 'coccocbot-web', '/cgi-bin')).toBe(false)
    expect(allowed(lines('User-agent: *', 'Disallow: /cgi-bin'), 'otherbot', '/cgi-bin/x')).toBe(false)
  })
  test("coccocbot: all of Cốc Cốc's robots", () => {
    const robots = lines('User-agent: coccocbot', 'Disallow: /cgi-bin')
    for (const agent of ['coccocbot', 'coccocbot-web', 'coccocbot-image', 'coccocbot-fast'])
      expect(allowed(robots, agent, '/cgi-bin')).toBe(false)
    expect(allowed(robots, 'otherbot', '/cgi-bin')).toBe(true)
  })
  test('coccocbot-web: that one alone', () => {
    const robots = lines('User-agent: coccocbot-web', 'Disallow: /cgi-bin')
    expect(allowed(robots, 'coccocbot-web', '/cgi-bin')).toBe(false)
    expect(allowed(robots, 'coccocbot-image', '/cgi-bin')).toBe(true)
    expect(allowed(robots, 'coccocbot', '/cgi-bin')).toBe(true)
  })
  test('coccocbot-web takes its own group, then coccocbot, then *', () => {
    const groups = { 'coccocbot-web': '/1', coccocbot: '/2', '*': '/3' }
    const refused = (...names: (keyof typeof groups)[]): string[] => {
      const robots = lines(...names.flatMap((name) => [`User-agent: ${name}`, `Disallow: ${groups[name]}`]))
      return Object.values(groups).filter((path) => !allowed(robots, 'coccocbot-web', path))
    }
    expect(refused('*', 'coccocbot', 'coccocbot-web')).toEqual(['/1'])
    expect(refused('coccocbot', '*')).toEqual(['/2'])
    expect(refused('*')).toEqual(['/3'])
  })
  test('never by a part of a name: neither "bot" nor "coccoc" is closest to coccocbot', () => {
    for (const name of ['bot', 'coccoc', 'coccocbot-we'])
      expect(allowed(lines(`User-agent: ${name}`, 'Disallow: /'), 'coccocbot-web', '/')).toBe(true)
  })
  test('several groups of one name are used together', () => {
    const robots = lines(
      'User-agent: coccocbot',
      'Disallow: /a',
      '',
      'User-agent: *',
      'Disallow: /b',
      '',
      'User-agent: coccocbot',
      'Disallow: /c',
    )
    expect(['/a', '/b', '/c'].filter((path) => !allowed(robots, 'coccocbot', path))).toEqual(['/a', '/c'])
  })
  test('the whole User-Agent of the newer robots is given by its token', () => {
    expect(
      allowed(
        lines('User-agent: coccocbot-web', 'Disallow: /'),
        'coccocbot-web/1.0 (+http://help.coccoc.com/searchengine)',
        '/',
      ),
    ).toBe(false)
  })
})

describe('disallow and allow', () => {
  test('Disallow: / closes the site, an empty one opens it, an empty Allow is ignored', () => {
    expect(allowed(lines('User-agent: coccocbot', 'Disallow: /'), 'coccocbot', '/x')).toBe(false)
    expect(allowed(lines('User-agent: coccocbot', 'Disallow:'), 'coccocbot', '/x')).toBe(true)
    expect(allowed(lines('User-agent: coccocbot', 'Disallow: /', 'Allow:'), 'coccocbot', '/x')).toBe(false)
  })
  test('the longest rule decides, allow at equal length, in any order', () => {
    expect(allowed(lines('User-agent: *', 'Disallow: /', 'Allow: /cgi-bin'), 'coccocbot', '/cgi-bin/a')).toBe(true)
    expect(allowed(lines('User-agent: *', 'Allow: /cgi-bin', 'Disallow: /'), 'coccocbot', '/other')).toBe(false)
    expect(allowed(lines('User-agent: *', 'Disallow: /a', 'Allow: /a'), 'coccocbot', '/a')).toBe(true)
  })
  test('a star at the end is implied, $ takes it away', () => {
    expect(matches('coccoc', '/cgi-bin', '/cgi-bin/page')).toBe(true)
    expect(matches('coccoc', '/cgi-bin*', '/cgi-bin/page')).toBe(true)
    expect(matches('coccoc', '/cgi-bin$', '/cgi-bin/page')).toBe(false)
    expect(matches('coccoc', '/cgi-bin$', '/cgi-bin')).toBe(true)
  })
  test('* is any number of any characters', () => {
    expect(matches('coccoc', '/cgi-bin/*.aspx', '/cgi-bin/example.aspx')).toBe(true)
    expect(matches('coccoc', '/cgi-bin/*.aspx', '/cgi-bin/private/test.aspx')).toBe(true)
    expect(matches('coccoc', '/*private', '/cgi-bin/private')).toBe(true)
    expect(matches('coccoc', '/*private', '/private')).toBe(true)
  })
})

describe('crawl-delay', () => {
  test('seconds between two requests, decimals too, for the robots named', () => {
    expect(parseRobots(lines('User-agent: coccocbot', 'Crawl-delay: 1'), { policy }).crawlDelay('coccocbot-web')).toBe(
      1,
    )
    expect(parseRobots(lines('User-agent: coccocbot', 'Crawl-delay: 0.5'), { policy }).crawlDelay('coccocbot')).toBe(
      0.5,
    )
  })
  test('coccocbot at 5, all others at 10', () => {
    const robots = parseRobots(
      lines('User-agent: *', 'Crawl-delay: 10', '', 'User-agent: coccocbot', 'Crawl-delay: 5'),
      { policy },
    )
    expect(robots.crawlDelay('coccocbot-web')).toBe(5)
    expect(robots.crawlDelay('otherbot')).toBe(10)
  })
  test('above 10 it is reported as written; the gateway makes 10 of it', () => {
    expect(parseRobots(lines('User-agent: *', 'Crawl-delay: 100'), { policy }).crawlDelay('coccocbot')).toBe(100)
  })
})

test('sitemap: any number, tied to no robot', () => {
  const robots = lines(
    'User-agent: coccocbot',
    'Disallow: /a',
    'Sitemap: https://example.vn/1.xml',
    'Sitemap: https://example.vn/2.xml',
  )
  expect(parseRobots(robots, { policy }).sitemaps).toEqual(['https://example.vn/1.xml', 'https://example.vn/2.xml'])
})
