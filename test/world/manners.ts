/** Sites of every manner, drawn from the seed. */
import { SECOND } from '@decorum/protocol'
import type { Dice } from './dice.ts'
import type { Answer, Site } from './sites.ts'
import { START } from './timeline.ts'

const page = (serveMs: number): Answer => ({
  status: 200,
  headers: { 'content-type': 'text/html' },
  body: '<p>a page',
  serveMs,
})
const rules =
  (body: string, serveMs = 5) =>
  (): Answer => ({
    status: 200,
    headers: { 'content-type': 'text/plain' },
    body,
    serveMs,
  })

/** The first sites are those that others lead to. */
const REDIRECTED_TO = 6
/** One of them has another port, whose lane is not that of the host. */
const WITH_PORT = 4
const OTHER_PORT = ':8443'
const TARGETS = [
  ...Array.from({ length: REDIRECTED_TO }, (_, n) => `https://site-${n}.test`),
  `https://site-${WITH_PORT}.test${OTHER_PORT}`,
]

type Page = (path: string, dice: Dice) => Answer
type Manner = {
  /** @param times  that it was asked for before */
  robots: (dice: Dice, times: number) => Answer
  page: Page
  /** what robots.txt asks for between two requests, ms */
  delayMs?: number
  /** of an exchange, on average, ms */
  takesMs?: number
  connectMs?: (dice: Dice) => number
  opensAt?: number
}

const usual = (_: string, dice: Dice): Answer => page(dice.between(2, 60))
const OPEN = rules('User-agent: *\nDisallow: /private\n')

const nowAndThen =
  (times: number, answer: Answer) =>
  (path: string, dice: Dice): Answer =>
    dice.below(times) === 0 ? answer : usual(path, dice)

const LESS: Answer = { status: 429, headers: { 'retry-after': '6' }, serveMs: 5 }
/** A lease is confirmed before the first byte when that took long. */
function slowConnect(dice: Dice): number {
  return dice.below(3) === 0 ? dice.pick([1_100, 4_900]) * dice.next() : 0
}
/** In worlds of odd sites so many connect slowly besides. */
const SLOW_CONNECT = 0.15
const ODD = 0.1
const FAILS_AT_FIRST = 'its robots.txt fails at first'
const ELSEWHERE = 'its robots.txt is elsewhere'
const ANOTHER_FILE = 'its robots.txt is another file'
/** Only by a clock of Redis that is right it opens in time. */
const OPENS_LATER = 'lets nobody in at first'
const OPENS_AT = 60 * SECOND * Math.ceil((START + 40 * SECOND) / (60 * SECOND))
const hhmm = (at: number): string => new Date(at).toISOString().slice(11, 16).replace(':', '')
const MANNERS: Record<string, Manner> = {
  plain: { robots: OPEN, page: usual },
  'no robots.txt': { robots: () => ({ status: 404, serveMs: 3 }), page: usual },
  'asks for three seconds': {
    robots: rules('User-agent: *\nCrawl-delay: 3\n'),
    page: usual,
    delayMs: 3_000,
  },
  'connects slowly': { robots: OPEN, page: usual, connectMs: slowConnect, takesMs: 900 },
  [OPENS_LATER]: {
    robots: rules(`User-agent: *\nVisit-time: ${hhmm(OPENS_AT)}-${hhmm(OPENS_AT + 3_600 * SECOND)}\n`),
    page: usual,
    opensAt: OPENS_AT,
  },
  slow: { robots: OPEN, page: (_, dice) => page(dice.between(500, 9_000)), takesMs: 4_750 },
  // Longer than short leases and their quarantine: whoever holds on to one that is over overlaps with the next request
  'takes its time now and then': {
    robots: OPEN,
    page: (path, dice) => nowAndThen(12, page(dice.between(12_000, 29_000)))(path, dice),
    takesMs: 1_700,
  },
  'never answers now and then': { robots: OPEN, page: nowAndThen(25, page(300_000)), takesMs: 1_200 },
  'hangs up now and then': { robots: OPEN, page: nowAndThen(20, { status: 0, serveMs: 20 }) },
  'asks for less now and then': {
    robots: OPEN,
    page: nowAndThen(25, { status: 429, headers: { 'retry-after': '7' }, serveMs: 5 }),
    takesMs: 250,
  },
  'asks to wait beside a page now and then': {
    robots: OPEN,
    page: nowAndThen(25, { ...page(5), headers: { 'content-type': 'text/html', 'retry-after': '5' } }),
    takesMs: 250,
  },
  'its robots.txt asks for less later': {
    // Twice at most: each failure in a row doubles the pause
    robots: (dice, times) => (times > 0 && times < 3 && dice.below(2) === 0 ? LESS : OPEN()),
    page: usual,
  },
  'is overloaded now and then': { robots: OPEN, page: nowAndThen(60, { status: 503, serveMs: 5 }), takesMs: 1_000 },
  'turns requests away': { robots: OPEN, page: nowAndThen(4, { status: 403, serveMs: 5 }), takesMs: 500 },
  'redirects its first pages': {
    robots: OPEN,
    page: (path, dice) =>
      /^\/[0-4]$/.test(path)
        ? {
            status: 302,
            headers: { location: `/to${path}`, ...(dice.below(2) === 0 && { 'retry-after': '6' }) },
            serveMs: 5,
          }
        : path === '/5'
          ? { status: 302, headers: { location: '/5' }, serveMs: 5 }
          : usual(path, dice),
  },
  [FAILS_AT_FIRST]: {
    // Each failure doubles the time until the next try: the fifth would come after the end of a run
    robots: (dice, times) => (times < 2 && dice.below(2) === 0 ? { status: 500, serveMs: 5 } : OPEN()),
    page: usual,
    takesMs: 500,
  },
  'its robots.txt is slow': { robots: rules('User-agent: *\nDisallow: /private\n', 6_000), page: usual },
  [ELSEWHERE]: {
    robots: (dice) => ({
      status: 302,
      headers: { location: `${dice.pick(TARGETS)}/robots.txt` },
      serveMs: 5,
    }),
    page: usual,
    takesMs: 500,
  },
  [ANOTHER_FILE]: {
    robots: () => ({ status: 301, headers: { location: '/rules.txt' }, serveMs: 5 }),
    page: (path, dice) => (path === '/rules.txt' ? (dice.below(5) === 0 ? LESS : OPEN()) : usual(path, dice)),
    takesMs: 200,
  },
  'its robots.txt leads to a forbidden page later': {
    // Twice at most: each failure in a row doubles the pause
    robots: (dice, times) =>
      times > 0 && times < 3 && dice.below(2) === 0
        ? {
            status: 302,
            headers: { location: `https://site-${dice.below(REDIRECTED_TO)}.test/private/rules` },
            serveMs: 5,
          }
        : OPEN(),
    page: usual,
  },
}
const NAMES = Object.keys(MANNERS)
/** The share of sites that are like others: lanes are to be busy. */
export const PLAIN = 0.67

