/**
 * The cases on which the libraries of this world disagree, each with the answer given here; and the bad input of every
 * other kind that a robots.txt has been seen to hold.
 */
import { gzipSync } from 'node:zlib'
import { parseRobots, policies } from '@decorum/robots'
import { describe, expect, test } from 'vitest'
import { lines, matches, under } from './support/ask.ts'

const allowed = under('decorum')
const octets = (...parts: (string | number[])[]): Uint8Array =>
  Uint8Array.from(parts.flatMap((part) => (typeof part === 'string' ? [...Buffer.from(part)] : part)))
const kinds = (source: string | Uint8Array): string[] => parseRobots(source).warnings.map(({ kind }) => kind)

describe('where libraries disagree', () => {
  test.each(['sitemap: https://h.example/s', 'foo: bar', 'crawl-delay: 5', 'content-signal: search=yes'])(
    '1. user-agent, %s, user-agent: one run',
    (between) => {
      expect(allowed(lines('user-agent: a', between, 'user-agent: b', 'disallow: /x'), 'a', '/x')).toBe(false)
    },
  )
  test('2. "user-agent: me" at the end of the file: no rules, and not those of everybody', () => {
    expect(allowed('user-agent: *\ndisallow: /\nuser-agent: me', 'me', '/x')).toBe(true)
  })
  test('3. an empty "disallow:" ends the run of user-agent lines', () => {
    expect(allowed(lines('user-agent: a', 'disallow:', 'user-agent: b', 'disallow: /'), 'a', '/x')).toBe(true)
  })
  test('4. %62 is b and %7E is ~, but %2F is not a slash', () => {
    expect(matches('decorum', '/%62%7E', '/b~')).toBe(true)
    expect(matches('decorum', '/b~', '/%62%7e')).toBe(true)
    expect(matches('decorum', '/a%2Fb', '/a/b')).toBe(false)
  })
  test('5. %2A and %24 are the characters; $ inside a pattern is itself', () => {
    expect(matches('decorum', '/a%2A$', '/a*')).toBe(true)
    expect(matches('decorum', '/a%24', '/a$b')).toBe(true)
    expect(matches('decorum', '/a$b', '/a$b')).toBe(true)
    expect(matches('google', '/a$b', '/a$b')).toBe(true)
    expect(matches('google', '/a%2A', '/a*')).toBe(false)
  })
  test('6. raw :// in a query stays apart from %3A%2F%2F', () => {
    expect(matches('decorum', '/?u=http://x', '/?u=http%3A%2F%2Fx')).toBe(false)
  })
  test('7. foo-news with only a group foo: foo under coccoc and decorum, everybody elsewhere', () => {
    const robots = lines('user-agent: foo', 'disallow: /foo', 'user-agent: *', 'disallow: /all')
    for (const profile of ['decorum', 'coccoc'] as const) expect(under(profile)(robots, 'foo-news', '/foo')).toBe(false)
    for (const profile of ['rfc9309', 'google', 'google-2022'] as const)
      expect(under(profile)(robots, 'foo-news', '/all')).toBe(false)
  })
  test('8. never by a part of a name; digits end it', () => {
    expect(allowed(lines('user-agent: bot', 'disallow: /'), 'kestrelbot', '/')).toBe(true)
    expect(allowed(lines('user-agent: Moth3', 'disallow: /'), 'moth', '/')).toBe(false)
  })
  test('9. /crate* and /crate: alike, but under google the star is an octet', () => {
    const robots = lines('user-agent: *', 'disallow: /crate*', 'allow: /crate')
    expect(allowed(robots, 'x', '/crate')).toBe(true)
    expect(under('google')(robots, 'x', '/crate')).toBe(false)
  })
  test('10. U+2028, U+0085, vertical tab are no line ends; NBSP is not trimmed; E9 is %E9', () => {
    for (const odd of ['\u2028', '\u0085', '\v', '\f'])
      expect(allowed(`user-agent: *${odd}\ndisallow: /a${odd}disallow: /b`, 'x', '/b')).toBe(true)
    expect(allowed('user-agent: *\ndisallow: /a\u00a0', 'x', '/a')).toBe(true)
    expect(allowed('user-agent: *\ndisallow: /a\u00a0', 'x', '/a%C2%A0')).toBe(false)
    expect(allowed(octets('user-agent: *\ndisallow: /caf', [0xe9], '\n'), 'x', '/caf%E9')).toBe(false)
    expect(allowed(octets('user-agent: *\ndisallow: /caf', [0xe9], '\n'), 'x', '/caf%e9')).toBe(false)
  })
  test('11. /*.cgi$ matches /a.cgi/b.cgi', () => {
    expect(matches('decorum', '/*.cgi$', '/a.cgi/b.cgi')).toBe(true)
    expect(matches('decorum', '/*a*ab$', '/aabxab')).toBe(true)
    expect(matches('decorum', '/*ab*ab$', '/ab')).toBe(false)
  })
  test('12. delays: void when negative or infinite, the largest of several, none without a group', () => {
    const delay = (...values: string[]): number | undefined =>
      parseRobots(lines('user-agent: *', ...values.map((value) => `crawl-delay: ${value}`))).crawlDelay('x')
    expect([delay('-1'), delay('inf'), delay('nan'), delay('.5'), delay('1', '3', '2')]).toEqual([
      undefined,
      undefined,
      undefined,
      0.5,
      3,
    ])
    expect(parseRobots('crawl-delay: 5').crawlDelay('x')).toBeUndefined()
    expect(allowed(lines('user-agent: *', 'crawl-delay: 99999'), 'x', '/a')).toBe(true)
  })
  test('13. fragments are dropped; https://h?x is /?x', () => {
    expect(allowed(lines('user-agent: *', 'disallow: /?x'), 'x', 'https://h.example?x')).toBe(false)
  })
  test('14. a page of HTML with status 200: no rules, and it is said', () => {
    const page = '<!DOCTYPE html>\n<html><body>user-agent: *\n<p>Disallow: /</p></body></html>'
    expect(allowed(page, 'x', '/a')).toBe(true)
    expect(kinds(page)).toContain('looks-like-html')
  })
  test('15. disallow: /a/index.html does not close /a/', () => {
    for (const profile of ['decorum', 'google'] as const)
      expect(under(profile)(lines('user-agent: *', 'disallow: /a/index.html'), 'x', '/a/')).toBe(true)
  })
})

