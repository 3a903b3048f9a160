import { readPermitTokens } from '@decorum/config'
import { expect, test } from 'vitest'

const SECRET = 'a-token-of-one-1234'
const read = (entries: unknown): unknown => readPermitTokens(JSON.stringify(entries))

test('a token may be bound to agents and crawls', () => {
  const one = { name: 'one', token: SECRET, agents: ['bot'], crawls: ['daily'], maxWaiting: 5 }
  expect(read([one, { name: 'two', token: `${SECRET}-2` }])).toEqual([one, { name: 'two', token: `${SECRET}-2` }])
})

test.each([
  ['an empty list', [], /at least one entry is needed/],
  ['a short token', [{ name: 'one', token: 'short' }], /DECORUM_PERMIT_TOKENS\[0\]\.token: at least 16 characters/],
  ['a misspelt member', [{ name: 'one', token: SECRET, agent: ['bot'] }], /agent: there is no such member.*agents/],
  ['no agents at all', [{ name: 'one', token: SECRET, agents: [] }], /at least one entry is needed/],
  [
    'one name twice',
    [
      { name: 'one', token: SECRET },
      { name: 'one', token: `${SECRET}-2` },
    ],
    /two entries have the same name/,
  ],
  [
    'one token twice',
    [
      { name: 'one', token: SECRET },
      { name: 'two', token: SECRET },
    ],
    /two entries have the same token/,
  ],
])('%s is refused', (_, entries, message) => {
  expect(() => read(entries)).toThrow(message)
})

test('a message about a wrong token does not repeat it', () => {
  const short = 'short-secret'
  expect(() => read([{ name: 'one', token: short }])).toThrow(
    expect.not.objectContaining({ message: expect.stringContaining(short) }),
  )
})
