/** Parse and match alone: the same answers as `parseRobots` gives, from fewer kilobytes. */
import { parseRobots, policies, ROBOTS_MAX_BYTES } from '@decorum/robots'
import { type ProfileName, parseRules, readings } from '@decorum/robots/rules'
import { describe, expect, test } from 'vitest'
import { AGENTS, damaged, file, pick, random, url } from './support/files.ts'

const seed = Number(process.env.ROBOTS_SEED ?? Math.floor(Math.random() * 2 ** 31))
const agents = [...AGENTS, 'nobody']

describe('parseRules', () => {
  test('answers as parseRobots does, under every profile', () => {
    console.info(`ROBOTS_SEED=${seed}`)
    for (let i = 0; i < 20_000; i++) {
      const next = random(seed + i)
      const source = damaged(next, file(next, 30))
      const profile = pick(next, Object.keys(policies)) as ProfileName
      const whole = parseRobots(source, { policy: policies[profile] })
      const light = parseRules(source, { policy: readings[profile] })
      const at = url(next)
      const agent = pick(next, agents)
      for (let n = 0; n < 6; n++)
        if (light.isAllowed(at, agent) !== whole.isAllowed(at, agent)) throw new Error(`${seed + i}: ${agent} ${at}`)
      expect(light.decide(at, agent)).toEqual(whole.decide(at, agent))
      expect(light.crawlDelay(agent)).toBe(whole.crawlDelay(agent))
      expect(light.sitemaps).toEqual(whole.sitemaps)
    }
  })
  test('takes a policy as well as a reading, and drops the cut line of a truncated source', () => {
    expect(parseRules('user-agent: *\nallow: /index.html\ndisallow: /').isAllowed('/', 'x')).toBe(false)
    const google = parseRules('user-agent: *\nallow: /index.html\ndisallow: /', { policy: policies.google })
    expect(google.isAllowed('/', 'x')).toBe(true)
    expect(parseRules('user-agent: *\ndisallow: /', { truncated: true }).isAllowed('/a', 'x')).toBe(true)
  })
})

describe('what one file leaves behind', () => {
  const seen = (source: string | Uint8Array): unknown => {
    const robots = parseRobots(source)
    return [String(robots), robots.warnings, robots.sitemaps, robots.records, [...robots.groups()]]
  }
  test('is nothing: a file reads the same after any other', () => {
    console.info(`ROBOTS_SEED=${seed}`)
    for (let i = 0; i < 5_000; i++) {
      const next = random(seed + i)
      const source = damaged(next, file(next, 20))
      const first = seen(source)
      parseRobots(damaged(next, file(next, 40)))
      expect(seen(source), `seed ${seed + i}`).toEqual(first)
    }
  })
  test('not even where the lines of its sitemaps began', () => {
    const list = Array.from({ length: 50 }, (_, i) => `Sitemap: https://h.example/${i}`)
    const long = `User-agent: *\n${'# x\n'.repeat(100)}${list.join('\n')}`
    for (const source of [list.join('\n'), list.join('\r\n\r\n'), `User-agent: x\n${list.join('\n# y\n')}`]) {
      seen(long)
      expect(parseRobots(source).sitemaps).toEqual(list.map((line) => line.slice(9)))
    }
  })
  test('and a file whose patterns are kept and quoted as well has room for both', () => {
    const lines = Array.from({ length: 102 }, (_, i) => `allow:${'x'.repeat(4_990)}${i}`)
    const source = `user-agent: a\n${lines.join('\n')}`
    const full = source + '#'.repeat(ROBOTS_MAX_BYTES - source.length)
    const robots = parseRobots(full)
    expect(robots.warnings).toHaveLength(101)
    expect([...robots.rules('a')].map(({ pattern }) => pattern)).toEqual(lines.map((line) => line.slice(6)))
  })
})