describe('R: any octets', () => {
  const rules = 'user-agent: *\ndisallow: /x\n'
  test('R1 R2 empty, or a mark alone: everything allowed', () => {
    for (const source of ['', '\ufeff', octets([0xef, 0xbb, 0xbf]), new Uint8Array()])
      expect(allowed(source, 'a', '/x')).toBe(true)
  })
  test('R3 R4 a mark, whole or half, before the first line', () => {
    for (const mark of [[0xef, 0xbb, 0xbf], [0xef, 0xbb], [0xef]])
      expect(allowed(octets(mark, rules), 'a', '/x')).toBe(false)
    expect(allowed(octets('user-agent: *\n', [0xef, 0xbb, 0xbf], 'disallow: /x\n'), 'a', '/x')).toBe(true)
  })
  test('R5 UTF-16: read as what it is, flagged; under google octets', () => {
    for (const text of [`\ufeff${rules}`, rules])
      for (const source of [Buffer.from(text, 'utf16le'), Buffer.from(text, 'utf16le').swap16()]) {
        expect(allowed(source, 'a', '/x')).toBe(false)
        expect(under('google')(source, 'a', '/x')).toBe(true)
        expect(kinds(source)).toEqual(['not-text'])
      }
  })
  test('R6 NULs are octets like others', () => {
    expect(allowed(octets('user-agent: *\ndisallow: /a', [0], 'b\n'), 'a', '/a')).toBe(true)
    expect(allowed(octets([0, 0], '\n', rules), 'a', '/x')).toBe(false)
  })
  test('R7 octets that are no UTF-8 are compared as %XX', () => {
    expect(allowed(octets('user-agent: *\ndisallow: /', [0xff, 0xc3], '\n'), 'a', '/%FF%C3')).toBe(false)
  })
  test('R10 a line of 500 KiB is cut, and the file goes on', () => {
    const robots = `user-agent: *\ndisallow: /${'a'.repeat(480_000)}\ndisallow: /x\n`
    expect(allowed(robots, 'a', '/x')).toBe(false)
    expect(kinds(robots)).toContain('line-too-long')
    expect(allowed(robots, 'a', `/${'a'.repeat(16_651)}`)).toBe(true)
    expect(allowed(robots, 'a', `/${'a'.repeat(16_652)}`)).toBe(false)
  })
  test('R11 a rule that the limit falls into is dropped, not shortened', () => {
    const fill = (length: number): string => `user-agent: *\n#${'x'.repeat(length - 16)}\n`
    const robots = `${fill(512_000 - 11)}disallow: /shop\n`
    expect(robots.indexOf('shop')).toBe(512_000)
    for (const source of [robots, Buffer.from(robots)]) {
      expect(allowed(source, 'a', '/other')).toBe(true)
      expect(kinds(source)).toContain('over-limit')
    }
    // Ended right at the limit, it is whole; cut by its reader, it is not.
    const whole = `${fill(512_000 - 11)}disallow: /\nallow: /`
    expect(allowed(whole, 'a', '/other')).toBe(false)
    expect(parseRobots(whole.slice(0, 512_000), { truncated: true }).isAllowed('/other', 'a')).toBe(true)
    expect(parseRobots(whole.slice(0, 512_000)).isAllowed('/other', 'a')).toBe(false)
  })
  test('R12 R37 more than the limit, a comment or a gigabyte: the rest is not looked at', () => {
    const robots = new Uint8Array(10_000_000).fill(35)
    robots.set(Buffer.from(rules))
    expect(allowed(robots, 'a', '/x')).toBe(false)
  })
  test('R13 gzip without its header: unpacked, flagged; a broken one has no rules', () => {
    expect(allowed(gzipSync(rules), 'a', '/x')).toBe(false)
    expect(kinds(gzipSync(rules))).toEqual(['not-text'])
    expect(allowed(octets([0x1f, 0x8b, 8, 0, 0, 0]), 'a', '/x')).toBe(true)
    expect(kinds(octets([0x1f, 0x8b, 8, 0, 0, 0]))).toContain('not-text')
  })
  test('R15 tens of thousands of groups', () => {
    const robots = parseRobots(
      Array.from({ length: 20_000 }, (_, i) => `user-agent: a${'bcdefghijk'[i % 10]}\ndisallow: /${i}\n`)
        .join('')
        .slice(0, 500_000),
    )
    expect(robots.isAllowed('/12', 'ad')).toBe(false)
    expect(robots.isAllowed('/13', 'ad')).toBe(true)
  })
  test('R16 one agent in a thousand groups is one group', () => {
    const robots = parseRobots(Array.from({ length: 1_000 }, (_, i) => `user-agent: me\ndisallow: /${i}$\n`).join('\n'))
    expect([0, 500, 999].map((i) => robots.isAllowed(`/${i}`, 'me'))).toEqual([false, false, false])
    expect(robots.decide('/999', 'me').group?.line).toBe(2_998)
  })
  test('R17 R18 rules above any user-agent, or below an empty one, bind nobody', () => {
    for (const profile of ['decorum', 'rfc9309', 'google', 'google-2022', 'coccoc'] as const)
      for (const head of ['', 'user-agent:\n', 'user-agent: 1\n'])
        expect(under(profile)(`${head}disallow: /`, 'a', '/x')).toBe(true)
  })
  test('R21 __proto__, constructor and toString are names like others', () => {
    for (const name of ['__proto__', 'constructor', 'toString']) {
      expect(allowed(lines(`user-agent: ${name}`, 'disallow: /x'), name, '/x')).toBe(false)
      expect(allowed(lines('user-agent: a', 'disallow: /x'), name, '/x')).toBe(true)
    }
  })
  test('R23 R24 disallow: * and /* close everything; $ alone nothing; /$ the root', () => {
    for (const pattern of ['*', '/*', '**']) expect(matches('decorum', pattern, '/any')).toBe(true)
    expect(matches('decorum', '$', '/')).toBe(false)
    expect(matches('decorum', '*$', '/x')).toBe(true)
    expect(matches('decorum', '/$', '/')).toBe(true)
    expect(matches('decorum', '/$', '/x')).toBe(false)
  })
  test('R28 R29 encoded octets are alike in any case; a stray percent sign is itself', () => {
    expect(matches('decorum', '/%aa', '/%AA')).toBe(true)
    expect(matches('decorum', '/a%', '/a%')).toBe(true)
  })
  test('R34 a number sign inside a value starts a comment', () => {
    expect(allowed(lines('user-agent: *', 'disallow: /a#b'), 'x', '/a')).toBe(false)
  })
  test('R36 a sitemap is http(s)', () => {
    for (const value of ['javascript:alert(1)', 'ftp://h.example/s', '/s.xml', 'http://', 'data:text/plain,x']) {
      expect(parseRobots(`sitemap: ${value}`).sitemaps).toEqual([])
      expect(kinds(`sitemap: ${value}`)).toContain('sitemap-unusable')
    }
  })
  test('at most 20,000 rules; the rest is ignored and flagged', () => {
    const robots = parseRobots(
      `user-agent: *\n${Array.from({ length: 20_001 }, (_, i) => `disallow: /${i}$`).join('\n')}`,
    )
    expect(robots.isAllowed('/19999', 'x')).toBe(false)
    expect(robots.isAllowed('/20000', 'x')).toBe(true)
    expect(robots.warnings).toContainEqual(expect.objectContaining({ kind: 'too-many-rules', line: 20_002 }))
  })
})

test('a source that is neither text nor octets is refused by name', () => {
  for (const source of [undefined, null, 42, {}, [1]])
    expect(() => parseRobots(source as never)).toThrow('source: neither text nor bytes')
})

test('text of characters that take three octets each is cut at the same octet as its octets are', () => {
  const robots = `user-agent: *\ndisallow: /in\n${'#あ\n'.repeat(150_000)}disallow: /out\n`
  for (const source of [robots, Buffer.from(robots)]) {
    expect(allowed(source, 'x', '/in')).toBe(false)
    expect(allowed(source, 'x', '/out')).toBe(true)
    expect(kinds(source)).toEqual(['over-limit'])
  }
  expect(parseRobots(robots).warnings).toEqual(parseRobots(Buffer.from(robots)).warnings)
})

test('the policy of a parse is decorum unless another is given', () => {
  expect(parseRobots('').policy).toBe(policies.decorum)
})
