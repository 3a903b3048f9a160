/** The end of a guarded command as people read it. */
import { guardSummary } from '@decorum/cli/testing'
import { expect, test } from 'vitest'

const counts = (some: object) => ({
  ...{ requests: 0, held: 0, heldMs: 0, sent: 0, refused: 0, robots: 0, tunnels: 0 },
  ...some,
})
const printed = (all: object, refusals: Record<string, number> = {}): string =>
  guardSummary({ all: counts(all), refusals, sites: {} })

test('each request is counted under one word: sent, refused and why, answered from the store, given up', () => {
  expect(printed({ requests: 1, sent: 1 })).toBe('1 request: 1 sent, 0 refused')
  expect(printed({ requests: 7, sent: 2, refused: 3, robots: 1 }, { disallowed: 2, 'no-contact': 1 })).toBe(
    '7 requests: 2 sent, 3 refused (2 disallowed, 1 no-contact), 1 answered with the stored robots.txt, ' +
      '1 given up by the command',
  )
  expect(printed({ requests: 2, sent: 2, tunnels: 1, held: 1, heldMs: 1_500 })).toBe(
    '2 requests: 2 sent (1 tunnel among them, in which nothing was judged), 0 refused; 1 waited, 1.5 s each on average',
  )
})
