import { agentsOf, judgeRecord } from '@decorum/audit'
import { loadAgents } from '@decorum/config'
import { expect, test } from 'vitest'
import { AGENT, found, ORIGIN, OTHER, Scene } from './scene.ts'

const HOUR = 3_600_000

/** Both agents as one fleet. */
function fleet(minDelayMs = 1_000) {
  const list = [
    { name: 'testbot', userAgent: AGENT },
    { name: 'otherbot', userAgent: OTHER },
  ]
  const agents = loadAgents({ agents: JSON.stringify(list), defaultDelayMs: minDelayMs, maxDelayMs: 10_000 })
  return agentsOf({ agents, profile: 'decorum', minDelayMs, maxDelayMs: 10_000 })
}

test('a polite record passes, and its smallest slack is the exact difference', () => {
  const report = new Scene().robots(0, 'User-agent: *\nDisallow: /private').pages(1_005, 20, 1_005.25).judge()
  expect(found(report)).toEqual({})
  expect(report).toMatchObject({
    requests: 21,
    total: 0,
    origins: 1,
    robotsFetches: { all: 1, most: 1 },
    tolerance: { delayMs: 0 },
  })
  expect(report.smallestSlackMs).toBeCloseTo(0, 3)
})

test('silence is counted from the end of an exchange: start to start is not enough', () => {
  const scene = new Scene().robots(0, '').visit(1_005, '/a', { ms: 300 }).visit(2_005, '/b')
  expect(found(scene.judge())).toEqual({ 'short-delay': 1 })
})

test('a tenth of a millisecond short is short', () => {
  const scene = new Scene().robots(0, '').visit(1_005, '/a').visit(2_009.9, '/b')
  const report = scene.judge()
  expect(found(report)).toEqual({ 'short-delay': 1 })
  expect(report.smallestSlackMs).toBeCloseTo(-0.1, 3)
  expect(report.examples[0]).toMatchObject({
    offence: 'short-delay',
    path: '/b',
    because: '0.9999 s after /a; 1 s is required',
  })
})

test('a delay that is shorter by less than a tenth of a millisecond does not read as long as the one owed', () => {
  const scene = new Scene().robots(0, '').visit(1_005, '/a').visit(2_009.96, '/b')
  expect(scene.judge().examples[0]).toMatchObject({ because: '0.99996 s after /a; 1 s is required' })
})

test('robots.txt itself owes the silence, before and after', () => {
  expect(found(new Scene().robots(0, '').visit(500, '/a').judge())).toEqual({ 'short-delay': 1 })
  const again = new Scene()
    .robots(0, '')
    .visit(1_005, '/a')
    .robots(24 * HOUR, '')
    .visit(24 * HOUR + 400, '/b')
  expect(found(again.judge())).toEqual({ 'short-delay': 1 })
})

test('an overlap counts against every request still open, not only the neighbour', () => {
  const scene = new Scene()
    .robots(0, '')
    .visit(2_000, '/long', { ms: 9_000 })
    .visit(4_000, '/b')
    .visit(6_000, '/c')
    .visit(12_000, '/d')
  const report = scene.judge()
  expect(found(report)).toEqual({ overlap: 2 })
  expect(report.examples.map(({ path }) => path)).toEqual(['/b', '/c'])
})

test('a crawl-delay lengthens the silence, up to the cap', () => {
  const body = 'User-agent: testbot\nCrawl-delay: 2.5\n\nUser-agent: *\nCrawl-delay: 100'
  const scene = new Scene().robots(0, body).visit(2_505, '/a').visit(4_900, '/b')
  expect(found(scene.judge())).toEqual({ 'short-delay': 1 })
  const other = new Scene()
    .robots(0, body, { agent: OTHER })
    .visit(10_005, '/a', { agent: OTHER })
    .visit(20_010, '/b', { agent: OTHER })
  expect(found(other.judge())).toEqual({})
  expect(other.judge().lanes[0]?.delayMs).toEqual({ least: 10_000, most: 10_000 })
  expect(found(other.judge({ maxDelayMs: 20_000 }))).toEqual({ 'short-delay': 2 })
})

test('a profile without crawl-delay owes the floor alone', () => {
  const scene = new Scene().robots(0, 'User-agent: *\nCrawl-delay: 5').visit(1_005, '/a')
  expect(found(scene.judge({ profile: 'google' }))).toEqual({})
  expect(found(scene.judge())).toEqual({ 'short-delay': 1 })
})

test('two lanes do not share a silence', () => {
  const scene = new Scene()
    .robots(0, '')
    .visit(1_005, '/a')
    .robots(600, '', { agent: OTHER })
    .visit(1_605, '/a', { agent: OTHER })
  const report = scene.judge()
  expect(found(report)).toEqual({})
  expect(report.lanes).toHaveLength(2)
})

