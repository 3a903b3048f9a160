/** Hostile patterns: what the index of a path's substrings says, and that no verdict takes long. */
import { parseRobots } from '@decorum/robots'
import { describe, expect, test } from 'vitest'
import { worstCases } from '../../bench/robots/files.ts'
import { Occurrences } from '../../packages/robots/src/occurrences.ts'
import { pick, random } from './support/files.ts'
import { Reference } from './support/reference.ts'

const seed = Number(process.env.ROBOTS_SEED ?? Math.floor(Math.random() * 2 ** 31))
const letters = (next: () => number, count: number, of: string): string =>
  Array.from({ length: count }, () => pick(next, [...of])).join('')

/** Milliseconds of processor time of this thread: other processes of a shared machine do not count. */
function cpuMs(task: () => unknown): number {
  const before = process.threadCpuUsage()
  task()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1_000
}

describe('occurrences', () => {
  test('the next place of any segment, from any place, is where indexOf finds it', () => {
    console.info(`ROBOTS_SEED=${seed}`)
    const next = random(seed)
    for (let n = 0; n < 300; n++) {
      const text = letters(next, 1 + Math.floor(next() * 400), pick(next, ['a', 'ab', 'abc', 'abcdefgh/']))
      const octets = Buffer.from(text)
      const index = new Occurrences(octets, octets.length)
      for (let m = 0; m < 60; m++) {
        const from = Math.floor(next() * text.length)
        const segment =
          next() < 0.8
            ? text.slice(from, from + 1 + Math.floor(next() * 9))
            : letters(next, 1 + Math.floor(next() * 5), 'abcz')
        const at = Math.floor(next() * (text.length + 1))
        const found = text.indexOf(segment, at)
        const end = index.endOfNext(Buffer.from(segment), 0, segment.length, at)
        if (end !== (found < 0 ? -1 : found + segment.length))
          throw new Error(`${text} ${segment} from ${at}: ${end}, not ${found}`)
      }
    }
  })

  test('patterns that need it decide as the slow and obvious reading does', { timeout: 60_000 }, () => {
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

// The test runner's own transformation makes each constant of another module a look-up, about four times the cost.
describe('cost, as processor time on a machine that others share: the bench has the figures, these are the alarms', () => {
  test.each(worstCases().map((one) => [one.name, one] as const))('%s', (_, { file, url }) => {
    const octets = Buffer.from(file)
    for (let i = 0; i < 6; i++) parseRobots(octets).isAllowed(url, 'x') // until it is compiled
    const robots = Array.from({ length: 4 }, () => parseRobots(octets))
    expect(cpuMs(() => robots.map((_, i) => parseRobots(octets.subarray(i)))) / 4).toBeLessThan(20)
    expect(
      cpuMs(() => robots.map((one) => one.isAllowed(url, 'x'))) / 4,
      'the first verdict, which builds the index',
    ).toBeLessThan(60)
    expect(cpuMs(() => robots.map((one) => one.isAllowed(`${url}b`, 'x'))) / 4, 'every other verdict').toBeLessThan(40)
    expect(
      cpuMs(() => robots[0]?.explain(url, 'x')),
      'an explanation',
    ).toBeLessThan(60)
  })

  test('half a megabyte of lines that are no records is passed over as fast', () => {
    for (const line of [
      'x\n',
      'uu:\n',
      'user-agent:a\n',
      'sitemap:x\n',
      'crawl-delay:9\n',
      'a b c\n',
      'disallow: x\n',
      '\n',
      'user-agent\n',
    ]) {
      const source = Buffer.from(line.repeat(Math.floor(512_000 / line.length)))
      parseRobots(source)
      // Compiling and collecting garbage are the runner's, and add to some tries: an honest alarm rings in all of them.
      const tries = Array.from({ length: 3 }, () => cpuMs(() => [parseRobots(source), parseRobots(source)]) / 2)
      expect(Math.min(...tries), JSON.stringify(line)).toBeLessThan(60)
    }
  })
})
