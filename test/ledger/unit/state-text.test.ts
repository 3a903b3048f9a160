/** Robots states as the ledger stores them. */

import { readState, writeState } from '@decorum/ledger/testing'
import { type RobotsEvent, type RobotsState, step, unknownOrigin } from '@decorum/robots'
import fc from 'fast-check'
import { expect, test } from 'vitest'

const NOW = 1_800_000_000_000
const hash = '0123456789abcdef0123456789abcdef'

const answered = (more: object = {}): RobotsEvent => ({ kind: 'answered', status: 200, hash, jitter: 0.25, ...more })

test('a file that has answered well, once or each day for years, fits the compact hash of Redis', () => {
  let state = unknownOrigin
  for (let day = 0; day < 3_000; day++) {
    state = step(state, answered({ jitter: 0.9999 }), NOW + day * 86_400_000)
    expect(writeState(state).length).toBeLessThanOrEqual(64)
  }
  expect(readState(writeState(state))).toEqual({ ...state, answer: { ...state.answer, jitter: 0.999 } })
})

test('whatever happened to an origin, what is read is what was written', () => {
  const event = fc.oneof(
    fc.constantFrom<RobotsEvent>(answered(), answered(), answered({ freshForMs: 60_000 }), answered({ etag: '"x"' })),
    fc.constantFrom<RobotsEvent>(
      answered({ hash: 'not hexadecimal' }),
      answered({ status: 206 }),
      answered({ status: 503 }),
    ),
    fc.constantFrom<RobotsEvent>({ kind: 'unanswered', reason: 'timeout', jitter: 0.5 }, { kind: 'site-answered' }),
    fc.constantFrom<RobotsEvent>(answered({ status: 304 }), answered({ status: 404, retryAfterMs: 9 })),
  )
  const history = fc.array(fc.tuple(event, fc.oneof(fc.nat(10 ** 9), fc.constantFrom(0, 0.5))), { maxLength: 6 })
  fc.assert(
    fc.property(history, (events) => {
      let [state, now]: [RobotsState, number] = [unknownOrigin, NOW]
      for (const [one, pause] of events) {
        now += pause
        state = step(state, one, now)
      }
      expect(readState(writeState(state))).toEqual(JSON.parse(JSON.stringify(state)))
    }),
  )
})
