/** It explains: the group, the rule, the losers, and what the owner of the site should know. */
import { parseRobots, policies } from '@decorum/robots'
import { explainCheck, printCheck } from '@decorum/robots/check'
import { describe, expect, test } from 'vitest'
import { lines } from './support/ask.ts'

const shop = lines(
  'User-agent: *',
  'Disallow: /shop',
  'Allow: /shop/open',
  'Allow: /shop/open',
  'Disallow: /shop/ope*',
  'Disallow: /*/open$',
  'Crawl-delay: 30',
)

describe('explain', () => {
  test('names the group, the winning rule with its line, and every loser with its reason, longest first', () => {
    expect(parseRobots(shop).explain('https://h.example/shop/open#x', 'me/1.0')).toEqual({
      allowed: true,
      why: 'rule',
      rule: { type: 'allow', pattern: '/shop/open', line: 3 },
      group: { agents: ['*'], line: 1 },
      path: '/shop/open',
      token: '*',
      losers: [
        { type: 'allow', pattern: '/shop/open', line: 4, why: 'tie-line-above-wins' },
        { type: 'disallow', pattern: '/shop/ope*', line: 5, why: 'shorter' },
        { type: 'disallow', pattern: '/*/open$', line: 6, why: 'shorter' },
        { type: 'disallow', pattern: '/shop', line: 2, why: 'shorter' },
      ],
      losersInAll: 4,
      crawlDelay: {
        seconds: 30,
        clampedSeconds: 30,
        written: '30',
        line: 7,
        token: '*',
        group: { agents: ['*'], line: 1 },
      },
    })
  })
  test('a tie that allow wins', () => {
    const { losers } = parseRobots(lines('user-agent: *', 'disallow: /a', 'allow: /a')).explain('/a', 'x')
    expect(losers).toEqual([{ type: 'disallow', pattern: '/a', line: 2, why: 'tie-allow-wins' }])
  })
  test('the group is the block that holds the rule, with its names as written', () => {
    const robots = parseRobots(
      lines('User-agent: A', 'Disallow: /1', '', 'User-agent: b/2', 'User-Agent: a # again', 'Disallow: /2'),
    )
    expect(robots.explain('/2', 'a').group).toEqual({ agents: ['b/2', 'a'], line: 4 })
    expect(robots.explain('/3', 'a')).toMatchObject({ allowed: true, why: 'no-match', token: 'a' })
    expect(robots.explain('/3', 'z')).toMatchObject({ allowed: true, why: 'no-group' })
    expect(robots.explain('/robots.txt', 'a')).toMatchObject({ allowed: true, why: 'robots.txt' })
  })
  test('at most 50 losers are listed, all are counted', () => {
    const robots = parseRobots(
      `user-agent: *\n${Array.from({ length: 80 }, (_, i) => `disallow: /${'a'.repeat(i + 1)}`).join('\n')}`,
    )
    const { losers, losersInAll } = robots.explain(`/${'a'.repeat(80)}`, 'x')
    expect([losers.length, losersInAll]).toEqual([50, 79])
  })
  test('a pattern is shown as its site wrote it', () => {
    const robots = parseRobots(lines('user-agent: *', 'disallow: /tìm-kiếm%2a', 'disallow: /%62'))
    expect(robots.decide('/t%C3%ACm-ki%E1%BA%BFm*', 'x').rule?.pattern).toBe('/tìm-kiếm%2a')
    expect(robots.decide('/b', 'x').rule?.pattern).toBe('/%62')
  })
})

describe('warnings, with their lines', () => {
  test.each([
    ['disalow: /x', 'misspelt-field'],
    ['disallowed: /x', 'unknown-field'],
    ['disallow /x', 'missing-colon'],
    ['noindex: /x', 'unknown-field'],
    ['what is this', 'not-a-record'],
    ['disallow: x', 'pattern-without-slash'],
    ['crawl-delay: soon', 'crawl-delay-unusable'],
    ['sitemap: /s.xml', 'sitemap-unusable'],
    ['user-agent: 42', 'agent-without-name'],
    ['user-agent:', 'agent-without-name'],
    ['user-agent: Foo/2', 'agent-with-extra'],
    [`disallow: /${'x'.repeat(20_000)}`, 'line-too-long'],
  ])('%s', (line, kind) => {
    const robots = parseRobots(lines('user-agent: *', 'disallow: /a', line))
    const own = robots.warnings.filter((warning) => warning.kind !== 'unreachable-group')
    expect(own.map((warning) => [warning.line, warning.kind])).toEqual([[3, kind]])
  })
  test('a rule, or a delay, above any user-agent line', () => {
    const kinds = parseRobots(lines('disallow: /', 'crawl-delay: 1', 'user-agent: *')).warnings.map(
      ({ line, kind }) => [line, kind],
    )
    expect(kinds).toEqual([
      [1, 'rule-before-group'],
      [2, 'delay-before-group'],
    ])
  })
  test('a group whose names no crawler can have', () => {
    const robots = parseRobots(
      lines(
        'user-agent: a',
        'disallow: /1',
        'user-agent: 42',
        'user-agent:',
        'disallow: /2',
        'user-agent: 7',
        'user-agent: b',
        'disallow: /3',
      ),
    )
    expect(robots.warnings.filter(({ kind }) => kind === 'unreachable-group').map(({ line }) => line)).toEqual([3])
  })
  test('a good file has none', () => {
    expect(parseRobots(shop).warnings).toEqual([])
  })
  test('a hundred are listed, the others counted', () => {
    const { warnings } = parseRobots('x\n'.repeat(1_000))
    expect(warnings.length).toBe(101)
    expect(warnings.at(-1)).toEqual({ line: 0, kind: 'more-warnings', text: '900 more' })
  })
  test('what strangers wrote is quoted, not obeyed', () => {
    const [warning] = parseRobots('\u001b[31mred\u202e: x').warnings
    expect(warning?.text).toBe('"\\u001b[31mred\\u202e" is not acted on')
  })
})

