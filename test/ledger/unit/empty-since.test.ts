/** What INFO says of how long a Redis without a ledger can have held none. */

import { emptySinceMs } from '@decorum/ledger/testing'
import { expect, test } from 'vitest'

const NONE = '0'.repeat(40)
const info = (more = '', { role = 'master', replid2 = NONE } = {}): string =>
  `# Server\r\nuptime_in_seconds:90\r\n# Replication\r\nrole:${role}\r\nmaster_replid2:${replid2}\r\n# Commandstats\r\ncmdstat_info:calls=1\r\n${more}`

test('a server that has served, and from which nothing was taken: as long as it surely runs', () => {
  expect(emptySinceMs(info('cmdstat_evalsha:calls=4,usec=1\r\ncmdstat_hset:calls=1\r\n'))).toBe(89_000)
})

test.each(['flushall', 'flushdb', 'del', 'unlink', 'swapdb', 'rename', 'migrate', 'replicaof', 'config|resetstat'])(
  'after %s it may have held one',
  (command) => expect(emptySinceMs(info(`cmdstat_${command}:calls=1,usec=3\r\n`))).toBeUndefined(),
)

test('a replica, one that has taken over, and a server that does not say what it did', () => {
  expect(emptySinceMs(info('', { role: 'slave' }))).toBeUndefined()
  expect(emptySinceMs(info('', { replid2: 'a'.repeat(40) }))).toBeUndefined()
  expect(emptySinceMs(info().replace('# Commandstats', ''))).toBeUndefined()
  expect(emptySinceMs('')).toBeUndefined()
})
