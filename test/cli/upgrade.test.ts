/** `decorum ledger upgrade` on a ledger that 0.1.0 left, and what the roles say before. */
import { readFileSync } from 'node:fs'
import { upgradeSentence } from '@decorum/cli/testing'
import { keysOf } from '@decorum/ledger'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { type StoredKey, writeStored } from '../ledger/layouts/stored.ts'
import { redisForTest } from '../support/redis.ts'
import { decorum } from './decorum.ts'
import { decorumHere } from './decorum-here.ts'

const redis = await redisForTest()
const fixture = (layout: number): StoredKey[] =>
  JSON.parse(readFileSync(new URL(`../ledger/layouts/layout-${layout}.json`, import.meta.url), 'utf8'))

test('a role names the command; the command refuses a layout that no release had, and says what it did with that of the release before', async () => {
  const raw = new Redis(redis.url)
  onTestFinished(() => raw.disconnect())
  await raw.flushall()
  const env = { REDIS_URL: redis.url, PORT: '0' }
  expect((await decorumHere(['ledger', 'upgrade', '--show'], { env })).stdout).toBe('no ledger yet\n')
  await writeStored(raw, fixture(3))
  await raw.hset(keysOf('{decorum:0}').epoch, 'layout', '2')
  expect((await decorumHere(['ledger', 'upgrade', '--show'], { env })).stdout).toBe('layout 2\n')
  const gateway = await decorum(['gateway'], { env })
  expect(gateway.stdout + gateway.stderr).toContain("run 'decorum ledger upgrade'")
  expect(gateway.code).not.toBe(0)
  const refused = await decorum(['ledger', 'upgrade'], { env })
  expect([refused.code, refused.stdout]).toEqual([1, ''])
  expect(refused.stderr).toContain('this version cannot read layout 2: it knows 3, 4, 5 (docs/upgrading.md)')
  await raw.flushall()
  await writeStored(raw, fixture(3))
  expect((await decorumHere(['ledger', 'upgrade', '--show'], { env })).stdout).toBe('layout 3\n')
  const done = await decorum(['ledger', 'upgrade'], { env })
  expect(done.stdout).toMatch(/^layout 3 became 5: closed for [\d.]+ s; 6 leases are written anew/)
  expect(done.code).toBe(0)
  expect((await decorumHere(['ledger', 'upgrade'], { env })).stdout).toBe('layout 5 already: nothing was left to do\n')
  const late = await decorumHere(['ledger', 'upgrade', '--back'], { env })
  expect([late.code, late.stdout]).toEqual([1, ''])
  expect(late.stderr).toContain('nothing to step back from')
})

test('the command says what it did', () => {
  const done = { from: '3', to: '4', processes: 2, leases: 6, lanes: 9, closedMs: 1_200 }
  expect(upgradeSentence(done)).toBe(
    'layout 3 became 4: closed for 1.2 s; 6 leases are written anew. Processes of this version may run.' +
      '\n2 processes of the earlier version ran and will be refused from now on: end them.',
  )
})