describe('check', () => {
  const question = { url: 'https://h.example/shop/open', robots: shop, agent: 'foo-bar', floorMs: 1_000, capMs: 10_000 }
  test('the delay: as written, as clamped, and whence', () => {
    const [verdict] = explainCheck({ ...question, profiles: ['decorum'] }).verdicts
    expect(verdict?.delay).toEqual({
      delayMs: 10_000,
      decidedBy: 'cap',
      honoured: true,
      site: { seconds: 30, clampedSeconds: 30, written: '30', line: 7, token: '*', group: { agents: ['*'], line: 1 } },
    })
    const delayOf = (written: string, floorMs: number): unknown =>
      explainCheck({
        ...question,
        floorMs,
        robots: lines('user-agent: *', `crawl-delay: ${written}`),
        profiles: ['decorum'],
      }).verdicts[0]?.delay
    expect(delayOf('3', 1_000)).toMatchObject({ delayMs: 3_000, decidedBy: 'crawl-delay' })
    expect(delayOf('.5', 1_000)).toMatchObject({ delayMs: 1_000, decidedBy: 'floor' })
    expect(delayOf('soon', 2_000)).toMatchObject({ delayMs: 2_000, decidedBy: 'floor' })
  })
  test('google does not know crawl-delay, unless it is told to honour it', () => {
    const delay = (honourCrawlDelay: boolean): unknown =>
      explainCheck({ ...question, honourCrawlDelay, profiles: ['google'] }).verdicts[0]?.delay
    expect(delay(false)).toMatchObject({ delayMs: 1_000, decidedBy: 'floor', honoured: false })
    expect(delay(true)).toMatchObject({ delayMs: 10_000, decidedBy: 'cap', honoured: true })
  })
  test('all profiles: says where they differ, and puts those together that agree', () => {
    const robots = lines('user-agent: foo', 'disallow: /%7Ex')
    const explained = explainCheck({
      ...question,
      url: 'https://h.example/~x',
      robots,
      profiles: ['decorum', 'rfc9309', 'google', 'google-2022', 'coccoc'],
    })
    expect(explained.differ).toBe(true)
    expect(explained.verdicts.map(({ profile, allowed }) => [profile, allowed])).toEqual([
      ['decorum', false],
      ['rfc9309', true],
      ['google', true],
      ['google-2022', true],
      ['coccoc', false],
    ])
    const printed = printCheck(explained)
    expect(printed).toContain('The profiles differ')
    expect(printed).toContain('DISALLOWED under decorum, coccoc')
    expect(printed).toContain('allowed under rfc9309, google, google-2022')
  })
  test('for people: verdict, group, rule with its line, losers, delay, warnings', () => {
    const printed = printCheck(
      explainCheck({
        ...question,
        robots: `${shop}disalow: /y\nsitemap: https://h.example/s.xml\nhost: h.example\n`,
        profiles: ['decorum'],
      }),
    )
    expect(printed).toContain('allowed under decorum')
    expect(printed).toContain("group  line 1, * (taken as '*')")
    expect(printed).toContain('rule   line 3, allow: /shop/open')
    expect(printed).toContain('lost   line 2, disallow: /shop: its pattern has fewer bytes')
    expect(printed).toContain("delay  10 s: our maximum; the crawl-delay '30' in line 7 is longer")
    expect(printed).toContain('line 8, misspelt-field')
    expect(printed).toContain('https://h.example/s.xml')
  })
  test('for machines: plain JSON, and nothing that a terminal would obey in what people read', () => {
    const explained = explainCheck({
      ...question,
      robots: lines('user-agent: *', 'disallow: /\u001b[31m'),
      url: 'https://h.example/%1B[31m',
      profiles: ['decorum'],
    })
    expect(JSON.parse(JSON.stringify(explained))).toEqual(explained)
    expect(printCheck(explained)).not.toContain('\u001b')
  })
  test('a body that its reader cut is read so', () => {
    const robots = 'user-agent: *\ndisallow: /shop'
    expect(explainCheck({ ...question, robots, profiles: ['decorum'] }).verdicts[0]?.allowed).toBe(false)
    expect(explainCheck({ ...question, robots, truncated: true, profiles: ['decorum'] }).verdicts[0]?.allowed).toBe(
      true,
    )
  })
})

test('printing what was read, and reading that, gives the same', () => {
  const robots = parseRobots(
    `${shop}\nuser-agent: x\nuser-agent: y\ncrawl-delay: .5\nuser-agent: z\nhost: h\n\nuser-agent: q\nsitemap: http://s.example/`,
  )
  expect(String(parseRobots(String(robots)))).toBe(String(robots))
  expect(String(robots)).toContain('User-agent: y\nCrawl-delay: .5\nUser-agent: z')
  expect(parseRobots(String(robots), { policy: policies.google }).crawlDelay('x')).toBe(0.5)
})
