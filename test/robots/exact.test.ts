/**
 * Every octet, as google/robotstxt reads it under `google`, and by the grammar of RFC 9309 elsewhere. The comparison with
 * the C++ itself is test/robots/compare/google.ts; these are the cases that it once found.
 */
import { type Policy, parseRobots, policies } from '@decorum/robots'
import { describe, expect, test } from 'vitest'

const { google, rfc9309, decorum, coccoc } = policies
const all = Object.values(policies)
const allowed = (source: string, path: string, policy: Policy = google, agent = 'x'): boolean =>
  parseRobots(source, { policy }).isAllowed(path, agent)

describe('octets that are no text', () => {
  test('under google a NUL ends its line, as it ends a C string', () => {
    expect(allowed('user-agent: *\ndisallow: /\0', '/a')).toBe(false)
    expect(allowed('user-agent: *\ndisallow: /a\0b\n', '/a')).toBe(false)
    expect(allowed('user-agent: *\0x\ndisallow: /', '/a')).toBe(false)
    expect(allowed('user-agent: *\nx\0disallow: /', '/a')).toBe(true)
    expect(allowed('user-agent: *\n\0disallow: /', '/a')).toBe(true)
  })
  test('under google vertical tab and form feed are trimmed, and do not part two words', () => {
    for (const blank of ['\v', '\f', ' \v\f\t']) {
      expect(allowed(`${blank}user-agent${blank}:${blank}*${blank}\ndisallow:${blank}/${blank}`, '/a')).toBe(false)
    }
    expect(allowed('user-agent: *\ndisallow\v/a', '/a')).toBe(true)
    expect(allowed('user-agent: *\ndisallow \v/a', '/a')).toBe(false)
    expect(allowed('user-agent: *\ndisallow \v /a', '/a')).toBe(true)
  })
  test('under google a NUL ends a URL too', () => {
    expect(allowed('user-agent: *\ndisallow: /a$', '/a\0b')).toBe(false)
    expect(allowed('user-agent: *\ndisallow: /a$', '/a\0b', rfc9309)).toBe(true)
  })
  test('elsewhere they are octets of the pattern like others', () => {
    for (const policy of [rfc9309, decorum, coccoc]) {
      expect(allowed('user-agent: *\ndisallow: /\0', '/a', policy)).toBe(true)
      expect(allowed('user-agent: *\ndisallow: /a\v', '/a', policy)).toBe(true)
      expect(allowed('user-agent: *\n\fdisallow: /a', '/a', policy)).toBe(true)
    }
  })
  test('one file, read under one policy and then under another, is read as each of them reads it', () => {
    const source = 'user-agent: *\ndisallow: /\v'
    for (const first of all)
      for (const second of all)
        expect(parseRobots(source, { policy: first }).under(second).isAllowed('/a', 'x')).toBe(
          second.grammar === 'rfc9309',
        )
  })
})

describe('what lies beyond the line limit does not exist, under every profile', () => {
  const beyond = ' '.repeat(16_700)
  test('a keyword there does not end a run of user-agent lines', () => {
    const source = `user-agent: foo\n${beyond}disallow: /x\nuser-agent: bar\ndisallow: /y\n`
    for (const policy of all) {
      expect(allowed(source, '/y', policy, 'foo'), policy.name).toBe(false)
      expect(allowed(source, '/x', policy, 'foo'), policy.name).toBe(true)
    }
  })
  test.each(['disallow: /', 'user-agent: *\rdisallow: /', 'sitemap: https://h.example/s'])('%j', (line) => {
    for (const policy of all) {
      const robots = parseRobots(`user-agent: y\ndisallow: /y\n${beyond}${line.split('\r')[0]}\n`, { policy })
      expect(robots.isAllowed('/a', 'y')).toBe(true)
      expect(robots.sitemaps).toEqual([])
    }
  })
  test('and is no warning of its own', () => {
    for (const field of ['noindex: /a', 'x', 'sitemap: /s', 'user-agent: 42'])
      for (const policy of all)
        expect(
          parseRobots(`user-agent: *\n${beyond}${field}\nnoindex: /b\n`, { policy }).warnings.map(({ line, kind }) => [
            line,
            kind,
          ]),
        ).toEqual([
          [2, 'line-too-long'],
          [3, 'unknown-field'],
        ])
  })
  test('the colon may be the last octet that counts, and so may the first of the pattern', () => {
    const padded = (text: string, upTo: number): string => `${' '.repeat(16_663 - upTo)}${text}`
    for (const policy of all) {
      const robots = (line: string): string => `user-agent: *\n${line}`
      expect(allowed(robots(padded('disallow:/a', 'disallow:/'.length)), '/b', policy)).toBe(false)
      const { rule } = parseRobots(robots(padded('disallow:/a', 'disallow:'.length)), { policy }).decide('/b', 'x')
      expect(rule).toEqual({ type: 'disallow', pattern: '', line: 2 })
    }
  })
})

