/** The end of a crawl as people read it. */
import { NO_PAGES, placeOfPages, printSummary, summaryOf } from '@decorum/cli/testing'
import { expect, test } from 'vitest'

const about = {
  ending: 'finished',
  counts: { total: 1, done: 1, byKind: { fetched: 1 }, byReason: {} },
  fetched: 1,
  ms: 1_000,
  outcomes: 'out/outcomes.ndjson',
  stored: 'nowhere',
  goOn: 'decorum crawl --resume',
  giveUp: undefined,
} as const

test('a crawl of which nothing was requested is not called done', () => {
  const of = (byKind: Record<string, number>, total: number) =>
    printSummary(summaryOf({ ...about, ...NO_PAGES, counts: { total, done: total, byKind, byReason: {} } })).split(
      '\n',
    )[0]
  expect(of({ refused: 2, invalid: 1 }, 3)).toBe(
    'Nothing was requested: 3 URLs, each with its outcome, in 1 s (60 pages/min).',
  )
  expect(of({ refused: 2, fetched: 1 }, 3)).toMatch(/^Done: 3 URLs/)
  expect(of({ refused: 2, disallowed: 1 }, 3)).toMatch(/^Done: 3 URLs/)
})

test('pages in a folder, in a store, and nowhere', () => {
  const printed = (place: typeof NO_PAGES): string[] =>
    printSummary(summaryOf({ ...about, ...place }))
      .split('\n')
      .filter((line) => line.includes('pages  '))
  const of = (pageSink: string) => printed(placeOfPages({ pageSink, store: 's3://bucket/crawl/' }, 'out/pages'))
  expect(of('warc')).toEqual(['  pages     out/pages'])
  expect(of('s3')).toEqual(['  pages     s3://bucket/crawl/; what it has not taken yet is in out/pages'])
  expect(of('none')).toEqual([])
  expect(printed(NO_PAGES)).toEqual([])
})
