/** What a crawl says of itself: polite, backing off, held, or blind; and until when. */
import { type CrawlView, duration, type Site, sentenceOf, statusOf } from '@decorum/cli/testing'
import { expect, test } from 'vitest'

const site = (over: Partial<Site> = {}): Site => ({
  origin: 'http://a.example',
  waiting: 1,
  delayMs: 1_000,
  state: 'silent',
  failures: 0,
  opensInMs: 700,
  ...over,
})
const seen = (over: Partial<Extract<CrawlView, { kind: 'seen' }>> = {}): CrawlView => ({
  kind: 'seen',
  inFlight: 0,
  heldForMs: 0,
  sites: [site()],
  ...over,
})
const at = (view: CrawlView, done = 10, total = 20, donePerMinute?: number) =>
  statusOf({
    counts: { total, done, byKind: {}, byReason: {} },
    totalKnown: true,
    view,
    donePerMinute,
    pagesPerMinute: donePerMinute ?? 0,
  })

test('nothing in flight and every lane in its delay: polite, not stalled, with the lane that is due first', () => {
  const view = seen({
    sites: [site({ opensInMs: 5_000 }), site({ origin: 'http://b.example', delayMs: 10_000, clampedFrom: 100 })],
  })
  expect(at(view).note).toBe(
    "polite, not stalled: the next lane is due in 0.7 s (http://b.example: delay of 10 s between requests, clamped from the site's 100 s)",
  )
})

test.for([
  ['a request in flight', seen({ inFlight: 1 })],
  ['a lane that is open', seen({ sites: [site(), site({ state: 'open', opensInMs: 0 })] })],
] as const)('%s needs no excuse', ([, view]) => {
  expect(at(view).note).toBeUndefined()
})

test.for([
  [
    seen({ sites: [site({ state: 'backing-off', opensInMs: 60_000 })] }),
    'is due in 1 min (http://a.example: it asked for less (429 or 503) or to wait (Retry-After))',
  ],
  [seen({ sites: [site({ state: 'backing-off', failures: 2 })] }), 'it turned requests away (403) or did not answer'],
  [seen({ sites: [site({ state: 'no-robots' })] }), 'its robots.txt is unreachable'],
  [seen({ sites: [site({ state: 'paused' })] }), 'paused by the operator'],
  [seen({ heldForMs: 55_000 }), 'holding all lanes for 55 s: Redis was restarted'],
  [{ kind: 'unavailable' }, 'Redis does not answer; nothing new is sent until it does'],
] as const)('%o is said', ([view, words]) => {
  expect(at(view).note).toContain(words)
})

test('sites in back-off and without robots.txt are counted; a done crawl waits for nothing', () => {
  expect(at(seen({ sites: [site({ state: 'backing-off' }), site({ state: 'no-robots' }), site()] })).backingOff).toBe(2)
  expect(at(seen(), 20)).toMatchObject({ waiting: 0, inFlight: 0, note: undefined, etaMs: undefined })
})

test('the ETA is no sooner than the pace, nor than the delays of the site with most left', () => {
  expect(at(seen(), 10, 20, 60).etaMs).toBe(10_000)
  expect(at(seen({ sites: [site({ waiting: 9, delayMs: 10_000 })] }), 10, 20, 60).etaMs).toBe(80_700)
  expect(at(seen({ sites: [] })).etaMs).toBeUndefined()
})

test('on a shared fleet no more is called in flight than this crawl has left', () => {
  expect(at(seen({ inFlight: 500 }), 18)).toMatchObject({ inFlight: 2, waiting: 0 })
})

test('one line of numbers', () => {
  expect(sentenceOf(at(seen(), 10, 20, 60))).toBe(
    '10/20 done · 10 waiting · 0 in flight · 0 backing off · 60 pages/min · ETA 10 s',
  )
})

test.for([
  [0, '0 s'],
  [40, '0.1 s'],
  [900, '0.9 s'],
  [9_999, '10 s'],
  [61_000, '1 min 1 s'],
  [3_600_000, '1 h'],
  [90_061_000, '1 d 1 h'],
] as const)('%d ms reads %s', ([ms, words]) => {
  expect(duration(ms)).toBe(words)
})
