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
