/** What is put into the page is text, whatever a site or a frontier called itself. */

import { count, endOf, html, length, Pace, some } from '@decorum/console/inside'
import { expect, test } from 'vitest'

test('values are escaped in text and in attributes; markup of the same template is not', () => {
  const inner = html`<b>${'<script>"x" & \'y\'</script>'}</b>`
  expect(html`<p title="${'"><img>'}">${[inner, inner]}${false}${undefined}${0}</p>`.text).toBe(
    '<p title="&#34;&#62;&#60;img&#62;"><b>&#60;script&#62;&#34;x&#34; &#38; &#39;y&#39;&#60;/script&#62;</b><b>&#60;script&#62;&#34;x&#34; &#38; &#39;y&#39;&#60;/script&#62;</b>0</p>',
  )
})

test('what turns the direction of text, or cannot be seen, is shown as an escape', () => {
  expect(html`<td>${'https://a.example/\u202egpj.exe\u200b\u0007'}</td>`.text).toBe(
    '<td>https://a.example/\\u202egpj.exe\\u200b\\u0007</td>',
  )
})

test('lengths of time read as a person says them', () => {
  const said = [0, 40, 800, 2_500, 9_990, 59_400, 60_000, 200_000, 3_599_600, 7_500_000, 90_000_000].map(length)
  expect(said).toEqual([
    '0 s',
    '0.04 s',
    '0.8 s',
    '2.5 s',
    '10 s',
    '59 s',
    '1 min',
    '3 min 20 s',
    '1 h',
    '2 h 5 min',
    '1 d 1 h',
  ])
})

test('counts are grouped by three and agree with their noun', () => {
  expect(count(1_234_567)).toBe('1\u202f234\u202f567')
  expect([some(1, 'URL'), some(0, 'URL'), some(2, 'lane')]).toEqual(['1 URL', '0 URLs', '2 lanes'])
})

test('a crawl ends when its URLs have ended at the pace of the last minute; else no instant is named', () => {
  const pace = new Pace()
  const crawl = (waiting: number, fetched: number, state: 'running' | 'paused' = 'running') => ({
    ...{ name: 'news', waiting, unread: 0, unreadInOne: 0, counts: { fetched }, bytes: 0 },
    record: { version: 1, weight: 1, state, at: 0, by: '', reason: '' },
  })
  expect(endOf(crawl(100, 0), pace).sentence).toBe('none is known yet')
  for (let second = 0; second <= 60; second += 2) pace.addCrawls([crawl(1_000, second * 10)], second * 1_000)
  expect(endOf(crawl(1_200, 600), pace)).toMatchObject({ short: '2 min', perMinute: 600 })
  expect(endOf(crawl(1_200, 600, 'paused'), pace)).toMatchObject({
    short: '–',
    sentence: 'none is known while it is paused',
  })
  expect(endOf(crawl(0, 600), pace).sentence).toBe('no URL waits')
})

test('the pace is that of the last minute, and begins anew when the counts fall', () => {
  const pace = new Pace()
  expect(pace.perMinute()).toBeUndefined()
  for (let second = 0; second <= 120; second += 2)
    pace.add(second < 60 ? second : 60 + (second - 60) * 10, second * 1_000)
  expect(pace.perMinute()).toBeCloseTo(600)
  expect(pace.series().at(-1)).toBeCloseTo(10)
  expect(pace.series()).toHaveLength(60)
  pace.add(5, 122_000)
  expect(pace.perMinute()).toBeUndefined()
  pace.add(7, 124_000)
  expect(pace.perMinute()).toBeCloseTo(60)
})
