/** What callers hand over: sources, agents and URLs of every kind, and what a long life of one process does. */
import { parseRobots, policies, productToken } from '@decorum/robots'
import { reportLines } from '@decorum/robots/report'
import { Path, textOfPath } from '@decorum/robots/testing'
import { describe, expect, test } from 'vitest'
import { lines } from './support/ask.ts'

const robots = lines('user-agent: a', 'disallow: /a', 'user-agent: b', 'disallow: /b', 'user-agent: *', 'disallow: /c')

describe('agents', () => {
  test("['a', 'b'] and 'a\\nb' are two agents, asked in either order", () => {
    const refused = (agent: string | string[], file = parseRobots(robots)): string[] =>
      ['/a', '/b', '/c'].filter((path) => !file.isAllowed(path, agent))
    const file = parseRobots(lines('user-agent: b', 'disallow: /b', 'user-agent: *', 'disallow: /c'))
    expect(refused('a\nb', file)).toEqual(['/c'])
    expect(refused(['a', 'b'], file)).toEqual(['/b'])
    expect(refused('a\nb', file)).toEqual(['/c'])
  })
  test('a list that its caller changes afterwards is a new question', () => {
    const file = parseRobots(robots)
    const agent = ['a']
    expect(file.isAllowed('/b', agent)).toBe(true)
    agent[0] = 'b'
    expect(file.isAllowed('/b', agent)).toBe(false)
  })
  test("a browser's User-Agent counts by the name in it, and the explanation says so", () => {
    const agent = 'Mozilla/5.0 (compatible; B/1.0; +https://h.example)'
    expect(productToken(agent)).toBe('b')
    const { allowed, token, agentWarning } = parseRobots(robots).explain('/b', agent)
    expect([allowed, token]).toEqual([false, 'b'])
    expect(agentWarning).toContain("'b' is taken as its product token")
    expect(parseRobots(robots).explain('/b', 'b').agentWarning).toBeUndefined()
  })
  test('and by its leading token where the file has no group of that name', () => {
    const file = parseRobots(lines('user-agent: mozilla', 'disallow: /m'))
    expect(file.isAllowed('/m', 'Mozilla/5.0 (compatible; X/1.0)')).toBe(false)
  })
})

describe('crawl-delay under a cap', () => {
  const file = parseRobots(lines('user-agent: *', 'crawl-delay: 30'), { policy: policies.coccoc })
  test('the cap of Cốc Cốc is data of its policy, and is not applied to what the site wrote', () => {
    expect(policies.coccoc.maxCrawlDelay).toBe(10)
    expect(file.crawlDelay('x')).toBe(30)
    expect(file.crawlDelay('x', { clamped: true })).toBe(10)
  })
  test('explain shows the value, its source and its clamp', () => {
    expect(file.explain('/', 'x').crawlDelay).toEqual({
      seconds: 30,
      clampedSeconds: 10,
      clampedBy: 10,
      written: '30',
      line: 2,
      token: '*',
      group: { agents: ['*'], line: 1 },
    })
    expect(file.under(policies.decorum).explainDelay('x')).not.toHaveProperty('clampedBy')
    expect(file.under(policies.decorum).crawlDelay('x', { clamped: true })).toBe(30)
  })
})

describe('one process, many URLs', () => {
  test('after one URL of a megabyte the room for paths is small again', () => {
    const path = new Path()
    path.read(`https://h.example/${'é'.repeat(500_000)}`, 'unreserved')
    expect(path.length).toBeGreaterThan(1_000_000)
    path.read('https://h.example/abc', 'unreserved')
    expect(path.bytes.length).toBeLessThanOrEqual(4_096)
    expect(textOfPath(path)).toBe('/abc')
  })
  test('what is shown of a path is as long as the path, whatever the room', () => {
    const path = new Path()
    path.read(`https://h.example/${'a'.repeat(5_000)}`, 'unreserved')
    const { slice } = Uint8Array.prototype
    const copied: number[] = []
    path.bytes.slice = (...range) => {
      const piece = slice.apply(path.bytes, range)
      copied.push(piece.length)
      return piece
    }
    expect(textOfPath(path)).toHaveLength(5_001)
    expect(copied).toEqual([5_001])
  })
})

