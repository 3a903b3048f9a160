/** Random records, as unlike a well-behaved log as can be, and close to every limit of docs/audit.md. */
import { agentsOf, type JudgeOptions, type RequestLine } from '@decorum/audit'
import { loadAgents } from '@decorum/config'
import { loadPaceGroups } from '@decorum/politeness'
import type { ProfileName } from '@decorum/robots'
import type { Case, Clock, Who } from './second-judge.ts'

export type Dice = {
  /** a whole number from 0 to n − 1 */
  below(n: number): number
  pick<T>(list: readonly T[]): T
  chance(percent: number): boolean
}

/** mulberry32: small, and the same on every machine. */
export function diceOf(seed: number): Dice {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (n: number): number => Math.floor(next() * n)
  return { below, pick: (list) => list[below(list.length)]!, chance: (percent) => below(100) < percent }
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const EPOCH = 1_790_000_000_000

export const PROFILES: readonly ProfileName[] = ['decorum', 'rfc9309', 'google', 'google-2022', 'coccoc']
export const ORIGINS = ['http://a.test', 'https://a.test', 'http://a.test:8080', 'http://b.test', 'https://x.b.test']
const SPELT = ['http://A.test', 'http://a.test:80', 'http://b.test.']
const PATHS = ['/', '/a', '/a/b', '/private', '/private/x', '/rules.txt', '/a?q=1']
const DELAYS = [0, 1, 5, 24, 25, 26, 200, 499, 500, 999, 1_000, 1_001, 1_500, 2_000, 5_000, 9_999, 10_000]
const LONG_GAPS = [
  30_000,
  59_999,
  MINUTE,
  MINUTE + 1,
  2 * MINUTE,
  4 * MINUTE - 1,
  4 * MINUTE,
  HOUR,
  12 * HOUR,
  DAY,
  DAY + 1,
  25 * HOUR,
  30 * DAY,
]
const TOOK = [0, 0, 1, 5, 30, 500, 3_000]
const RULES = [
  'Disallow: /private',
  'Disallow: /',
  'Disallow: ',
  'Allow: /private/x',
  'Allow: /',
  'Disallow: /a',
  'Crawl-delay: 2',
  'Crawl-delay: 0.5',
  'Crawl-delay: 60',
]
const NAMES = ['*', 'firstbot', 'firstbot-images', 'secondbot', 'otherbot']
const OWN_HEADERS = NAMES.slice(1).map((name) => `Mozilla/5.0 (compatible; ${name}/1.0; +https://example.com/bot)`)
/** One for each name, and a second one with the product token of the first. */
export const HEADERS = [...OWN_HEADERS, `${OWN_HEADERS[0]} Mobile`]

export type RandomCase = {
  given: Case
  options: JudgeOptions
  record: { requests: RequestLine[]; bodies: Map<string, string> }
}

export function randomCase(dice: Dice): RandomCase {
  const { who, finder } = randomAgents(dice)
  const { groups, paceGroups } = randomGroups(dice)
  const bodies = Object.fromEntries(Array.from({ length: 3 }, (_, n) => [`h${n}`, randomBody(dice)]))
  // Longer than what is read of a robots.txt; in few lines, because each case reads it many times
  if (dice.chance(20)) bodies.long = `User-agent: *\nDisallow: /private\n${`# ${'padding'.repeat(1_500)}\n`.repeat(50)}`
  const requests = randomRequests(dice, Object.keys(bodies))
  const robotsRetryMs = dice.chance(20) ? dice.pick([2_000, 40_000, 2 * HOUR]) : undefined
  const continues = dice.chance(10)
  const given: Case = {
    exchanges: requests,
    bodies: Object.fromEntries(Object.entries(bodies).map(([hash, body]) => [hash, body])),
    who,
    continues,
    ...(robotsRetryMs === undefined ? {} : { retryMs: robotsRetryMs }),
    ...(groups === undefined ? {} : { groups }),
  }
  const options: JudgeOptions = {
    agents: finder,
    continues,
    examples: 100_000,
    ...(robotsRetryMs === undefined ? {} : { robotsRetryMs }),
    ...(paceGroups === undefined ? {} : { paceGroups: loadPaceGroups(paceGroups) }),
  }
  return { given, options, record: { requests, bodies: new Map(Object.entries(bodies)) } }
}

function randomAgents(dice: Dice): { who: Case['who']; finder: JudgeOptions['agents'] } {
  const [minDelayMs, maxDelayMs] = [dice.pick([0, 200, 1_000, 1_000]), dice.pick([1_000, 10_000])]
  const profile = dice.pick(PROFILES)
  const least = Math.min(minDelayMs, maxDelayMs)
  const settings = { profile, minDelayMs: least, maxDelayMs }
  const honours = (name: string): boolean => !name.startsWith('google')
  const base = { least, most: maxDelayMs }
  const kind = dice.below(3)
  if (kind === 0) {
    const one: Who = {
      ...base,
      name: 'firstbot',
      party: 'one',
      tokens: ['firstbot'],
      profile,
      honours: honours(profile),
    }
    return { who: () => one, finder: agentsOf({ ...settings, agent: 'firstbot' }) }
  }
  if (kind === 1) {
    const who = (header: string): Who => {
      const [, token = ''] = /compatible; ([a-z-]+)/.exec(header) ?? []
      return {
        ...base,
        name: header,
        party: token === '' ? header : token,
        tokens: [token],
        profile,
        honours: honours(profile),
      }
    }
    return { who, finder: agentsOf(settings) }
  }
  const file = NAMES.slice(1, 4).map((name, index) => ({
    name,
    userAgent: HEADERS[index]!,
    profile: dice.pick(PROFILES),
    fallbacks: dice.chance(30) ? ['otherbot'] : [],
    ...(dice.chance(20) ? { honourCrawlDelay: true } : {}),
    ...(dice.chance(30) ? { minDelayMs: 300 } : {}),
  }))
  const fleet = new Map(
    file.map((agent): [string, Who] => [
      agent.userAgent,
      {
        name: agent.name,
        party: 'fleet',
        tokens: [agent.name, ...agent.fallbacks],
        profile: agent.profile,
        least: agent.minDelayMs ?? least,
        most: maxDelayMs,
        honours: agent.honourCrawlDelay ?? honours(agent.profile),
      },
    ]),
  )
  const agents = loadAgents({ agents: JSON.stringify(file), defaultDelayMs: least, maxDelayMs: maxDelayMs })
  return { who: (header) => fleet.get(header), finder: agentsOf({ ...settings, agents }) }
}

/** Pace groups twice: as the operator writes them, and as the second judge is told. */
function randomGroups(dice: Dice): { paceGroups?: string; groups?: NonNullable<Case['groups']> } {
  const hostOf = (origin: string): string => new URL(origin).hostname
  const perHost = (agent: string, origin: string): Clock => ({
    name: `${agent} ${hostOf(origin)}`,
    places: 1,
    delay: undefined,
  })
  const kinds: { paceGroups?: string; groups?: NonNullable<Case['groups']> }[] = [
    {},
    {},
    { paceGroups: '{}', groups: (agent, origin) => [perHost(agent, origin)] },
    {
      paceGroups: '{"host":false,"address":{"delayMs":200,"inFlight":2}}',
      groups: (agent, _, address) =>
        address === undefined ? [] : [{ name: `${agent} at ${address}`, places: 2, delay: 200 }],
    },
    {
      paceGroups: '{"host":{"inFlight":2,"sharedByAgents":true}}',
      groups: (_, origin) => [{ name: hostOf(origin), places: 2, delay: undefined }],
    },
    {
      paceGroups:
        '{"domain":{"delayMs":700},"lists":[{"name":"l","hosts":["a.test","*.b.test"],"delayMs":1500,"sharedByAgents":true}]}',
      groups: (agent, origin) => [
        { name: `${agent} domain ${hostOf(origin).split('.').slice(-2).join('.')}`, places: 1, delay: 700 },
        ...(hostOf(origin) === 'b.test' ? [] : [{ name: 'list', places: 1, delay: 1_500 }]),
        perHost(agent, origin),
      ],
    },
  ]
  return dice.pick(kinds)
}

function randomBody(dice: Dice): string {
  const lines: string[] = []
  for (let group = dice.below(3); group >= 0; group--) {
    for (let name = dice.below(2); name >= 0; name--) lines.push(`User-agent: ${dice.pick(NAMES)}`)
    const rules = Array.from({ length: dice.below(4) }, () => dice.pick(RULES))
    // A delay closes the names above it for delays: here it comes first, and at most once.
    lines.push(...rules.filter((rule) => rule.startsWith('Crawl')).slice(0, 1))
    lines.push(...rules.filter((rule) => !rule.startsWith('Crawl')), 'Disallow: /never')
  }
  return `${lines.join('\n')}\n`
}

function randomRequests(dice: Dice, hashes: string[]): RequestLine[] {
  const headers = [...HEADERS].slice(0, 1 + dice.below(HEADERS.length))
  const origins = ORIGINS.slice(0, 1 + dice.below(ORIGINS.length))
  const coarse = dice.chance(10)
  const requests: RequestLine[] = []
  let now = EPOCH
  /** where redirects of robots.txt have led to, for others to follow */
  const targets: string[] = []
  // Without rules at the beginning nearly all that follows would come before them.
  const opening = dice.chance(70) ? headers.flatMap((agent) => origins.map((origin) => ({ agent, origin }))) : []
  for (const { agent, origin } of opening.slice(0, 6)) {
    const [start, end] = [now, now + 5]
    now += dice.pick([1_005, 2_005, 10_005])
    if (dice.chance(10)) continue
    const request: RequestLine = {
      kind: 'request',
      origin,
      agent,
      method: 'GET',
      path: '/robots.txt',
      start,
      end,
      status: 200,
    }
    if (dice.chance(90)) request.robots = dice.pick(hashes)
    else answer(request, true, { dice, hashes, origins, targets })
    requests.push(request)
  }
  for (let left = 3 + dice.below(30); left > 0; left--) {
    now += dice.chance(12) ? dice.pick(LONG_GAPS) : dice.pick(DELAYS)
    const [start, took] = [coarse ? Math.floor(now / 1_000) * 1_000 : now, dice.pick(TOOK)]
    const followed = dice.chance(40) ? targets.at(-1 - dice.below(2)) : undefined
    const url = followed === undefined ? undefined : new URL(followed)
    const isRobots = url === undefined ? dice.chance(35) : url.pathname === '/robots.txt'
    const origin = url?.origin ?? (dice.chance(8) ? dice.pick(SPELT) : dice.pick(origins))
    const path = url === undefined ? (isRobots ? '/robots.txt' : dice.pick(PATHS)) : url.pathname + url.search
    const request: RequestLine = {
      kind: 'request',
      origin,
      agent: dice.pick(headers),
      method: dice.chance(90) ? 'GET' : dice.pick(['HEAD', 'POST']),
      path,
      start,
      end: start + took,
      status: 200,
    }
    answer(request, isRobots || followed !== undefined, { dice, hashes, origins, targets })
    if (coarse) request.resolution = 999.999
    if (dice.chance(70)) request.address = dice.pick(['192.0.2.1', '192.0.2.2'])
    requests.push(request)
    // Time goes on while the exchange does, mostly.
    if (dice.chance(75)) now += took
  }
  if (dice.chance(15)) requests.push(...longChain(dice, { start: now + dice.pick(DELAYS), headers, origins, hashes }))
  if (dice.chance(20)) requests.reverse()
  return requests
}

/** A robots.txt that redirects again and again, about as often as anybody follows; then a page. */
function longChain(
  dice: Dice,
  { start, headers, origins, hashes }: { start: number; headers: string[]; origins: string[]; hashes: string[] },
): RequestLine[] {
  const agent = dice.pick(headers)
  const requests: RequestLine[] = []
  const hops = 3 + dice.below(5)
  let url = new URL(`${dice.pick(origins)}/robots.txt`)
  let now = start
  for (let hop = 0; hop <= hops; hop++) {
    const { origin, pathname } = url
    const request: RequestLine = {
      kind: 'request',
      origin,
      agent,
      method: 'GET',
      path: pathname,
      start: now,
      end: now + 5,
      status: 200,
    }
    requests.push(request)
    now += 5 + dice.pick([1, 1_000, 10_000])
    if (hop === hops) {
      if (dice.chance(70)) request.robots = dice.pick(hashes)
      break
    }
    request.status = 302
    url = new URL(dice.chance(30) ? `${dice.pick(origins)}/robots.txt` : `${dice.pick(origins)}/hop-${hop}.txt`)
    request.location = url.href
  }
  const [{ origin }] = requests as [RequestLine]
  requests.push({
    kind: 'request',
    origin,
    agent,
    method: 'GET',
    path: dice.pick(PATHS),
    start: now,
    end: now + 5,
    status: 200,
  })
  return requests
}

type Web = { dice: Dice; hashes: string[]; origins: string[]; targets: string[] }

function answer(request: RequestLine, mayBeRules: boolean, { dice, hashes, origins, targets }: Web): void {
  const statuses = mayBeRules
    ? [200, 200, 200, 200, 301, 302, 302, 404, 403, 429, 500, 503, 304, 206, 204, 301, 600, 0]
    : [200, 200, 200, 200, 200, 200, 404, 429, 503, 302, 0]
  request.status = dice.pick(statuses)
  const { status } = request
  if (status >= 200 && status < 300 && mayBeRules && dice.chance(85))
    request.robots = dice.pick([...hashes, 'not-held'])
  if ((status === 429 || status === 503) && dice.chance(70)) {
    const date = new Date(request.end + 5_000).toUTCString()
    request.retryAfter = dice.pick(['1', '5', '120', '0', 'soon', '90000', date])
  }
  if ([301, 302].includes(status) && dice.chance(90)) {
    const target = dice.pick([
      '/rules.txt',
      `${dice.pick(origins)}/robots.txt`,
      `${dice.pick(origins)}/rules.txt`,
      `${dice.pick(origins)}/private`,
      'mailto:x@example.com',
    ])
    request.location = target
    const url = URL.parse(target, request.origin)
    if (url?.protocol.startsWith('http')) targets.push(url.href)
  }
  if (dice.chance(8)) {
    request.cut = true
    if (dice.chance(60)) request.late = dice.pick([0, 1, 24, 500, 5_000])
  }
}
