/** The results page keeps what was not run again. */
import { expect, test } from 'vitest'
import { median, round, spread, table } from '../../../bench/frame/figures.ts'
import { withResult } from '../../../bench/frame/results-page.ts'

const relay = { key: 'relay', name: 'Relay', when: 'today', conditions: 'here', lines: ['one'] }
const lanes = { key: 'lanes', name: 'Lanes', when: 'today', conditions: 'here', lines: ['## not a section', 'two'] }

test('a bench that ran again replaces its own section alone', () => {
  const first = withResult(withResult('', relay), lanes)
  expect(first.indexOf('## Lanes')).toBeLessThan(first.indexOf('## Relay'))
  const again = withResult(first, { ...relay, lines: ['three'] })
  expect(again).toContain('## not a section\ntwo')
  expect(again).toContain('three')
  expect(again).not.toContain('one\n')
  expect(withResult(again, { ...relay, lines: ['three'] })).toBe(again)
})

test('medians and spreads', () => {
  expect(median([3, 1, 2])).toBe(2)
  expect(median([4, 1, 2, 3])).toBe(2.5)
  expect(() => median([])).toThrow(RangeError)
  expect(spread([1, 10_000, 20], 0)).toBe('20 (1–10,000)')
  expect(round(1_234.567, 2)).toBe('1,234.57')
  expect(table(['a', 'b'], [['x', '1']])).toEqual(['| a | b |', '| --- | ---: |', '| x | 1 |'])
})
