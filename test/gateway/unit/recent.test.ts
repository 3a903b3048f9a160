/** A bounded memory of the latest entries. */
import { Recent } from '@decorum/politeness/admission'
import { expect, test } from 'vitest'

test('the latest half of its bound is always known, more than its bound never', () => {
  const recent = new Recent<number, number>(100)
  for (let n = 0; n < 1_000; n++) {
    recent.set(n, n + 1)
    for (let back = 0; back < 50 && back <= n; back++) expect(recent.get(n - back)).toBe(n - back + 1)
    if (n >= 100) expect(recent.get(n - 100)).toBeUndefined()
  }
})

test('what is set again and again stays, with its latest value', () => {
  const recent = new Recent<string, number>(10)
  for (let n = 0; n < 100; n++) {
    recent.set('often', n)
    recent.set(`${n}`, n)
    expect(recent.get('often')).toBe(n)
  }
})
