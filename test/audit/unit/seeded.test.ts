/** Polite records are never convicted; one violation put into a polite record is found, of each kind. */
import { agentsOf, judgeRecord, type Offence, type Report, type RequestLine } from '@decorum/audit'
import { loadAgents } from '@decorum/config'
import { loadPaceGroups, type PolicyVersion, policyHistory } from '@decorum/politeness'
import { expect, test } from 'vitest'
import { type PoliteRecord, politeAgent, politeRecord } from '../polite-record.ts'
import { type Dice, diceOf } from '../random-record.ts'
import { found } from './scene.ts'

const RECORDS = Number(process.env.RECORDS ?? 2_000)
const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
console.log(`seeded: seed ${seed} (SEED=${seed} replays it)`)
const DAY = 86_400_000

/** Two agents of one fleet, so that one can be rude to what the other has under way. */
function judge(
  { requests, bodies, profile, delayMs }: PoliteRecord,
  {
    paceGroups,
    stoppedAt,
    policies,
  }: { paceGroups?: string | undefined; stoppedAt: number; policies?: PolicyVersion[] },
): Report {
  const file = [0, 1].map((n) => ({ name: `politebot-${'abc'[n]}`, userAgent: politeAgent(n), profile }))
  const agents = loadAgents({ agents: JSON.stringify(file), defaultDelayMs: delayMs, maxDelayMs: 10_000 })
  return judgeRecord(
    { requests, bodies },
    {
      agents: agentsOf({ agents, profile, minDelayMs: delayMs, maxDelayMs: 10_000 }),
      stops: [{ name: '*', at: stoppedAt }],
      ...(policies === undefined ? {} : { sitePolicies: policyHistory(policies) }),
      ...(paceGroups === undefined ? {} : { paceGroups: loadPaceGroups(paceGroups) }),
    },
  )
}

/** From the end of the record on: a minute of visits twelve hours away, and two requests a day. */
function policiesAfter({ requests }: PoliteRecord): PolicyVersion[] {
  const at = endOf(requests)
  const away = new Date(at + DAY / 2).toISOString()
  const hours = `${away.slice(11, 16)}-${new Date(at + DAY / 2 + 60_000).toISOString().slice(11, 16)}`
  const hosts = [...new Set(requests.map(({ origin }) => new URL(origin).hostname))]
  return [{ at, policies: Object.fromEntries(hosts.map((host) => [host, { hours, requestsPerDay: 2 }])) }]
}

test(`${RECORDS} polite records: no violation, nothing unjudged`, () => {
  let requests = 0
  for (let n = 0; n < RECORDS; n++) {
    const record = politeRecord(diceOf(seed + n))
    const report = judge(record, { stoppedAt: endOf(record.requests) })
    requests += report.requests
    expect(
      { found: found(report), because: report.examples[0]?.because, unjudged: report.unjudged },
      `SEED=${seed + n}`,
    ).toEqual({
      found: {},
      because: undefined,
      unjudged: 0,
    })
  }
  console.log(`${requests} polite requests`)
})

const last = (requests: RequestLine[], is: (line: RequestLine) => boolean): RequestLine | undefined =>
  requests.toSorted((a, b) => a.start - b.start).findLast(is)
const endOf = (requests: RequestLine[]): number => Math.max(...requests.map(({ end }) => end))
const isPage = ({ path }: RequestLine): boolean => path.startsWith('/page')