describe('rules without a pattern', () => {
  const decided = (source: string, path: string): unknown => {
    const { allowed: may, why, rule } = parseRobots(source).decide(path, 'x')
    return [may, why, rule?.type, rule?.line]
  }
  test('one is named when nothing else decides', () => {
    expect(decided('user-agent: *\ndisallow:\n', '/')).toEqual([true, 'empty-rule', 'disallow', 2])
    expect(decided('user-agent: *\ndisallow: /a\ndisallow:\n', '/b')).toEqual([true, 'empty-rule', 'disallow', 3])
    expect(decided('user-agent: *\ndisallow:\ndisallow: /a\n', '/a')).toEqual([false, 'rule', 'disallow', 3])
  })
  test('of several the first, and an allow before a disallow', () => {
    const source = 'user-agent: *\ndisallow:\ndisallow:\nallow:\nuser-agent: y\nuser-agent: *\nallow:\n'
    expect(decided(source, '/')).toEqual([true, 'empty-rule', 'allow', 4])
  })
  test('they do so too in a group that is large enough to be indexed', () => {
    const many = Array.from({ length: 50 }, (_, i) => `disallow: /${i}`).join('\n')
    expect(decided(`user-agent: *\ndisallow:\n${many}\n`, '/x')).toEqual([true, 'empty-rule', 'disallow', 2])
  })
  test('explain names it, and a crawler that asks nothing but isAllowed is allowed', () => {
    const robots = parseRobots('user-agent: *\ndisallow:\n')
    expect(robots.explain('/', 'x')).toMatchObject({ allowed: true, why: 'empty-rule', rule: { line: 2 }, losers: [] })
    expect(robots.isAllowed('/', 'x')).toBe(true)
  })
})

describe('keys that only begin like a known one', () => {
  const opened = 'user-agent: *\ndisallow: /\nAllowAITraining: /\n'
  test('AllowAITraining is no allow by the grammar of RFC 9309; google/robotstxt takes it for one', () => {
    for (const policy of [rfc9309, decorum, coccoc]) expect(allowed(opened, '/a', policy), policy.name).toBe(false)
    for (const policy of [google, policies['google-2022']]) expect(allowed(opened, '/a', policy)).toBe(true)
    expect(parseRobots(opened).warnings).toEqual([
      { line: 3, kind: 'unknown-field', text: '"AllowAITraining" is not acted on' },
    ])
  })
  test('whichever policy read the file first', () => {
    expect(parseRobots(opened, { policy: google }).under(decorum).isAllowed('/a', 'x')).toBe(false)
    expect(parseRobots(opened).under(google).isAllowed('/a', 'x')).toBe(true)
    expect(parseRobots(opened, { policy: google }).warnings[0]?.kind).toBe('misspelt-field')
  })
  test('user-agents, disallowed and sitemaps likewise', () => {
    const source = 'user-agents: *\ndisallowed: /\nsitemaps: https://h.example/s\n'
    expect(parseRobots(source, { policy: google }).isAllowed('/a', 'x')).toBe(false)
    expect(parseRobots(source, { policy: google }).sitemaps).toHaveLength(1)
    expect(parseRobots(source).isAllowed('/a', 'x')).toBe(true)
    expect(parseRobots(source).sitemaps).toEqual([])
  })
})

describe('pages that are no robots.txt', () => {
  const page = (line: string, end: string): string =>
    `<!DOCTYPE html>${end}${`  <p class="navigator.userAgent">agent of é</p>${end}`.repeat(400)}${line}${end}${`<br>${end}`.repeat(300)}`
  test.each(['\n', '\r\n', '\r'])('lines that parse count, with their numbers, wherever they stand (%j)', (end) => {
    const robots = parseRobots(page(`user-agent: *${end}x${end}disallow: /a`, end))
    expect(robots.decide('/a', 'x')).toMatchObject({ allowed: false, rule: { line: 404 }, group: { line: 402 } })
    expect(parseRobots(page('Sitemap: https://h.example/s', end)).sitemaps).toEqual(['https://h.example/s'])
  })
  test('one warning says what it is, and none is about each of its lines', () => {
    expect(parseRobots(page('', '\n')).warnings.map(({ kind }) => kind)).toEqual(['looks-like-html'])
  })
})
