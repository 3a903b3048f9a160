/** An outcome as text. */
import { readOutcome } from '@decorum/protocol'
import { expect, test } from 'vitest'

test('what earlier versions wrote is read: there `truncated` was false for a whole body', () => {
  expect(readOutcome('{"id":"a","kind":"fetched","truncated":false}')).toEqual({
    id: 'a',
    kind: 'fetched',
    truncated: '',
  })
  expect(readOutcome('{"id":"a","kind":"fetched","truncated":"time"}')).toMatchObject({ truncated: 'time' })
  expect(readOutcome('{"id":"a","kind":"refused"}')).toEqual({ id: 'a', kind: 'refused' })
})

test.each(['', '{', 'null', '[]', '3', '{"kind":"fetched"}'])('%s is no outcome', (text) => {
  expect(readOutcome(text)).toBeUndefined()
})