test('a forbidden URL is found, with the line that forbids it', () => {
  const scene = new Scene()
    .robots(0, 'User-agent: *\nDisallow: /private/*.html$')
    .visit(1_005, '/private/a.html')
    .visit(2_010, '/private/a.htm')
  const report = scene.judge()
  expect(found(report)).toEqual({ disallowed: 1 })
  expect(report.examples[0]?.because).toBe('line 2 of robots.txt: disallow: /private/*.html$')
})

test('rules that one lane has just been given bind the other lanes of its party a second later, and itself at once', () => {
  const scene = (late: number, agent: string) =>
    new Scene()
      .robots(0, '')
      .visit(5_000, '/a')
      .robots(24 * HOUR, 'User-agent: *\nDisallow: /')
      .visit(24 * HOUR + late, '/b', { agent })
  const judged = (late: number, agent: string) => found(scene(late, agent).judge({ delayMs: 500, agents: fleet(500) }))
  expect(judged(1_004, OTHER)).toEqual({})
  expect(judged(1_005, OTHER)).toEqual({ disallowed: 1 })
  expect(judged(505, AGENT)).toEqual({ disallowed: 1 })
})

test('a robots.txt that took no time is not judged by the rules that it brings', () => {
  const scene = new Scene()
    .robots(0, '', { ms: 0 })
    .visit(300_000, '/a', { ms: 0 })
    .robots(302_000, 'User-agent: *\nCrawl-delay: 10', { ms: 0 })
    .visit(305_000, '/b', { ms: 0 })
  expect(found(scene.judge())).toEqual({ 'short-delay': 1 })
  expect(scene.judge().examples[0]).toMatchObject({ path: '/b', because: '3 s after /robots.txt; 10 s is required' })
})

test('a page before any robots.txt, and a page while the first is still open', () => {
  expect(found(new Scene().visit(0, '/a').judge())).toEqual({ 'before-rules': 1 })
  expect(found(new Scene().robots(0, '', { ms: 3_000 }).visit(1_500, '/a').judge())).toEqual({
    'before-rules': 1,
    overlap: 1,
  })
})

test('robots.txt read by one stranger is no permission for another; inside a fleet it is', () => {
  const scene = new Scene().robots(0, '').visit(1_005, '/a', { agent: OTHER })
  expect(found(scene.judge())).toEqual({ 'before-rules': 1 })
  expect(found(judgeRecord(scene.evidence, { agents: fleet() }))).toEqual({})
})

test('User-Agents with one product token share what is known of robots.txt; those of browsers do not', () => {
  const judged = (first: string, then: string) =>
    found(new Scene().robots(0, '', { agent: first }).visit(2_000, '/a', { agent: then }).judge())
  const named = 'Mozilla/5.0 (compatible; decorum/0.2; +https://example.com/bot)'
  expect(judged('Mozilla/5.0 (compatible; Decorum/0.2)', named)).toEqual({})
  expect(judged('Wget/1.21', 'wget/1.24')).toEqual({})
  expect(judged('Mozilla/5.0 (X11)', 'Mozilla/5.0 (Macintosh)')).toEqual({ 'before-rules': 1 })
  expect(judged('', named)).toEqual({ 'before-rules': 1 })
  expect(judged('b1', 'b2')).toEqual({ 'before-rules': 1 })
})

test('a 5xx for robots.txt closes the site: fetching its pages is no accident', () => {
  const scene = new Scene().visit(0, '/robots.txt', { status: 503 }).pages(1_005, 3, 1_100)
  expect(found(scene.judge())).toEqual({ 'rules-unreachable': 3 })
  // Cốc Cốc: any answer but 200 is no restriction
  expect(found(scene.judge({ profile: 'coccoc' }))).toEqual({})
})

test('no answer to robots.txt closes the site; 404 opens it; 429 is for the profile to say', () => {
  const robots = (status: number) =>
    new Scene().visit(0, '/robots.txt', { status, ...(status === 0 ? { cut: true } : {}) }).pages(1_005, 1, 1)
  expect(found(robots(0).judge())).toEqual({ 'rules-unreachable': 1 })
  expect(found(robots(404).judge())).toEqual({})
  expect(found(robots(429).judge())).toEqual({ 'rules-unreachable': 1 })
  expect(found(robots(429).judge({ profile: 'rfc9309' }))).toEqual({})
})

