/** The keys of indexes are those of the library that pywb, cdxj-indexer and outbackcdx look URLs up by; surt-cases.json was written by it. */

import { surtOf, uriOf } from '@decorum/fetcher/testing'
import { expect, test } from 'vitest'
import cases from './surt-cases.json' with { type: 'json' }

const CASES = cases as [url: string, key: string][]

test('thousands of odd URLs have the keys that PyPI `surt` makes of them', () => {
  expect(CASES.length).toBeGreaterThan(3_000)
  expect(CASES.filter(([url, key]) => surtOf(url) !== key)).toEqual([])
})

test('the URI of a URL has its key, is a URI as of RFC 3986, and is its own URI', () => {
  const URI =
    /^https?:\/\/([\w.~!$&'()*+,;=:%@-]+|(\w+:?\w*@)?\[[\da-f:]+\](:\d+)?)(\/([\w.~!$&'()*+,;=:@/-]|%[\da-f]{2})*)(\?([\w.~!$&'()*+,;=:@/?-]|%[\da-f]{2})*)?$/i
  for (const [url, key] of CASES) {
    const uri = uriOf(url)
    expect(uri).toMatch(URI)
    expect([surtOf(uri), uriOf(uri)]).toEqual([key, uri])
  }
  expect(CASES.filter(([url]) => uriOf(url) !== url).length).toBeGreaterThan(100)
})

test('what is escaped a thousand times is unescaped to its end', () => {
  expect(surtOf(`http://example.com/%${'25'.repeat(4_000)}41`)).toBe('com,example)/a')
})
