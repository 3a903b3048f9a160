/** More agents and origins than are kept as objects: each is still itself. */
import { agentsOf, judgeRecord, type RequestLine } from '@decorum/audit'
import { expect, test } from 'vitest'

const EPOCH = 1_790_000_000_000
const MANY = 12_000
const agents = agentsOf({ profile: 'decorum', minDelayMs: 1_000, maxDelayMs: 10_000 })

const request = (of: Partial<RequestLine>): RequestLine => ({
  kind: 'request',
  origin: 'http://a.test',
  agent: 'bot/1',
  method: 'GET',
  path: '/robots.txt',
  start: EPOCH,
  end: EPOCH,
  status: 200,
  robots: 'h',
  ...of,
})

/** Each lane fetches the rules, then a page, and every third lane is 1 ms early with that. */
const isEarly = (n: number): boolean => n % 3 === 0
function record(named: (n: number) => Partial<RequestLine>): RequestLine[] {
  const lanes = Array.from({ length: MANY }, (_, n) => n)
  return [
    ...lanes.map((n) => request({ ...named(n), start: EPOCH + n, end: EPOCH + n })),
    ...lanes.map((n) => {
      const at = EPOCH + n + 1_000 - (isEarly(n) ? 1 : 0)
      return request({ ...named(n), path: `/${n}`, start: at, end: at })
    }),
  ]
}

test.each([
  { what: 'agents at one origin', named: (n: number) => ({ agent: `näme-${n}/1` }) },
  { what: 'origins of one agent', named: (n: number) => ({ origin: `HTTP://Site-${n}.test:80` }) },
  {
    what: 'agents, each at an origin of its own',
    named: (n: number) => ({ agent: `b${n}`, origin: `http://s${n}.test` }),
  },
])('of 12,000 $what those that were early are found, and no others', ({ named }) => {
  const evidence = { requests: record(named), bodies: new Map([['h', 'User-agent: *\nDisallow: /never\n']]) }
  const report = judgeRecord(evidence, { agents, examples: MANY })
  const early = Array.from({ length: MANY }, (_, n) => n).filter(isEarly)
  expect(report.violations).toMatchObject({ 'short-delay': early.length })
  expect(report.total).toBe(early.length)
  expect(new Set(report.examples.map(({ path }) => path))).toEqual(new Set(early.map((n) => `/${n}`)))
  for (const { agent, origin, path } of report.examples) {
    const { agent: name = 'bot/1', origin: at = 'http://a.test' } = named(Number(path.slice(1))) as Partial<RequestLine>
    expect([agent, origin]).toEqual([name, at.toLowerCase().replace(':80', '')])
  }
  expect(report.lanes).toHaveLength(10_000)
  expect(report.lanesLeftOut).toBe(2_000)
  expect(report.lanes.filter(({ offences }) => offences['short-delay'] === 1)).toHaveLength(early.length)
  expect(report.lanes.slice(0, early.length).every(({ smallestSlackMs }) => smallestSlackMs === -1)).toBe(true)
})

test('a few thousand bodies of rules: each origin is judged by its own', () => {
  const origins = Array.from({ length: 11_000 }, (_, n) => n)
  const at = (n: number): Partial<RequestLine> => ({ origin: `http://s${n}.test`, robots: `h${n}` })
  const requests = [
    ...origins.map((n) => request(at(n))),
    ...origins.map((n) => request({ ...at(n), path: '/7', start: EPOCH + 2_000, end: EPOCH + 2_000 })),
  ]
  const bodies = new Map(origins.map((n) => [`h${n}`, `User-agent: *\nDisallow: /${n}$\n`]))
  const { violations, examples } = judgeRecord({ requests, bodies }, { agents })
  expect(violations.disallowed).toBe(1)
  expect(examples.map(({ origin }) => origin)).toEqual(['http://s7.test'])
})
