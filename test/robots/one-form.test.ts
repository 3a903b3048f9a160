/** Both sides of a comparison in one form (RFC 9309 §2.2.2): every octet, raw and encoded, in a rule and in a URL. */
import { parseRobots, policies } from '@decorum/robots'
import { explainCheck, printCheck } from '@decorum/robots/check'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { lines, matches } from './support/ask.ts'

const OURS = ['decorum', 'rfc9309', 'coccoc'] as const
const GOOGLE = ['google', 'google-2022'] as const
const encoded = (character: string): string =>
  [...Buffer.from(character)].map((octet) => `%${octet.toString(16).toUpperCase().padStart(2, '0')}`).join('')
/** Where the character may stand: in the path, in the query, and on both sides of a wildcard. */
const PLACES = ['/x§y', '/x?q=§y', '/§', '/*§y', '/x§y$', '/x§*y'] as const
const at = (place: string, text: string): string => place.replace('§', () => text)
const path = (place: string, text: string): string => at(place.replaceAll('*', 'one').replace(/\$$/, ''), text)
/** As it is requested: in the form of the URL standard. */
const requested = (text: string): string => new URL(text, 'https://h.example').href

/** RFC 3986 §2.2: encoded they are other octets than raw. '*' and '$' are the characters themselves (§2.2.3 of RFC 9309). */
const RESERVED = '/?:@!&()+,;='
const ASCII = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code))
/** Octets that cannot stand raw in a line, or that a URL cannot hold raw at all: these are tested encoded alone. */
const NOT_RAW_IN_RULE = '\n\r#*$'
const NOT_RAW_IN_URL = '\t\n\r#?\\'

describe('one octet of ASCII', () => {
  test.each(OURS)('%s: raw or encoded in the rule, it forbids the URL that has it raw or encoded', (profile) => {
    for (const character of ASCII) {
      if (RESERVED.includes(character)) continue
      const rules = NOT_RAW_IN_RULE.includes(character) ? [encoded(character)] : [character, encoded(character)]
      const urls = NOT_RAW_IN_URL.includes(character) ? [encoded(character)] : [character, encoded(character)]
      for (const place of PLACES)
        for (const rule of rules)
          for (const url of urls) {
            // Blanks at the end of a line are none of it, and neither are blanks and controls at the end of a URL.
            if (place.endsWith('§') && (rule.trim() === '' || url <= ' ')) continue
            if (place === '/§' && character === '.') continue // no name, but the folder itself
            const asked = path(place, url)
            const said = `${JSON.stringify(at(place, rule))} and ${JSON.stringify(asked)}`
            expect(matches(profile, at(place, rule), requested(asked)), said).toBe(true)
            expect(matches(profile, at(place, rule), asked), `${said} as given`).toBe(true)
          }
    }
  })
  test.each(OURS)('%s: a reserved octet is not its encoded form', (profile) => {
    for (const character of RESERVED) {
      expect(matches(profile, `/x${character}y`, `/x${encoded(character)}y`), character).toBe(false)
      expect(matches(profile, `/x${encoded(character)}y`, `/x${character}y`), character).toBe(false)
      for (const text of [character, encoded(character)])
        expect(matches(profile, `/x${text}y`, `/x${text}y`), text).toBe(true)
    }
  })
  test.each(OURS)('%s: no octet is taken for another', (profile) => {
    for (const one of ASCII)
      for (const other of ASCII)
        if (one !== other) expect(matches(profile, `/x${encoded(one)}y`, `/x${encoded(other)}y`)).toBe(false)
  })
  test.each(OURS)('%s: raw * and $ are special in a rule and nothing but octets in a URL', (profile) => {
    for (const [rule, url, expected] of [
      ['/a%2Ab', '/a*b', true],
      ['/a%2ab', '/a%2Ab', true],
      ['/a%2Ab', '/axb', false],
      ['/a*b', '/a%2Ab', true],
      ['/a%24', '/a$', true],
      ['/a$b', '/a%24b', true],
      ['/a%24b', '/a$b', true],
      ['/a%24$', '/a$', true],
      ['/a%24$', '/a$b', false],
      ['/a$', '/a%24', false],
      ['/%2f', '/%2F', true],
      ['/%e2%82%ac', '/€', true],
    ] as const)
      expect(matches(profile, rule, requested(url)), `${rule} ${url}`).toBe(expected)
  })
  test.each(OURS)(
    '%s: a percent sign that encodes nothing is one that is encoded, and may begin an encoded octet',
    (profile) => {
      for (const [rule, url, expected] of [
        ['/100%', '/100%', true],
        ['/100%', '/100%25', true],
        ['/100%/x', '/100%25/x', true],
        ['/100%25/x', '/100%/x', true],
        ['/100%$', '/100%25', true],
        ['/100%25$', '/100%', true],
        ['/*%', '/a%20b', true],
        ['/*%D', '/%D0%BF', true],
        ['/a%2', '/a%2Fb', true],
        ['/a%b', '/a%b', true],
        ['/a%*x', '/a%25x', true],
        ['/a%25', '/a%2F', false],
        ['/a%zz', '/a%25zz', true],
      ] as const)
        expect(matches(profile, rule, requested(url)), `${rule} ${url}`).toBe(expected)
    },
  )
})

