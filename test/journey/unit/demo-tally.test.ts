import { demoSites, demoTally, demoUrls, KINDS } from '@decorum/cli/testing'
import type { Outcome, OutcomeBody } from '@decorum/protocol'
import { expect, test } from 'vitest'

const fetched: OutcomeBody = {
  ...{ kind: 'fetched', status: 200, headers: [], bytes: 1, truncated: '', digest: 'sha1:x' },
  ...{ startedAt: 0, ms: 1, address: '127.0.0.1' },
}
const outcome = (id: string, url: string, body: OutcomeBody = fetched): Outcome => ({
  id,
  url,
  agent: 'demobot',
  at: 0,
  attempts: 1,
  ...body,
})
const URLS = ['http://a/1', 'http://a/2'].map((url) => ({ url, agent: 'demobot', expect: 'fetched' as const }))

test('complete when every URL has its outcome, and not before', () => {
  const state = demoTally(URLS)
  state.record(outcome('demo-1', 'http://a/1'))
  expect(state.complete).toBe(false)
  expect(state.waiting()).toEqual(['http://a/2'])
  state.record(outcome('demo-2', 'http://a/2'))
  expect(state.complete).toBe(true)
  expect(state.sums).toEqual({ urls: 2, targets: 0, outcomes: 2, byKind: { fetched: 2 }, wrong: [] })
})

test('a second outcome for one URL is a complaint', () => {
  const state = demoTally(URLS)
  for (let n = 0; n < 2; n++) state.record(outcome('demo-1', 'http://a/1'))
  expect(state.sums).toMatchObject({ outcomes: 1, wrong: ['http://a/1: a second outcome (fetched)'] })
})

test('another outcome than expected is a complaint', () => {
  const state = demoTally(URLS)
  state.record(outcome('demo-1', 'http://a/1', { kind: 'expired', reason: 'back-off' }))
  expect(state.sums.wrong).toEqual(['http://a/1: expired: back-off, where fetched was to be expected'])
})

test('a redirect adds its target, whichever outcome comes first', () => {
  for (const order of [0, 1]) {
    const state = demoTally([{ url: 'http://a/1', agent: 'demobot', expect: 'redirected' }])
    const both = [
      outcome('demo-1', 'http://a/1', {
        kind: 'redirected',
        status: 302,
        to: 'http://b/hidden',
        candidate: 'demo-1~1',
      }),
      outcome('demo-1~1', 'http://b/hidden', { kind: 'disallowed', rule: 'disallow: /', line: 2, group: ['*'] }),
    ]
    for (const one of order === 0 ? both : both.toReversed()) {
      expect(state.complete).toBe(false)
      state.record(one)
    }
    expect(state.complete).toBe(true)
    expect(state.sums).toMatchObject({ urls: 1, targets: 1, outcomes: 2, wrong: [] })
  }
})

test('the demo has at least forty sites of every kind that it speaks of, and names each once', () => {
  const sites = demoSites()
  expect(sites.length).toBeGreaterThanOrEqual(40)
  expect(new Set(sites.map(({ name }) => name)).size).toBe(sites.length)
  expect(new Set(KINDS.map(({ name }) => name)).size).toBe(KINDS.length)
  const origins = Object.fromEntries(sites.map(({ name }) => [name, `http://${name}`]))
  expect(demoUrls(origins).filter(({ url }) => url.includes('undefined'))).toEqual([])
})