/** Least delay of the agent, ms; the sites ask for theirs on top of it. */
export const DELAY_MS = 1_000

/** Each host has one of its own, but for three that are one machine. */
const ONE_MACHINE = [8, 9, 10]
export const addressOf = (index: number): string => {
  const at = ONE_MACHINE.includes(index) ? (ONE_MACHINE[0] as number) : index
  return `203.0.${113 + (at >> 8)}.${at & 255}`
}

/**
 * @param isSteady  the clock of Redis never leaps
 * @param plain     so many of all sites have nothing about them, [0, 1]
 * @param manners   how the others are
 */
export function siteOf(
  index: number,
  dice: Dice,
  isSteady: boolean,
  { plain = PLAIN, manners = NAMES }: { plain?: number | undefined; manners?: readonly string[] | undefined },
): Site {
  const any = dice.next() < plain ? 'plain' : dice.pick(manners)
  const drawn = any === OPENS_LATER && !isSteady ? 'plain' : any
  // The judge takes the last answer to a robots.txt for the one in force, also one that a redirect of another site has led to; the fleet
  // goes on under a fresh copy (docs/spec/robots.md §6). Of two robots fetches that lead to one file it cannot tell which of them a request for that file follows
  const isChanging = drawn === FAILS_AT_FIRST || drawn === ELSEWHERE || drawn === ANOTHER_FILE
  const name = index < REDIRECTED_TO && isChanging ? 'plain' : drawn
  const manner = MANNERS[name] as Manner
  const host = `site-${index}.test`
  // Some hosts have two ports, which share their pace; most are https, whose lane is their host's
  const origin = dice.below(8) === 0 && index >= REDIRECTED_TO ? `http://${host}` : `https://${host}`
  const hasPort = dice.next() < (1 - plain) / 4 || index === WITH_PORT
  const others = hasPort ? [`https://${host}${OTHER_PORT}`] : []
  const delayMs = Math.max(DELAY_MS, manner.delayMs ?? 0)
  const isSlow = plain <= ODD && manner.connectMs === undefined && dice.next() < SLOW_CONNECT
  const connectMs = isSlow ? slowConnect : manner.connectMs
  return {
    host,
    address: addressOf(index),
    manner: name,
    origins: [origin, ...others],
    delayMs,
    everyMs: delayMs + (manner.takesMs ?? 35) + (isSlow ? 865 : 0),
    ...(connectMs && { connectMs }),
    ...(manner.opensAt === undefined ? {} : { opensAt: manner.opensAt }),
    answer: (path, own, times) => (path === '/robots.txt' ? manner.robots(own, times) : manner.page(path, own)),
  }
}
