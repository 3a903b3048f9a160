/**
 * docs/spec/robots.md §6, row by row, end to end: one origin per answer to robots.txt, one agent per profile, a real gateway,
 * fetcher and Redis. What counts is what becomes of the pages behind it, and which of them the origin was asked for.
 */
import { gzipSync } from 'node:zlib'
import { main as fetcherMain } from '@decorum/fetcher'
import { main as gatewayMain } from '@decorum/gateway'
import { openLedgerWithViews } from '@decorum/ledger/views'
import { partitionTags } from '@decorum/protocol'
import { type ProfileName, policies } from '@decorum/robots'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { producer, watchOutcomes } from '../../gateway/support/outcomes.ts'
import { PATIENT } from '../../support/patient.ts'
import { redisForTest } from '../../support/redis.ts'
import { type Answering, answerOf, type RawOrigin, rawOrigin } from '../support/raw-origin.ts'

const redis = await redisForTest()
const PROFILES = Object.keys(policies) as ProfileName[]
/** A fleet of another test that visits a port which one of its own sites had before is not one of these agents. */
const OURS = `(+https://example.com/bot?${process.pid})`
/** All sites are ports of one host, and take turns at its clock: the first row is done about when the last one is. */
const settings = {
  REDIS_URL: redis.url,
  DECORUM_ALLOW_ADDRESSES: '127.0.0.0/8',
  DECORUM_AGENTS: JSON.stringify(
    PROFILES.map((profile) => ({
      name: nameOf(profile),
      userAgent: `${nameOf(profile)}/1 ${OURS}`,
      profile,
      minDelayMs: 0,
    })),
  ),
  DEFAULT_DELAY_MS: '0',
  FETCH_DEADLINE_MS: '5000', // a chain of redirects must fit in, also beside a busy neighbour
  // Nobody is asked again while the test runs, however long that takes.
  ROBOTS_RETRY_MS: '3600000',
  BACK_OFF_MS: '3600000',
  LOG_LEVEL: 'silent',
  FETCH_PROCESSES: '0', // in this process
}
function nameOf(profile: ProfileName): string {
  return `bot-${profile.replace(/[^a-z]/g, '')}${profile === 'google-2022' ? '-then' : ''}`
}

/** obey: /open is fetched, /shut is disallowed · open: both are fetched · wait: neither is, both wait. */
type Effect = 'obey' | 'open' | 'wait'
const all = (effect: Effect): Record<ProfileName, Effect> => ({
  decorum: effect,
  rfc9309: effect,
  google: effect,
  'google-2022': effect,
  coccoc: effect,
})
const RULES = 'User-agent: *\nDisallow: /shut\n'
const CUT = gzipSync(RULES.repeat(9)).subarray(0, -12)
const says =
  (status: number, headers: Record<string, string> = {}, body = ''): Answering =>
  (socket) =>
    void socket.write(answerOf(status, headers, body))

