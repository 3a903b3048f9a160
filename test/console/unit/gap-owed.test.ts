/** How long a lane keeps silent, and who decided it. */
import type { OriginView } from '@decorum/ledger'
import { expect, test } from 'vitest'
import { gapOwed, gapSentence } from '../../../services/console/src/gap-owed.ts'

const agent = { key: 'bot', minGapMs: 1_000 }
const origin = (more: Partial<OriginView>): OriginView => ({
  origin: 'http://a.example',
  version: 1,
  state: { answer: { kind: 'ok', at: 1, jitter: 0 } },
  gaps: [],
  lanes: [],
  now: 10,
  ...more,
})
const rules = (gapMs: number, clampedFrom?: number) => [
  { agent: 'other', gapMs: 9_999 },
  { agent: 'bot', gapMs, ...(clampedFrom === undefined ? {} : { clampedFrom }) },
]
const byHand = (gapMs: number) => ({ gapMs, until: 99, reason: 'small host' })

test('an agent that rests in proportion says so beside it', () => {
  const adaptive = { factor: 5, floorMs: 0, capMs: 10_000 }
  const gap = gapOwed(origin({ gaps: rules(3_000) }), { ...agent, adaptiveGap: adaptive })
  expect(gap).toEqual({ gapMs: 3_000, from: 'crawl-delay', adaptive })
  expect(gapSentence(gap, origin({}))).toBe(
    "3 s, the site's crawl-delay; 5 × the answer when that is longer, up to 10 s",
  )
})

test.for([
  ['nothing known yet', { state: {} }, { gapMs: 1_000, from: 'floor' }, "1 s, the agent's own until there are rules"],
  ['rules that ask for none', { gaps: rules(1_000) }, { gapMs: 1_000, from: 'floor' }, "1 s, the agent's own"],
  ['the site’s delay', { gaps: rules(3_000) }, { gapMs: 3_000, from: 'crawl-delay' }, "3 s, the site's crawl-delay"],
  [
    'a delay above the cap',
    { gaps: rules(10_000, 60) },
    { gapMs: 10_000, from: 'cap', clampedFrom: 60 },
    '10 s, clamped: the site asks for 1 min',
  ],
  [
    'a longer one by hand',
    { gaps: rules(10_000, 60), override: byHand(30_000) },
    { gapMs: 30_000, from: 'operator', clampedFrom: 60 },
    '30 s, set by hand: small host (the site asks for 1 min)',
  ],
  [
    'a shorter one by hand never counts',
    { gaps: rules(3_000), override: byHand(2_000) },
    { gapMs: 3_000, from: 'crawl-delay' },
    "3 s, the site's crawl-delay",
  ],
] as const)('%s', ([, more, owed, sentence]) => {
  const view = origin(more)
  expect(gapOwed(view, agent)).toEqual(owed)
  expect(gapSentence(gapOwed(view, agent), view)).toBe(sentence)
})
