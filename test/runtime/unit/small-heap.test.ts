import { withoutSmallHeap, withSmallHeap } from '@decorum/runtime/early-process'
import { expect, test } from 'vitest'

test('a process that does not fetch has a small young generation, unless whoever starts it has said how large it is', () => {
  const small = withSmallHeap(['--enable-source-maps'], {})
  expect(small).toEqual(['--enable-source-maps', '--max-semi-space-size=4'])
  expect(withoutSmallHeap(small)).toEqual(['--enable-source-maps'])
  for (const option of ['--max-semi-space-size=64', '--max_semi_space_size=64']) {
    expect(withSmallHeap([option], {})).toEqual([option])
    expect(withSmallHeap([], { NODE_OPTIONS: `--trace-warnings ${option}` })).toEqual([])
  }
})