// oxfmt-ignore
const ROWS: Record<string, { robots: Answering; effects: Record<ProfileName, Effect> }> = {
  '200': { robots: says(200, {}, RULES), effects: all('obey') },
  '200, a web page': { robots: says(200, { 'content-type': 'text/html' }, '<html><p>Welcome</p>'), effects: all('open') },
  '200, empty': { robots: says(200), effects: all('open') },
  '201': { robots: says(201, {}, RULES), effects: { ...all('obey'), coccoc: 'open' } },
  '203': { robots: says(203, {}, RULES), effects: { ...all('obey'), coccoc: 'open' } },
  '206': { robots: says(206, {}, RULES), effects: { ...all('obey'), coccoc: 'open', decorum: 'wait' } },
  'one redirect': { robots: (socket, { path }) => void socket.write(path === '/robots.txt' ? answerOf(301, { location: '/rules' }) : answerOf(200, {}, RULES)), effects: all('obey') },
  'six redirects': { robots: (socket, { path }) => void socket.write(answerOf(302, { location: `${path}-` })), effects: all('open') },
  'a redirect to itself': { robots: says(302, { location: '/robots.txt' }), effects: { ...all('open'), decorum: 'wait', rfc9309: 'wait' } },
  'a redirect to ftp': { robots: says(302, { location: 'ftp://127.0.0.1/robots.txt' }), effects: { ...all('open'), decorum: 'wait', rfc9309: 'wait' } },
  'a redirect to a guarded address': { robots: says(302, { location: 'http://10.0.0.1/robots.txt' }), effects: { ...all('open'), decorum: 'wait', rfc9309: 'wait' } },
  'a redirect to a refused port': { robots: says(302, { location: 'http://127.0.0.1:25/robots.txt' }), effects: { ...all('open'), decorum: 'wait', rfc9309: 'wait' } },
  '400': { robots: says(400), effects: all('open') },
  '401': { robots: says(401), effects: all('open') },
  '403': { robots: says(403), effects: all('open') },
  '404': { robots: says(404), effects: all('open') },
  '410': { robots: says(410), effects: all('open') },
  '429': { robots: says(429), effects: { decorum: 'wait', rfc9309: 'open', google: 'wait', 'google-2022': 'wait', coccoc: 'open' } },
  '500': { robots: says(500), effects: { ...all('wait'), coccoc: 'open' } },
  '503': { robots: says(503), effects: { ...all('wait'), coccoc: 'open' } },
  '999': { robots: says(999), effects: { ...all('wait'), coccoc: 'open' } },
  '304 that nobody asked for': { robots: says(304), effects: all('wait') },
  'a reset': { robots: (socket) => void socket.resetAndDestroy(), effects: all('wait') },
  silence: { robots: () => {}, effects: all('wait') },
  'half a body': { robots: (socket) => void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nUser-agent: *\n'), effects: all('wait') },
  'broken chunks': { robots: (socket) => void socket.end('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nUser-agent: *\n'), effects: all('wait') },
  'a coding that is none': { robots: says(200, { 'content-encoding': 'gzip' }, RULES), effects: all('obey') },
  'a coding that has no end': { robots: (socket) => void socket.write(answerOf(200, { 'content-encoding': 'gzip' }, CUT)), effects: all('wait') },
  'another protocol': { robots: (socket) => void socket.end('220 mail ESMTP\r\n'), effects: all('wait') },
}

let services: { stop(): Promise<void> }[]
let ledger: Awaited<ReturnType<typeof openLedgerWithViews>>
let outcomes: ReturnType<typeof watchOutcomes>
const sites: Record<string, RawOrigin> = {}
const tags = partitionTags(1)

beforeAll(async () => {
  services = [await gatewayMain(settings), await fetcherMain(settings)]
  ledger = await openLedgerWithViews({ redis: redis.url, partitions: 1, ...PATIENT })
  outcomes = watchOutcomes(redis.url, tags)
  const queue = producer(redis.url, tags[0] as string)
  const candidates: object[] = []
  for (const [row, { robots }] of Object.entries(ROWS)) {
    const isPage = (path: string) => path === '/open' || path === '/shut'
    const site = await rawOrigin((socket, asked, nth) =>
      isPage(asked.path) ? void socket.write(answerOf(200, {}, 'page')) : robots(socket, asked, nth),
    )
    sites[row] = site
    for (const profile of PROFILES) {
      for (const path of ['/open', '/shut'])
        candidates.push({ id: `${row} ${profile} ${path}`, url: site.origin + path, agent: nameOf(profile) })
    }
  }
  await queue.add('candidates', { candidates })
  await queue.close()
})
afterAll(async () => {
  for (const service of services) await service.stop()
  await ledger.close()
  outcomes.close()
})

const kindOf = async (id: string): Promise<string | undefined> =>
  (await outcomes.all()).find((one) => one.id === id)?.kind
const waits = async (row: string, profile: ProfileName) => {
  const view = await ledger.viewOrigin(sites[row]?.origin ?? '', [nameOf(profile)])
  return view.lanes.map(({ waiting, heldBy, state }) => ({ waiting, heldBy, state }))
}

describe.each(Object.keys(ROWS))('robots.txt answers with %s', (row) => {
  test.each(PROFILES)('%s', async (profile) => {
    const effect = ROWS[row]?.effects[profile]
    const pages = () =>
      sites[row]?.asked
        .filter(
          ({ head, path }) =>
            path !== '/robots.txt' && head.includes(`${nameOf(profile)}/1`) && /^\/(open|shut)$/.test(path),
        )
        .map(({ path }) => path)
    if (effect === 'wait') {
      await expect
        .poll(() => waits(row, profile))
        .toEqual([{ waiting: 2, heldBy: 'robots-unreachable', state: 'waiting' }])
      expect(pages()).toEqual([])
      return
    }
    await expect.poll(() => kindOf(`${row} ${profile} /open`)).toBe('fetched')
    await expect.poll(() => kindOf(`${row} ${profile} /shut`)).toBe(effect === 'obey' ? 'disallowed' : 'fetched')
    expect(pages()?.toSorted()).toEqual(effect === 'obey' ? ['/open'] : ['/open', '/shut'])
  })
})

test('each origin was asked for its robots.txt once, for all five agents, and before any page', () => {
  for (const [row, { asked }] of Object.entries(sites)) {
    const ours = asked.filter(({ head }) => head.includes(OURS))
    const first = ours.filter(({ path }) => path === '/robots.txt')
    expect(first, `robots.txt of ${row}: ${JSON.stringify(asked)}`).toHaveLength(1)
    expect(ours[0]?.path).toBe('/robots.txt')
  }
})
