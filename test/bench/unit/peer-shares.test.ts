/** What the bench of peers calls a share of the permitted rate, by exchanges that can be added up by hand. */
import type { RequestLine } from '@decorum/audit'
import { expect, test } from 'vitest'
import { shareOfAsked, shareOfSites } from '../../../bench/peers/share.ts'
import { arrange } from '../../../bench/peers/sites.ts'

const ORIGIN = 'http://s0.test:8000'
const owed = (_host: string, status: number): number => (status === 429 ? 2_000 : 200)
const visit = (path: string, start: number, end: number, status = 200): RequestLine => ({
  kind: 'request',
  origin: ORIGIN,
  agent: 'peerbot/1',
  method: 'GET',
  path,
  start,
  end,
  status,
})
const arrival = (path: string, at: number, end: number) => ({ url: ORIGIN + path, at, end })

test('a visitor that comes the moment it may uses all of the rate, one that comes sooner more, one that idles less', () => {
  const visits = (gapMs: number): RequestLine[] => [visit('/a', 0, 100), visit('/b', 100 + gapMs, 200 + gapMs)]
  expect(shareOfSites(visits(200), [ORIGIN], owed)).toBe(1)
  expect(shareOfSites(visits(0), [ORIGIN], owed)).toBe(2)
  expect(shareOfSites(visits(600), [ORIGIN], owed)).toBe(0.5)
})

test('time is lost while a request waits at the proxy and its site permits it, and not while nobody asks', () => {
  const visits = [visit('/robots.txt', 0, 100), visit('/a', 300, 400), visit('/b', 700, 800)]
  const [early, late] = [arrival('/b', 350, 800), arrival('/b', 690, 800)]
  const first = arrival('/a', 0, 400)
  expect(shareOfAsked(visits, [ORIGIN], [first, early], owed)).toBeCloseTo(600 / 700)
  expect(shareOfAsked(visits, [ORIGIN], [first, late], owed)).toBeCloseTo(600 / 610)
})

test('Retry-After is owed, and the wait for the first request counts', () => {
  const visits = [visit('/robots.txt', 50, 100), visit('/a', 300, 400, 429), visit('/b', 2_400, 2_500)]
  const arrivals = [arrival('/a', 0, 400), arrival('/b', 350, 2_500)]
  expect(shareOfAsked(visits, [ORIGIN], arrivals, owed)).toBeCloseTo(2_350 / 2_400)
})

test('a seed arranges the same web each time, and another seed another one', () => {
  const [one, again, other] = [arrange(1, false), arrange(1, false), arrange(2, false)]
  expect(again.pages).toEqual(one.pages)
  expect(again.sites).toEqual(one.sites)
  expect(other.pages).not.toEqual(one.pages)
  expect(one.pages.filter(({ isAllowed }) => isAllowed)).toHaveLength(80)
})
