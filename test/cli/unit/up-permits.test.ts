/** When `up` starts a permits process beside the others. */
import { mayGivePermits } from '@decorum/cli/testing'
import { expect, test } from 'vitest'

test.each([
  [{}, true],
  [{ HOST: '' }, true],
  [{ HOST: '127.0.0.1' }, true],
  [{ HOST: '::1' }, true],
  [{ HOST: '0.0.0.0' }, false],
  [{ HOST: '192.0.2.1', DECORUM_PERMIT_TOKENS: '' }, false],
  [{ HOST: '192.0.2.1', DECORUM_PERMIT_TOKENS: 'tokens.json' }, true],
] as const)('%j: %s', (env, may) => {
  expect(mayGivePermits(env)).toBe(may)
})
