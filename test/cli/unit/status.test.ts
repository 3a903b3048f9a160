/** What a crawl says of itself: polite, backing off, held, or blind; and until when. */
import { type CrawlView, type Site, sentenceOf, statusOf } from '@decorum/cli/testing'
import { expect, test } from 'vitest'

const site = (over: Partial<Site> = {}): Site => ({
  origin: 'http://a.example',
  waiting: 1,
  delayMs: 1_000,
  why: { state: 'delay', sentence: 'waits for its delay to end' },
  isBackingOff: false,
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
    sites: [site({ opensInMs: 5_000 }), site({ origin: 'http://b.example' })],
  })
  expect(at(view).note).toBe(
    'polite, not stalled: the next lane is due in 0.7 s (http://b.example: waits for its delay to end)',
  )
})

test.for([
  ['a request in flight', seen({ inFlight: 1 })],
  ['a lane that is due', seen({ sites: [site(), site({ why: { state: 'due', sentence: '' }, opensInMs: 0 })] })],
  ['a site without a lane', seen({ sites: [site(), site({ why: undefined, opensInMs: 0 })] })],
] as const)('%s needs no excuse', ([, view]) => {
  expect(at(view).note).toBeUndefined()
})

test.for([
  [seen({ heldForMs: 55_000 }), 'holding all lanes for 55 s: Redis was restarted'],
  [{ kind: 'unavailable' }, 'Redis does not answer; nothing new is sent until it does'],
] as const)('%o is said', ([view, words]) => {
  expect(at(view).note).toContain(words)
})

test('sites in back-off and without robots.txt are counted; a done crawl waits for nothing', () => {
  expect(at(seen({ sites: [site({ isBackingOff: true }), site({ isBackingOff: true }), site()] })).backingOff).toBe(2)
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
