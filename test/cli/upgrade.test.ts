/** `decorum upgrade` on a ledger that 0.1.0 left, and what the roles say before. */
import { readFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { type StoredKey, writeStored } from '../ledger/layouts/stored.ts'
import { redisForTest } from '../support/redis.ts'
import { decorum } from './decorum.ts'
import { decorumHere } from './decorum-here.ts'

const redis = await redisForTest()
const FIXTURE = new URL('../ledger/layouts/layout-3.json', import.meta.url)

test('a role names the command, the command says what it did, and afterwards nothing is left to do', async () => {
  const raw = new Redis(redis.url)
  onTestFinished(() => raw.disconnect())
  await raw.flushall()
  const env = { REDIS_URL: redis.url, PORT: '0' }
  expect((await decorumHere(['upgrade', '--show'], { env })).stdout).toBe('no ledger yet\n')
  await writeStored(raw, JSON.parse(readFileSync(FIXTURE, 'utf8')) as StoredKey[])
  expect((await decorumHere(['upgrade', '--show'], { env })).stdout).toBe('layout 3\n')
  const gateway = await decorum(['gateway'], { env })
  expect(gateway.stdout + gateway.stderr).toContain("run 'decorum upgrade'")
  expect(gateway.code).not.toBe(0)
  const done = await decorum(['upgrade'], { env })
  expect(done.stdout).toMatch(/^layout 3 became 5: closed for [\d.]+ s; 8 origins and 6 leases are written anew/)
  expect(done.code).toBe(0)
  expect((await decorumHere(['upgrade'], { env })).stdout).toBe('layout 5 already: nothing was left to do\n')
  const late = await decorumHere(['upgrade', '--back'], { env })
  expect([late.code, late.stdout]).toEqual([1, ''])
  expect(late.stderr).toContain('nothing to step back from')
})
