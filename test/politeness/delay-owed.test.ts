/** The delay of a lane as the ledger knows it, and what decided it. */
import type { OriginView } from '@decorum/ledger/views'
import { delayOwed, delaySentence } from '@decorum/politeness'
import { expect, test } from 'vitest'

const length = (ms: number): string => (ms < 60_000 ? `${ms / 1_000} s` : `${ms / 60_000} min`)
const agent = { key: 'bot', minDelayMs: 1_000 }
const origin = (more: Partial<OriginView>): OriginView => ({
  origin: 'http://a.example',
  version: 1,
  state: { answer: { kind: 'ok', at: 1, jitter: 0 }, copy: { kind: 'ok', hash: 'h', at: 1 } },
  delays: [],
  lanes: [],
  now: 10,
  ...more,
})
const rules = (delayMs: number, clampedFrom?: number) => [
  { agent: 'other', delayMs: 9_999 },
  { agent: 'bot', delayMs, ...(clampedFrom === undefined ? {} : { clampedFrom }) },
]
const byHand = (delayMs: number) => ({ delayMs, until: 99, reason: 'small host' })

test('an agent that rests in proportion says so beside it', () => {
  const adaptive = { factor: 5, floorMs: 0, capMs: 10_000 }
  const delay = delayOwed(origin({ delays: rules(3_000) }), { ...agent, adaptiveDelay: adaptive })
  expect(delay).toEqual({ delayMs: 3_000, from: 'crawl-delay', adaptive })
  expect(delaySentence(delay, origin({}), length)).toBe(
    "3 s, the site's crawl-delay; 5 × the answer when that is longer, up to 10 s",
  )
})

test.for([
  ['nothing known yet', { state: {} }, { delayMs: 1_000, from: 'floor' }, "1 s, the agent's own until there are rules"],
  ['rules that ask for none', { delays: rules(1_000) }, { delayMs: 1_000, from: 'floor' }, "1 s, the agent's own"],
  ['rules that ask for none at all', { delays: rules(0) }, { delayMs: 1_000, from: 'floor' }, "1 s, the agent's own"],
  [
    'a shorter one of the site, and one that was the agent’s before it was raised',
    { delays: rules(300, 60) },
    { delayMs: 1_000, from: 'floor' },
    "1 s, the agent's own",
  ],
  [
    'the site’s delay',
    { delays: rules(3_000) },
    { delayMs: 3_000, from: 'crawl-delay' },
    "3 s, the site's crawl-delay",
  ],
  [
    'the delay of rules that the site has no longer',
    { delays: rules(3_000), state: { answer: { kind: 'missing', at: 1, jitter: 0 } } },
    { delayMs: 3_000, from: 'crawl-delay' },
    '3 s, as its robots.txt asked before',
  ],
  [
    'a delay above the cap',
    { delays: rules(10_000, 60) },
    { delayMs: 10_000, from: 'cap', clampedFrom: 60 },
    '10 s, clamped: the site asks for 1 min',
  ],
  [
    'a longer one by hand',
    { delays: rules(10_000, 60), override: byHand(30_000) },
    { delayMs: 30_000, from: 'operator', clampedFrom: 60 },
    '30 s, set by hand: small host (the site asks for 1 min)',
  ],
  [
    'a shorter one by hand never counts',
    { delays: rules(3_000), override: byHand(2_000) },
    { delayMs: 3_000, from: 'crawl-delay' },
    "3 s, the site's crawl-delay",
  ],
  [
    'a longer one of the policy of its site',
    { delays: rules(3_000), policy: { site: '*.example', delayMs: 5_000 } },
    { delayMs: 5_000, from: 'policy' },
    '5 s, by the policy for *.example',
  ],
  [
    'a shorter one of a policy without consent',
    { delays: rules(3_000), policy: { site: '*.example', delayMs: 2_000 } },
    { delayMs: 3_000, from: 'crawl-delay' },
    "3 s, the site's crawl-delay",
  ],
  [
    'what the site has consented to',
    { delays: rules(10_000, 60), policy: { site: 'a.example', delayMs: 100, consent: 'ann wrote so' } },
    { delayMs: 100, from: 'consent', clampedFrom: 60 },
    '0.1 s, by the policy for a.example, with consent: ann wrote so (the site asks for 1 min)',
  ],
  [
    'one by hand that is longer than the consent',
    { override: byHand(2_000), policy: { site: 'a.example', delayMs: 100, consent: 'ann wrote so' } },
    { delayMs: 2_000, from: 'operator' },
    '2 s, set by hand: small host',
  ],
] as const)('%s', ([, more, owed, sentence]) => {
  const view = origin(more)
  expect(delayOwed(view, agent)).toEqual(owed)
  expect(delaySentence(delayOwed(view, agent), view, length)).toBe(sentence)
})