test('any character: raw or encoded, in either case of the digits, on both sides', () => {
  const { seed } = fc.readConfigureGlobal() as { seed?: number }
  const run = seed ?? Math.floor(Math.random() * 2 ** 31)
  console.info(`seed ${run}`)
  const character = fc
    .string({ unit: 'binary', minLength: 1, maxLength: 4 })
    .filter((text) => /^[^\0-\x7f]+$/.test(text))
  const form = fc.constantFrom(
    (text: string) => text,
    encoded,
    (text: string) => encoded(text).toLowerCase(),
  )
  fc.assert(
    fc.property(
      character,
      fc.constantFrom(...PLACES),
      form,
      form,
      fc.constantFrom(...OURS),
      (text, place, a, b, profile) => {
        expect(matches(profile, at(place, a(text)), requested(path(place, b(text))))).toBe(true)
      },
    ),
    { seed: run, numRuns: 3_000 },
  )
})

test('octets that are no UTF-8 are octets: each is its own escape', () => {
  for (let octet = 0x80; octet < 0x100; octet++) {
    const rules = Buffer.concat([Buffer.from('user-agent: *\ndisallow: /caf'), Buffer.of(octet), Buffer.from('/x\n')])
    for (const profile of OURS) {
      const robots = parseRobots(rules, { policy: policies[profile] })
      const hex = octet.toString(16)
      expect(robots.isAllowed(`/caf%${hex}/x`, 'x')).toBe(false)
      expect(robots.isAllowed(`/caf%${hex.toUpperCase()}/x`, 'x')).toBe(false)
      expect(robots.isAllowed(`/caf${String.fromCharCode(octet)}/x`, 'x'), 'which is two octets of UTF-8').toBe(true)
    }
  }
})

test('a byte order mark takes no part in a rule, and one within a rule is its three octets', () => {
  for (const profile of OURS) {
    const policy = policies[profile]
    expect(parseRobots('\ufeffuser-agent: *\ndisallow: /a b', { policy }).isAllowed('/a%20b', 'x')).toBe(false)
    expect(matches(profile, '/\ufeffa', '/%EF%BB%BFa')).toBe(true)
    expect(matches(profile, '/\ufeffa', '/a')).toBe(false)
  }
})

describe('weights are those of the form that is compared', () => {
  test('the spelling of a rule does not decide which one wins', () => {
    for (const [allow, disallow] of [
      ['/a b', '/a%20b'],
      ['/a%20b', '/a b'],
      ['/a|b', '/a%7Cb'],
    ]) {
      const robots = parseRobots(lines('user-agent: *', `disallow: ${disallow}`, `allow: ${allow}`))
      expect(robots.isAllowed('/a%20b', 'x')).toBe(true)
    }
  })
})