test('an outage after a good answer: refused at first, the copy after twelve hours', () => {
  const scene = (hours: number, path: string) =>
    new Scene()
      .robots(0, 'User-agent: *\nDisallow: /private')
      .visit(24 * HOUR, '/robots.txt', { status: 500 })
      .visit((24 + hours) * HOUR, path)
  expect(found(scene(11, '/a').judge())).toEqual({ 'rules-unreachable': 1 })
  expect(found(scene(13, '/a').judge())).toEqual({})
  expect(found(scene(13, '/private').judge())).toEqual({ disallowed: 1 })
})

test('rules older than a day are due to be asked for again', () => {
  expect(
    found(
      new Scene()
        .robots(0, '')
        .visit(25 * HOUR, '/a')
        .judge(),
    ),
  ).toEqual({ 'rules-too-old': 1 })
})

test('every request before a Retry-After is over counts, also for robots.txt, also after an answer in between', () => {
  const scene = new Scene()
    .robots(0, '')
    .visit(2_000, '/a', { status: 429, retryAfter: '10' })
    .visit(4_000, '/b')
    .visit(11_000, '/c')
    .visit(12_100, '/d')
  expect(found(scene.judge())).toEqual({ 'in-back-off': 2 })
})

test('Retry-After as a date counts; 0 and rubbish do not', () => {
  const answered = (retryAfter: string) =>
    new Scene().robots(0, '').visit(2_000, '/a', { status: 503, retryAfter }).visit(4_000, '/b')
  const inTenSeconds = new Date(1_790_000_012_000).toUTCString()
  expect(found(answered(inTenSeconds).judge())).toEqual({ 'in-back-off': 1 })
  expect(found(answered('0').judge())).toEqual({})
  expect(found(answered('soon').judge())).toEqual({})
})

test('two fetches of one robots.txt at once', () => {
  const scene = new Scene().robots(0, '', { ms: 4_000 }).robots(2_000, '')
  expect(found(scene.judge())).toEqual({ overlap: 1, 'robots-overlap': 1 })
})

test('robots.txt asked for again after a good answer, sooner than its least freshness', () => {
  expect(found(new Scene().robots(0, '').robots(60_000, '').judge())).toEqual({ 'robots-too-often': 1 })
  expect(found(new Scene().robots(0, '').robots(300_000, '').judge())).toEqual({})
})

test('retries of an unreachable robots.txt follow the schedule: first, then twice as late each time', () => {
  const at = (...times: number[]) => {
    const scene = new Scene()
    for (const time of times) scene.visit(time, '/robots.txt', { status: 500 })
    return found(scene.judge())
  }
  expect(at(0, 60_100, 180_200, 420_300)).toEqual({})
  expect(at(0, 60_100, 180_000)).toEqual({ 'robots-too-often': 1 })
  expect(at(0, 30_000)).toEqual({ 'robots-too-often': 1 })
  const scaled = new Scene().visit(0, '/robots.txt', { status: 500 }).visit(2_010, '/robots.txt', { status: 500 })
  expect(found(scaled.judge({ robotsRetryMs: 2_000 }))).toEqual({})
})

test('503 for robots.txt may be asked more often, but never before its Retry-After', () => {
  const answered = (retryAfter: string | undefined, again: number) =>
    found(
      new Scene()
        .visit(0, '/robots.txt', { status: 503, ...(retryAfter ? { retryAfter } : {}) })
        .robots(again, '')
        .judge(),
    )
  expect(answered(undefined, 31_000)).toEqual({})
  expect(answered('120', 31_000)).toEqual({ 'robots-too-often': 1 })
  expect(answered('120', 121_000)).toEqual({})
})

test('a robots.txt behind redirects is one exchange; its rules bind the origin first asked', () => {
  const elsewhere = 'http://elsewhere.test'
  const scene = new Scene()
    .visit(0, '/robots.txt', { status: 301, location: `${elsewhere}/rules.txt` })
    .robots(10, 'User-agent: *\nDisallow: /private', { origin: elsewhere, path: '/rules.txt' })
    .visit(1_020, '/private')
  const report = scene.judge()
  expect(found(report)).toEqual({ disallowed: 1 })
  expect(report.hops).toEqual({ requests: 1, elsewhere: 1 })
  const within = new Scene()
    .visit(0, '/robots.txt', { status: 302, location: '/rules.txt' })
    .robots(10, '', { path: '/rules.txt' })
    .visit(1_010, '/a')
  expect(found(within.judge())).toEqual({ 'short-delay': 1 }) // counted from the end of the last hop, not before
})

