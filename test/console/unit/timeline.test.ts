/** The requests of an origin as dots and bars: which come of its notes, and which of them were too soon. */
import { isShort, requestsOf, timeline } from '@decorum/console/inside'
import type { Note } from '@decorum/ledger'
import { expect, test } from 'vitest'

const now = 1_800_000_000_000
/** A page whose exchange took 200 ms and ended so long ago. */
const fetched = (agoMs: number, more: Partial<NonNullable<Note['exchange']>> = {}): Note => ({
  at: now - agoMs,
  exchange: { agent: 'bot', endedAt: now - agoMs, ms: 200, owedMs: 1_000, ...more },
  ...{ what: 'outcome', kind: 'fetched', agent: 'Bot', url: 'http://a.example/page', id: 'i', status: 200 },
})
const titles = (text: string): string[] => [...text.matchAll(/<title>([^<]*)<\/title>/g)].map(([, title = '']) => title)

test('each exchange is one request with the wait before the next one, the oldest first', () => {
  const requests = requestsOf([fetched(1_000), fetched(2_400)]).get('bot')
  expect(requests?.map(({ startedAt, waitedMs }) => [now - startedAt, waitedMs])).toEqual([
    [2_600, 1_200],
    [1_200, undefined],
  ])
})

test('an exchange that an outcome and a back-off tell of is one request, and says the status', () => {
  const exchange = { agent: 'bot', endedAt: now - 1_000, ms: 200, owedMs: 1_000 }
  const backOff: Note = { at: now, exchange, what: 'back-off', cause: 'asked-for-less', agent: 'bot' }
  const outcome = { ...fetched(1_000), kind: 'failed', status: 503 } as Note
  for (const notes of [
    [backOff, outcome],
    [outcome, backOff],
  ])
    expect(
      requestsOf(notes)
        .get('bot')
        ?.map(({ what }) => what),
    ).toEqual(['/page: 503'])
})

test('lanes do not count for each other: two agents may ask at once', () => {
  const lanes = requestsOf([fetched(1_000), fetched(1_100, { agent: 'other' })])
  expect([...lanes.keys()].sort()).toEqual(['bot', 'other'])
  expect([...lanes.values()].flat().some(isShort)).toBe(false)
})

test('a wait that is too short is red, and named; one that is short by less than clocks differ is not', () => {
  const page = timeline([fetched(0), fetched(900), fetched(2_070)], now).text
  expect(page.match(/class="short"/g)).toHaveLength(1)
  expect(page).toContain('3 requests, 1 before the delay was over: the shortest wait was 0.7 s where 1 s was owed.')
  expect(titles(page).filter((title) => title.includes('owed'))).toHaveLength(3)
  const kept = timeline([fetched(0), fetched(1_170)], now).text
  expect(kept).not.toContain('class="short"')
  expect(kept).toContain(
    '2 requests, none before its delay was over: the closest came after 1.0 s, and had to wait 1 s.',
  )
})

test('where the site has consented to a shorter delay, no more is owed', () => {
  const notes = [fetched(0), fetched(700)]
  expect(timeline(notes, now).text).toContain('class="short"')
  expect(timeline(notes, now, 500).text).not.toContain('class="short"')
})

test('what is no exchange is no dot, and an origin without any says so', () => {
  const act: Note = { at: now, what: 'act', action: 'pause', by: 'ann', reason: '', value: '', until: 0 }
  expect(timeline([act], now).text).toContain('No request is noted.')
})

test('a path cannot bring markup into the picture', () => {
  const hostile = { ...fetched(0), url: 'http://a.example/"><script>' } as Note
  expect(timeline([hostile], now).text).not.toContain('<script>')
})