describe('what the google profiles make of such rules', () => {
  const DEAD = [
    '/media library/',
    '/a{b}',
    '/"quoted"',
    '/<tag>',
    '/x^y',
    '/x`y',
    '/a\\b',
    "/s?q='a'",
    '/s?q=a b',
    '/*"',
  ]
  test.each(GOOGLE)('%s: compared as written, they forbid nothing', (profile) => {
    for (const rule of DEAD) {
      const url = requested(rule.replace('*', 'x'))
      if (!rule.includes('\\')) expect(matches('decorum', rule, url), rule).toBe(true)
      expect(matches(profile, rule, url), rule).toBe(false)
    }
  })
  test('a warning names each of them, whichever profile reads the file', () => {
    for (const policy of Object.values(policies))
      for (const rule of DEAD)
        expect(parseRobots(lines('user-agent: *', `disallow: ${rule}`), { policy }).warnings, rule).toEqual([
          {
            line: 2,
            kind: 'pattern-not-encoded',
            text: `${JSON.stringify(rule)} holds bytes that stand percent-encoded in every URL: the google profiles match it with none`,
          },
        ])
  })
  test('check says so beside its verdict', () => {
    const robots = lines('user-agent: *', 'disallow: /media library/')
    const question = { url: 'https://h.example/media%20library/x', robots, agent: 'x', floorMs: 0, capMs: 1 }
    const explained = explainCheck({ ...question, profiles: ['google'] })
    expect(explained.verdicts[0]?.allowed).toBe(true)
    expect(printCheck(explained)).toContain('line 2, pattern-not-encoded: "/media library/" holds bytes')
    expect(explainCheck({ ...question, profiles: ['rfc9309'] }).verdicts[0]?.allowed).toBe(false)
  })
  test('none names a rule that some URL can match as it is written', () => {
    for (const rule of [
      '/a|b',
      '/s?q={a}',
      '/*{',
      "/it's",
      '/[a]',
      '/é',
      '/100%',
      '/a b'.replace(' ', '%20'),
      '/~a!$&()+,;=:@',
    ])
      expect(parseRobots(lines('user-agent: *', `disallow: ${rule}`)).warnings, rule).toEqual([])
  })
})

describe('a pattern without its slash', () => {
  test.each(['decorum', 'coccoc'] as const)('%s reads a disallow as if it had one', (profile) => {
    for (const [rule, url] of [
      ['about', '/about/us'],
      ['?q=', '/?q=a'],
      ['index.php$', '/index.php'],
      ['media library', '/media%20library/x'],
      ['a*b', '/axxb'],
    ] as const)
      expect(matches(profile, rule, url), rule).toBe(true)
    expect(matches(profile, 'about', '/x/about')).toBe(false)
    for (const rule of ['$', '$a']) expect(matches(profile, rule, '/'), rule).toBe(false)
  })
  test('an allow without one opens nothing', () => {
    const robots = parseRobots(lines('user-agent: *', 'disallow: /', 'allow: about'))
    expect(robots.isAllowed('/about', 'x')).toBe(false)
  })
  test.each(['rfc9309', ...GOOGLE] as const)('%s: it is no rule', (profile) => {
    expect(matches(profile, 'about', '/about')).toBe(false)
  })
  test('the rule is shown as the site wrote it, and a warning names it', () => {
    const robots = parseRobots(lines('user-agent: *', 'disallow: about'))
    expect(robots.decide('/about', 'x').rule).toEqual({ type: 'disallow', pattern: 'about', line: 2 })
    expect(robots.warnings).toEqual([
      {
        line: 2,
        kind: 'pattern-without-slash',
        text: '"about" has no \'/\' in front: decorum and coccoc read a disallow with one, the others match it with no URL',
      },
    ])
  })
})
