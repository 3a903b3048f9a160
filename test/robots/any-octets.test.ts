/**
 * Any octets: generated and damaged files, 24,000 of them in a run, others in each. The seed is printed; ROBOTS_SEED replays it,
 * ROBOTS_FILES sets the count (400,000 is the long form).
 */
import { parseRobots, policies, type RobotsTxt } from '@decorum/robots'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AGENTS, damaged, file, pick, random, url } from './support/files.ts'
import { Reference } from './support/reference.ts'

const seed = Number(process.env.ROBOTS_SEED ?? Math.floor(Math.random() * 2 ** 31))
const files = Number(process.env.ROBOTS_FILES ?? 12_000)
const profiles = Object.values(policies)
const agents = [...AGENTS, 'nobody']

/** Runs `judge` on `count` files, each with its own seed, and names the seed of the first that fails. */
function forFiles(count: number, salt: number, judge: (next: () => number) => void): void {
  console.info(`ROBOTS_SEED=${seed} (${count} files)`)
  for (let i = 0; i < count; i++) {
    const own = (seed ^ salt) + i
    try {
      judge(random(own))
    } catch (error) {
      throw new Error(`file ${i} of ROBOTS_SEED=${seed}, its own seed ${own}`, { cause: error })
    }
  }
}

/** What a caller can see of a file. */
function seen(robots: RobotsTxt): unknown {
  return [String(robots), robots.sitemaps, agents.map((agent) => robots.crawlDelay(agent))]
}

describe('any octets', () => {
  test('never throws; decide agrees with isAllowed and with explain; the losers weigh less', () => {
    forFiles(Math.floor(files * 0.6), 1, (next) => {
      const whole = file(next, 14)
      const source = next() < 0.7 ? damaged(next, whole) : whole
      const robots = parseRobots(source, { policy: pick(next, profiles) })
      const agent = pick(next, agents)
      const at = url(next)
      const allowed = robots.isAllowed(at, agent)
      const decided = robots.decide(at, agent)
      const { path, losers, losersInAll, token, crawlDelay, agentWarning, ...explained } = robots.explain(at, agent)
      if (decided.allowed !== allowed) throw new Error(`isAllowed ${allowed}, decide ${decided.allowed}: ${at}`)
      if (JSON.stringify(decided) !== JSON.stringify(explained)) throw new Error(`decide and explain differ: ${at}`)
      if (!path.startsWith('/') || losersInAll < losers.length) throw new Error('an explanation that cannot be')
      if (losers.some(({ line }) => line === decided.rule?.line)) throw new Error('a rule that wins and loses')
      if ((decided.why === 'rule' || decided.why === 'empty-rule') !== (decided.rule !== undefined))
        throw new Error('a reason without its rule')
      const delay = robots.crawlDelay(agent)
      if (crawlDelay?.seconds !== delay || agentWarning !== undefined) throw new Error('an explanation that differs')
      if (delay !== undefined && !(delay >= 0 && delay < Infinity)) throw new Error(`a delay of ${delay}`)
      if (robots.warnings.length > 101 || robots.sitemaps.some((one) => !/^https?:/i.test(one)))
        throw new Error('unbounded')
    })
  })

  test('the same verdict, line for line, as the slow and obvious reading, under every profile', () => {
    forFiles(Math.floor(files * 0.2), 2, (next) => {
      const whole = file(next, 60)
      const source = next() < 0.3 ? damaged(next, whole) : whole
      const policy = pick(next, profiles)
      const reference = new Reference(source, policy.grammar)
      // Half of them are first read by another policy: `under` must notice a file that its grammar reads differently.
      const robots = parseRobots(source, { policy: pick(next, profiles) })
      // Some of them after so many questions that masks and indexes are at work.
      if (next() < 0.5)
        for (const agent of agents) for (let n = 0; n < 4; n++) robots.under(policy).isAllowed('/', agent)
      for (let n = 0; n < 3; n++) {
        const agent = pick(next, agents)
        // As the project's URLs are: in WHATWG form already.
        const at = new URL(url(next)).href
        const { rule } = robots.under(policy).decide(at, agent)
        const ours = rule ? (rule.type === 'allow' || rule.pattern === '' ? -rule.line : rule.line) : 0
        const theirs = at === 'https://h.example/robots.txt' ? 0 : reference.decide(at, [agent], policy)
        if (ours !== theirs)
          throw new Error(
            `${policy.name}, ${agent}, ${at}: line ${ours}, obviously ${theirs}\n${Buffer.from(source).toString('latin1')}`,
          )
      }
    })
  })

  test('text and its octets read the same', () => {
    forFiles(Math.floor(files * 0.1), 3, (next) => {
      const text = Buffer.from(damaged(next, file(next, 12))).toString('utf8')
      const one = seen(parseRobots(text))
      const other = seen(parseRobots(new TextEncoder().encode(text)))
      if (JSON.stringify(one) !== JSON.stringify(other)) throw new Error(JSON.stringify(text))
    })
  })

  test('read, printed and read again, a file is the same', () => {
    forFiles(Math.floor(files * 0.1), 4, (next) => {
      const robots = parseRobots(damaged(next, file(next, 14)))
      const again = parseRobots(String(robots))
      if (JSON.stringify(seen(robots)) !== JSON.stringify(seen(again))) throw new Error(String(robots))
      const at = url(next)
      for (const agent of agents)
        if (robots.isAllowed(at, agent) !== again.isAllowed(at, agent))
          throw new Error(`${agent} ${at}\n${String(robots)}`)
    })
  })
})