/** What each kind of rudeness adds to a polite record, or changes in it; false: this record has no place for it. */
const SEEDS: Record<Offence, (record: PoliteRecord, dice: Dice) => boolean> = {
  overlap: ({ requests }) => {
    const open = last(requests, ({ start, end, cut }) => end - start > 100 && !cut)
    if (open === undefined) return false
    requests.push({ ...open, path: '/page-rude', start: open.start + 50, end: open.start + 60, status: 200 })
    return true
  },
  'short-delay': ({ requests, delayMs }, dice) => {
    const before = last(requests, ({ cut }) => !cut)!
    const start = before.end + dice.below(delayMs - 1)
    requests.push({ ...before, path: '/page-rude', start, end: start + 1, status: 200 })
    return true
  },
  disallowed: ({ requests, disallowed }) => {
    const page = last(requests, isPage)
    if (page) page.path = `${disallowed}/rude`
    return page !== undefined
  },
  'before-rules': ({ requests }) => {
    const first = requests[0]!
    requests.push({ ...first, path: '/page-rude', start: first.start - 20_000, end: first.start - 19_990, status: 200 })
    return true
  },
  'rules-unreachable': ({ requests, profile }) => {
    const page = last(requests, isPage)!
    const start = Math.max(...requests.map(({ end }) => end)) + DAY
    // Under Cốc Cốc's rules only no answer at all closes a site.
    requests.push({
      ...page,
      path: '/robots.txt',
      start,
      end: start + 5,
      status: profile === 'coccoc' ? 0 : 500,
      cut: false,
    })
    requests.push({ ...page, path: '/page-rude', start: start + 11_000, end: start + 11_005, status: 200, cut: false })
    return true
  },
  'in-back-off': ({ requests }, dice) => {
    const page = last(requests, isPage)!
    Object.assign(page, { status: dice.pick([429, 503]), retryAfter: '3600', cut: false })
    requests.push({
      ...page,
      path: dice.pick(['/page-rude', '/robots.txt']),
      start: page.end + 3_599_000,
      end: page.end + 3_599_010,
      status: 200,
    })
    return true
  },
  'rules-too-old': ({ requests }) => {
    const page = last(requests, isPage)!
    const start = Math.max(...requests.map(({ end }) => end)) + DAY + 1
    requests.push({ ...page, path: '/page-rude', start, end: start + 1, status: 200, cut: false })
    return true
  },
  'robots-overlap': ({ requests }) => {
    const fetch = last(requests, ({ path, start, end }) => path === '/robots.txt' && end > start)
    if (fetch === undefined) return false
    requests.push({ ...fetch, agent: politeAgent(1), start: (fetch.start + fetch.end) / 2 })
    return true
  },
  'robots-too-often': ({ requests }) => {
    const fetch = last(requests, ({ path }) => path === '/robots.txt')!
    const start = fetch.end + 25_000
    requests.push({ ...fetch, start, end: start + 5 })
    return true
  },
  'pace-group': ({ requests }) => {
    const page = last(requests, ({ cut }) => !cut)!
    const origin = page.origin.replace('http:', 'https:')
    requests.push({ ...page, origin, path: '/robots.txt', start: page.end + 100, end: page.end + 105, status: 404 })
    return true
  },
  'outside-hours': ({ requests }) => {
    const page = last(requests, isPage)!
    const start = endOf(requests) + 60_000
    requests.push({ ...page, path: '/page-rude', start, end: start + 1, status: 200, cut: false })
    return true
  },
  'over-budget': ({ requests }) => {
    const page = last(requests, isPage)!
    const first = endOf(requests) + 60_000
    for (const start of [first, first + 20_000, first + 40_000])
      requests.push({ ...page, path: '/page-rude', start, end: start + 1, status: 200, cut: false })
    return Math.floor((first - 1_000) / DAY) === Math.floor((first + 39_000) / DAY)
  },
  stopped: ({ requests }) => {
    const page = last(requests, isPage)!
    const start = endOf(requests) + 1_001
    requests.push({ ...page, path: '/page-rude', start, end: start + 1, status: 200, cut: false })
    return true
  },
}

test.each(Object.keys(SEEDS) as Offence[])('put into a polite record, %s is found', (offence) => {
  let seeded = 0
  for (let n = 0; n < 200; n++) {
    const dice = diceOf(seed + n)
    const record = politeRecord(dice)
    const stoppedAt = endOf(record.requests) + (offence === 'stopped' ? 0 : 2 * DAY)
    const policies = policiesAfter(record)
    if (!last(record.requests, isPage) || !SEEDS[offence](record, dice)) continue
    seeded++
    const ofSites = offence === 'outside-hours' || offence === 'over-budget' ? { policies } : {}
    const report = judge(record, {
      stoppedAt,
      paceGroups: offence === 'pace-group' ? '{}' : undefined,
      ...ofSites,
    })
    expect(report.violations[offence], `SEED=${seed + n}: ${JSON.stringify(found(report))}`).toBeGreaterThan(0)
  }
  expect(seeded).toBeGreaterThan(100)
})
