/** The judge of a flood: each figure missed by hand. */
import type { Report, Violation } from '@decorum/audit'
import { expect, test } from 'vitest'
import type { HostileResult, Phase } from '../hostile.ts'
import { missedOf } from '../hostile-command.ts'

const phase = (more: Partial<Phase['use']> = {}, rate = 40): Phase => ({
  rate,
  leastRate: 1,
  load: 1,
  logins: { right: 1, refused: 0 },
  use: {
    rssBytes: new Map([['gateway-1', 100]]),
    loopMs: new Map([['gateway-1', 20]]),
    cpuMs: new Map(),
    redisShare: 0.5,
    redisBytes: 1,
    ...more,
  },
})
const result = (more: Partial<HostileResult> = {}): HostileResult => ({
  quiet: phase(),
  flooded: phase(),
  report: { examples: [] as Violation[] } as Report,
  lost: [],
  doubled: [],
  accepted: { polite: 1, poured: 1 },
  sites: {},
  callers: {},
  missing: [],
  replaced: [],
  troubles: new Map(),
  ...more,
})
const violation = { offence: 'overlap', origin: 'http://a.test', path: '/', because: 'two at once' } as Violation

test('a flood in which all figures are kept', () => {
  expect(missedOf(result())).toEqual([])
  expect(missedOf(result({ flooded: phase({ rssBytes: new Map([['gateway-1', 200]]), redisShare: 1 }, 36) }))).toEqual(
    [],
  )
})

test.each<[string, Partial<HostileResult>]>([
  ['polite sites kept 89.8 %', { flooded: phase({}, 35.9) }],
  ['gateway-1 has 2.1 × its quiet memory', { flooded: phase({ rssBytes: new Map([['gateway-1', 210]]) }) }],
  [
    'the event loop of gateway-1 took 501 ms at a stretch',
    { flooded: phase({ loopMs: new Map([['gateway-1', 501]]) }) },
  ],
  ['Redis used 101.0 % of its memory', { flooded: phase({ redisShare: 1.01 }) }],
  ['overlap: http://a.test/: two at once', { report: { examples: [violation] } as Report }],
  ['1 accepted candidates have no outcome: p1', { lost: ['p1'] }],
  ['1 candidates have several: p1', { doubled: ['p1'] }],
  ['there was none: robots', { missing: ['robots'] }],
  ['gateway-1 was ended and started again', { replaced: ['gateway-1'] }],
])('%s', (words, more) => {
  expect(missedOf(result(more))).toEqual([words])
})