describe('sources and URLs in every form', () => {
  const bytes = new TextEncoder().encode(`xx${robots}`)
  test.each([
    ['text', robots],
    ['Uint8Array', bytes.slice(2)],
    ['a view with an offset', bytes.subarray(2)],
    ['ArrayBuffer', bytes.slice(2).buffer],
    ['DataView', new DataView(bytes.buffer, 2)],
    ['Buffer', Buffer.from(robots)],
    ['Int8Array', new Int8Array(bytes.slice(2).buffer)],
  ])('%s', (_, source) => {
    expect(parseRobots(source).isAllowed('/a', 'a')).toBe(false)
    expect(parseRobots(source).isAllowed('/b', 'a')).toBe(true)
  })
  test('a URL object is its text', () => {
    const file = parseRobots(robots)
    const url = new URL('https://h.example/a?x#y')
    expect(file.isAllowed(url, 'a')).toBe(false)
    expect(file.decide(url, 'a')).toEqual(file.decide(url.href, 'a'))
    expect(file.explain(url, 'a')).toEqual(file.explain(url.href, 'a'))
  })
})

describe('one origin', () => {
  const file = parseRobots(robots).forOrigin('https://H.example:443/robots.txt')
  test('says nothing about another one, nor about what is no URL', () => {
    expect(file.origin).toBe('https://h.example')
    for (const url of [
      'http://h.example/a',
      'https://h.example:8443/a',
      'https://www.h.example/a',
      'https://[',
      'data:,a',
    ])
      expect([file.isAllowed(url, 'a'), file.decide(url, 'a'), file.explain(url, 'a')]).toEqual([
        undefined,
        undefined,
        undefined,
      ])
  })
  test('and of its own says what the file says, paths included', () => {
    expect(file.isAllowed('https://h.example/a', 'a')).toBe(false)
    expect(file.isAllowed('/a', 'a')).toBe(false)
    expect(file.decide(new URL('https://h.example/b'), 'a')?.allowed).toBe(true)
  })
})

test('groups and rules can be gone through', () => {
  const file = parseRobots(
    lines('user-agent: A', 'user-agent: b', 'disallow: /1', 'allow:', 'user-agent: a', 'allow: /2'),
  )
  expect([...file.groups()]).toEqual([
    {
      agents: ['A', 'b'],
      line: 1,
      rules: [
        { type: 'disallow', pattern: '/1', line: 3 },
        { type: 'allow', pattern: '', line: 4 },
      ],
    },
    { agents: ['a'], line: 5, rules: [{ type: 'allow', pattern: '/2', line: 6 }] },
  ])
  expect([...file.rules('a')].map(({ line }) => line)).toEqual([3, 4, 6])
  expect([...file.rules('z')]).toEqual([])
})

test('the report has every line and what it was taken for', () => {
  const source = `\ufeffUser-agent: *\r\n# why\n\nDisalow /a # x\nnonsense\nfoo: bar\n${' '.repeat(16_700)}allow: /\nallowed: /`
  expect(reportLines(source).map(({ line, kind, field }) => [line, kind, field])).toEqual([
    [1, 'record', 'user-agent'],
    [2, 'comment', undefined],
    [3, 'empty', undefined],
    [4, 'record', 'disallow'],
    [5, 'no-record', undefined],
    [6, 'record', 'unknown'],
    [7, 'empty', undefined],
    [8, 'record', 'unknown'],
  ])
  expect(reportLines(source)[3]).toMatchObject({ isTypo: true, isMissingColon: true, hasComment: true, value: '/a' })
  expect(reportLines(source)[6]).toMatchObject({ isTooLong: true })
  expect(reportLines(source, { policy: policies.google })[7]).toMatchObject({ field: 'allow', isTypo: true })
})