test('a redirect of robots.txt that its visitor did not live to follow is not taken to be open until another follows it', () => {
  const elsewhere = 'http://elsewhere.test'
  const asked = { status: 302, location: `${elsewhere}/rules.txt` }
  const scene = new Scene()
    .visit(0, '/robots.txt', asked)
    .visit(70_000, '/robots.txt', asked)
    .robots(70_010, '', { origin: elsewhere, path: '/rules.txt' })
  expect(found(scene.judge())).not.toHaveProperty('robots-overlap')
  const both = new Scene()
    .visit(0, '/robots.txt', asked)
    .visit(20, '/robots.txt', { ...asked, agent: OTHER })
    .robots(30, '', { origin: elsewhere, path: '/rules.txt' })
    .robots(40, '', { origin: elsewhere, path: '/rules.txt', agent: OTHER })
  expect(found(both.judge({ agents: fleet() }))).toEqual({ 'robots-overlap': 1 })
})

test('more than five redirects of robots.txt read as no restriction', () => {
  const scene = new Scene()
  for (let hop = 0; hop < 6; hop++)
    scene.visit(hop * 10, hop === 0 ? '/robots.txt' : `/r${hop}`, { status: 301, location: `/r${hop + 1}` })
  expect(found(scene.visit(1_055, '/a').judge())).toEqual({})
})

test('a redirect of robots.txt out of the record: its pages are counted as not judged', () => {
  const scene = new Scene()
    .visit(0, '/robots.txt', { status: 301, location: 'https://unseen.test/robots.txt' })
    .visit(1_005, '/a')
  expect(scene.judge()).toMatchObject({ total: 0, unjudged: 1 })
})

test('a 304 to robots.txt renews the rules', () => {
  const scene = new Scene()
    .robots(0, 'User-agent: *\nDisallow: /private')
    .visit(20 * HOUR, '/robots.txt', { status: 304 })
    .visit(40 * HOUR, '/private')
  expect(found(scene.judge())).toEqual({ disallowed: 1 })
})

test('a robots.txt cut by its reader holds when it is longer than a reader must read, and is doubtful when shorter', () => {
  const long = `User-agent: *\nDisallow: /private\n${'#'.repeat(99)}\n`.padEnd(600_000, '# padding\n')
  expect(found(new Scene().robots(0, long, { cut: true }).visit(1_005, '/private').judge())).toEqual({ disallowed: 1 })
  const short = 'User-agent: *\nDisallow: /private'
  expect(found(new Scene().robots(0, short, { cut: true }).visit(1_005, '/a').judge())).toEqual({})
})

test('after an exchange that the visitor cut, the site may have noticed late; 25 ms are forgiven, no more', () => {
  const scene = (start: number) =>
    new Scene().robots(0, '').visit(2_000, '/a', { ms: 500, status: 0, cut: true }).visit(start, '/b')
  expect(found(scene(3_480).judge())).toEqual({})
  expect(found(scene(3_470).judge())).toEqual({ 'short-delay': 1 })
})

test('how late a site noticed is for its record to say', () => {
  const cut = { ms: 500, status: 0, cut: true }
  const scene = (late: number) =>
    new Scene()
      .robots(0, '')
      .visit(2_000, '/a', { ...cut, late })
      .visit(3_460, '/b')
  expect(found(scene(40).judge())).toEqual({})
  expect(found(scene(39).judge())).toEqual({ 'short-delay': 1 })
  const robots = (late: number) =>
    new Scene().visit(0, '/robots.txt', { ...cut, late }).visit(60_470, '/robots.txt', { status: 500 })
  expect(found(robots(30).judge())).toEqual({})
  expect(found(robots(29).judge())).toEqual({ 'robots-too-often': 1 })
})

test('lines of visitors outside the fleet are left out and counted', () => {
  const report = judgeRecord(new Scene().robots(0, '').visit(1_005, '/a', { agent: 'curl/8' }).evidence, {
    agents: (userAgent) =>
      userAgent === AGENT ? agentsOf({ profile: 'decorum', minDelayMs: 0, maxDelayMs: 0 })(userAgent) : undefined,
  })
  expect(report).toMatchObject({ requests: 1, leftOut: 1 })
})

test('all lines as one crawler: whatever it calls itself, it is one lane per origin', () => {
  const scene = new Scene().robots(0, '', { agent: 'Mozilla/5.0 (X11)' }).visit(400, '/a')
  const agents = agentsOf({ agent: 'testbot', profile: 'decorum', minDelayMs: 1_000, maxDelayMs: 10_000 })
  const report = judgeRecord(scene.evidence, { agents })
  expect(found(report)).toEqual({ 'short-delay': 1 })
  expect(report.lanes).toMatchObject([{ agent: 'testbot', origin: ORIGIN, requests: 2, robots: 1 }])
})

test('examples are bounded, counts are not', () => {
  const report = new Scene().robots(0, '').pages(1_005, 100, 10).judge({ examples: 3 })
  expect(report.violations['short-delay']).toBe(99)
  expect(report.examples).toHaveLength(3)
})
