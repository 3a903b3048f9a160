/** What callers hand over: sources, agents and URLs of every kind, and what a long life of one process does. */
import { parseRobots, policies, productToken } from '@decorum/robots'
import { describe, expect, test } from 'vitest'
import { Path } from '../../packages/robots/src/path.ts'
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
    expect(path.octets.length).toBeLessThanOrEqual(4_096)
    expect(String(path)).toBe('/abc')
  })
  test('what is shown of a path is as long as the path, whatever the room', () => {
    const path = new Path()
    path.read(`https://h.example/${'a'.repeat(5_000)}`, 'unreserved')
    const { slice } = Uint8Array.prototype
    const copied: number[] = []
    path.octets.slice = (...range) => {
      const piece = slice.apply(path.octets, range)
      copied.push(piece.length)
      return piece as Uint8Array<ArrayBuffer>
    }
    expect(String(path)).toHaveLength(5_001)
    expect(copied).toEqual([5_001])
  })
})
