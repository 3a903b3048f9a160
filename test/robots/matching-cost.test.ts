/** Hostile patterns: what the index of a path's substrings says, and how much a verdict looks at. */
import { parseRobots } from '@decorum/robots'
import { occurrencesIn, stepsTaken } from '@decorum/robots/testing'
import { describe, expect, test } from 'vitest'
import { worstCases } from '../../bench/robots/files.ts'
import { pick, random } from './support/files.ts'
import { Reference } from './support/reference.ts'

const seed = Number(process.env.ROBOTS_SEED ?? Math.floor(Math.random() * 2 ** 31))
const letters = (next: () => number, count: number, of: string): string =>
  Array.from({ length: count }, () => pick(next, [...of])).join('')

describe('occurrences', () => {
  test('the next place of any segment, from any place, is where indexOf finds it', () => {
    console.info(`ROBOTS_SEED=${seed}`)
    const next = random(seed)
    for (let n = 0; n < 300; n++) {
      const text = letters(next, 1 + Math.floor(next() * 400), pick(next, ['a', 'ab', 'abc', 'abcdefgh/']))
      const octets = Buffer.from(text)
      const endOfNext = occurrencesIn(octets, octets.length)
      for (let m = 0; m < 60; m++) {
        const from = Math.floor(next() * text.length)
        const segment =
          next() < 0.8
            ? text.slice(from, from + 1 + Math.floor(next() * 9))
            : letters(next, 1 + Math.floor(next() * 5), 'abcz')
        const at = Math.floor(next() * (text.length + 1))
        const found = text.indexOf(segment, at)
        const end = endOfNext(Buffer.from(segment), 0, segment.length, at)
        if (end !== (found < 0 ? -1 : found + segment.length))
          throw new Error(`${text} ${segment} from ${at}: ${end}, not ${found}`)
      }
    }
  })

  test('patterns that need it decide as the slow and obvious reading does', () => {
    console.info(`ROBOTS_SEED=${seed}`)
    for (let n = 0; n < 6; n++) {
      const next = random(seed + n)
      const path = letters(next, 1_200, 'ab')
      const rules = Array.from({ length: 250 }, () => {
        const parts = Array.from({ length: 2 + Math.floor(next() * 5) }, () =>
          letters(next, 1 + Math.floor(next() * 9), 'ab'),
        )
        return `${next() < 0.5 ? 'allow' : 'disallow'}: /*${parts.join('*')}${pick(next, ['', '$', '*', 'c'])}`
      })
      const source = `user-agent: *\n${rules.join('\n')}\n`
      const url = `https://h.example/${path}`
      const robots = parseRobots(source)
      const { rule } = robots.decide(url, 'x')
      const theirs = new Reference(Buffer.from(source), robots.policy.grammar).decide(url, ['x'], robots.policy)
      expect(rule ? (rule.type === 'allow' ? -rule.line : rule.line) : 0).toBe(theirs)
    }
  })
})

describe('cost, in octets looked at: the bench has the times', () => {
  test.each(worstCases().map((one) => [one.name, one] as const))('%s', (_, { file, url }) => {
    const robots = parseRobots(Buffer.from(file))
    robots.isAllowed(url, 'x')
    // Each octet of a pattern once, and per pattern one pass over a bitmap of the path, 32 octets at a time. A plain search
    // of every pattern would look at some hundred million.
    const bound = file.length + 200_000 + file.split('\n').length * (url.length / 32)
    expect(stepsTaken()).toBeLessThan(bound)
    // The first questions try every rule; those behind them use what one of these has prepared.
    for (let n = 0; n < 6; n++) {
      robots.isAllowed(`${url}b`, 'x')
      expect(stepsTaken(), `question ${n + 2}`).toBeLessThan(bound)
    }
    robots.explain(url, 'x')
    expect(stepsTaken(), 'an explanation, which tries every rule').toBeLessThan(2 * bound)
  })

  test.each(worstCases().map((one) => [one.name, one] as const))(
    '%s, in a path that is too long for an index: bounded, and what stays open is forbidden',
    (_, { file, url }) => {
      const long = `${url}${'|'.repeat(8_192 - url.length)}`
      const robots = parseRobots(Buffer.from(file))
      // Beyond the bound at most one pass over the path is under way.
      const bound = 50_000_000 + 3 * 8_192 + file.length
      for (let n = 0; n < 5; n++) {
        robots.isAllowed(long, 'x')
        expect(stepsTaken()).toBeLessThan(bound + 1_000_000)
      }
    },
  )
  test('a pattern that is not sought to the end forbids, and never allows', () => {
    const file = Array.from({ length: 4_000 }, (_, n) => `/*${'|'.repeat(24)}*${'|'.repeat(20)}${n}x`)
    const url = `https://h.example/${'|'.repeat(8_000)}`
    const rules = (type: string): string => `user-agent: *\n${file.map((one) => `${type}: ${one}\n`).join('')}`
    expect(parseRobots(rules('disallow')).isAllowed(url, 'x')).toBe(false)
    expect(parseRobots(`${rules('allow')}disallow: /\n`).isAllowed(url, 'x')).toBe(false)
    expect(parseRobots(rules('disallow')).isAllowed(url.slice(0, 300), 'x'), 'of a usual length').toBe(true)
  })

  test('of a file with nothing to say hardly anything is kept', () => {
    for (const line of ['x\n', 'uu:\n', 'sitemap:x\n', 'a b c\n', '\n', '<p>\n']) {
      const { warnings, sitemaps, records } = parseRobots(Buffer.from(line.repeat(Math.floor(512_000 / line.length))))
      expect(warnings.length, JSON.stringify(line)).toBeLessThanOrEqual(101)
      expect([sitemaps, records]).toEqual([[], []])
    }
  })
})