describe('properties', () => {
  const token = fc.constantFrom(...AGENTS, '*')
  const pattern = fc
    .array(fc.constantFrom('/', 'a', 'b', '*', '$', '%61', '?'), { maxLength: 6 })
    .map((parts) => `/${parts.join('')}`)
  const rule = fc.record({ type: fc.constantFrom('allow', 'disallow'), pattern })
  const group = fc.record({
    tokens: fc.array(token, { minLength: 1, maxLength: 3 }),
    rules: fc.array(rule, { minLength: 1, maxLength: 8 }),
  })
  const print = (groups: { tokens: string[]; rules: { type: string; pattern: string }[] }[]): string =>
    groups
      .map(({ tokens, rules }) =>
        [...tokens.map((name) => `user-agent: ${name}`), ...rules.map((one) => `${one.type}: ${one.pattern}`)].join(
          '\n',
        ),
      )
      .join('\n')
  const path = fc
    .array(fc.constantFrom('/', 'a', 'b', '?', '%61', 'ab'), { maxLength: 8 })
    .map((parts) => `https://h.example/${parts.join('')}`)

  test('the order of groups, and of rules in a group, changes no verdict', () => {
    fc.assert(
      fc.property(
        fc.array(group, { maxLength: 6 }),
        fc.infiniteStream(fc.nat()),
        path,
        fc.constantFrom(...agents),
        (groups, order, at, agent) => {
          const shuffled = groups
            .map((one) => ({ key: order.next().value as number, one: { ...one, rules: [...one.rules].reverse() } }))
            .sort((a, b) => a.key - b.key)
            .map(({ one }) => one)
          expect(parseRobots(print(shuffled)).isAllowed(at, agent)).toBe(
            parseRobots(print(groups)).isAllowed(at, agent),
          )
        },
      ),
      { seed, numRuns: 3_000 },
    )
  })

  test('one more allow never closes, one more disallow never opens', () => {
    fc.assert(
      fc.property(group, rule, path, (base, more, at) => {
        const [agent] = base.tokens as [string]
        const before = parseRobots(print([base])).isAllowed(at, agent)
        const after = parseRobots(print([{ ...base, rules: [...base.rules, more] }])).isAllowed(at, agent)
        if (before !== after) expect(after).toBe(more.type === 'allow')
      }),
      { seed, numRuns: 3_000 },
    )
  })

  test('many rules decide as few do: what an index finds, a look at each rule finds too', () => {
    fc.assert(
      fc.property(
        fc.array(rule, { minLength: 25, maxLength: 80 }),
        path,
        fc.constantFrom(...profiles),
        (rules, at, policy) => {
          const source = print([{ tokens: ['*'], rules }])
          const robots = parseRobots(source, { policy })
          // The first questions are answered by trying each rule; the fifth and later ones by the index.
          for (let n = 0; n < 4; n++) robots.isAllowed('/', 'x')
          const indexed = robots.decide(at, 'x').rule
          const { allowed, rule: best } = parseRobots(source, { policy }).explain(at, 'x')
          expect(best, 'tried one by one').toEqual(indexed)
          const theirs = new Reference(Buffer.from(source), policy.grammar).decide(at, ['x'], policy)
          expect(indexed ? (allowed ? -indexed.line : indexed.line) : 0).toBe(theirs)
        },
      ),
      { seed, numRuns: 3_000 },
    )
  })
})
