/** Records of a crawler that keeps every promise: a clock that moves on as far as each promise asks, and not much further. */
import type { RequestLine } from '@decorum/audit'
import type { ProfileName } from '@decorum/robots'
import type { Dice } from './random-record.ts'

export type PoliteRecord = {
  requests: RequestLine[]
  bodies: Map<string, string>
  profile: ProfileName
  delayMs: number
  /** of each origin, what a page may not ask for */
  disallowed: string
}

const EPOCH = 1_790_000_000_000
const MINUTE = 60_000
const DAY = 86_400_000
const FOREIGN = 'http://elsewhere.test'

type Site = {
  origin: string
  delayMs: number
  /** instant from which each of these may be requested again */
  dueAt: number
  robotsDueAt: number
  refreshBy: number
  body: string
}

export const politeAgent = (n: number): string =>
  `Mozilla/5.0 (compatible; politebot-${'abc'[n]}/1.0; +https://example.com/bot)`

/** One agent at several origins; each lane is served in turn. */
export function politeRecord(dice: Dice): PoliteRecord {
  const profile = dice.pick(['decorum', 'rfc9309', 'coccoc'] as const)
  const delayMs = dice.pick([200, 1_000, 3_000])
  const bodies = new Map<string, string>()
  const requests: RequestLine[] = []
  const agent = politeAgent(0)
  const sites = Array.from({ length: 1 + dice.below(4) }, (_, n): Site => {
    const seconds = dice.pick([undefined, 0.1, 2, 60])
    const body = `User-agent: *\nDisallow: /private\n${seconds === undefined ? '' : `Crawl-delay: ${seconds}\n`}`
    bodies.set(`h${n}`, body)
    const owed = Math.max(delayMs, Math.min((seconds ?? 0) * 1_000, 10_000))
    return {
      origin: `http://s${n}.test`,
      delayMs: owed,
      dueAt: EPOCH + n,
      robotsDueAt: EPOCH,
      refreshBy: 0,
      body: `h${n}`,
    }
  })
  let foreignDueAt = EPOCH
  const visit = (origin: string, at: number, path: string, more: Partial<RequestLine> = {}): RequestLine => {
    const line: RequestLine = {
      kind: 'request',
      origin,
      agent,
      method: 'GET',
      path,
      start: at,
      end: at + dice.pick([0, 1, 40, 700]),
      status: 200,
      ...more,
    }
    requests.push(line)
    return line
  }
  const spare = (): number => dice.pick([0, 0, 1, 300])

  const fetchRobots = (site: Site): void => {
    let at = Math.max(site.dueAt, site.robotsDueAt) + spare()
    for (let failures = 1; dice.chance(15); failures++) {
      const { end } = visit(site.origin, at, '/robots.txt', { status: dice.pick([500, 502]) })
      at = Math.max(end + site.delayMs, end + Math.min(MINUTE * 2 ** (failures - 1), 60 * MINUTE)) + spare()
      // Cốc Cốc reads such an answer as no restriction, and fetches again as after any good one.
      if (profile === 'coccoc') at = Math.max(at, end + 4 * MINUTE)
    }
    let end: number
    const how = dice.below(4)
    if (how === 0) {
      const { end: redirected } = visit(site.origin, at, '/robots.txt', { status: 301, location: '/rules.txt' })
      ;({ end } = visit(site.origin, redirected + dice.pick([0, 5]), '/rules.txt', { robots: site.body }))
    } else if (how === 1) {
      const target = `/${site.body}.txt`
      // No more than a minute before the hop may be made: a later one would be a request of its own.
      at = Math.max(at, foreignDueAt - dice.pick([0, 100, 30_000]))
      const { end: redirected } = visit(site.origin, at, '/robots.txt', { status: 302, location: FOREIGN + target })
      ;({ end } = visit(FOREIGN, Math.max(redirected, foreignDueAt), target, { robots: site.body }))
      foreignDueAt = end + Math.max(delayMs, 1_000)
    } else ({ end } = visit(site.origin, at, '/robots.txt', { robots: site.body }))
    site.dueAt = end + site.delayMs
    site.robotsDueAt = end + 4 * MINUTE
    site.refreshBy = end + DAY
  }
  for (const site of sites) fetchRobots(site)
  for (let left = 6 + dice.below(30); left > 0; left--) {
    // Whoever is due first: so the foreign lane is visited in the order of time.
    const site = sites.toSorted((a, b) => a.dueAt - b.dueAt)[0]!
    if (dice.chance(4)) site.dueAt += dice.pick([5 * MINUTE, 20 * 60 * MINUTE])
    if (site.dueAt > site.refreshBy || dice.chance(3)) {
      fetchRobots(site)
      continue
    }
    const status = dice.pick([200, 200, 200, 404, 429, 503])
    const retryAfter = status === 429 || status === 503 ? dice.pick(['5', '60']) : undefined
    const line = visit(site.origin, site.dueAt + spare(), `/page-${left}`, {
      status,
      ...(retryAfter === undefined ? {} : { retryAfter }),
    })
    if (dice.chance(5)) Object.assign(line, { status: 0, cut: true, late: 20 })
    // In its own time the site has closed later than the agent left.
    site.dueAt = line.end + Math.max(site.delayMs, line.status === 0 ? 0 : Number(retryAfter ?? 0) * 1_000)
  }
  return { requests, bodies, profile, delayMs, disallowed: '/private' }
}
