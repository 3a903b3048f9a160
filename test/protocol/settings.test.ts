/** Environment → values, once, with readable refusals. */

import { checkRelations, common, readSettings, SettingsError } from '@decorum/config'
import { Candidate } from '@decorum/protocol'
import { expect, test } from 'vitest'

const Schema = Candidate.pick({}).extend(common) // an object of the package's own zod, which tests do not depend on
const REDIS_URL = 'redis://127.0.0.1:6379'

test('defaults are those of the design', () => {
  expect(readSettings(Schema, { REDIS_URL })).toMatchObject({
    DECORUM_PARTITIONS: 1,
    DEFAULT_DELAY_MS: 1_000,
    MAX_DELAY_MS: 10_000,
    MAX_ATTEMPTS: 5,
    FETCH_DEADLINE_MS: 30_000,
    LEASE_MS: 45_000,
    QUARANTINE_MS: 10_000,
    LANE_LIMIT: 100_000,
    OUTCOMES_LIMIT: 1_000_000,
    DECORUM_ALLOW_ADDRESSES: '',
  })
})

test('an empty or blank variable is absent: it never turns a delay into zero', () => {
  expect(readSettings(Schema, { REDIS_URL, DEFAULT_DELAY_MS: '', LEASE_MS: ' ', MAX_DELAY_MS: '\t' })).toMatchObject({
    DEFAULT_DELAY_MS: 1_000,
    LEASE_MS: 45_000,
    MAX_DELAY_MS: 10_000,
  })
})

test('each wrong variable is named, with what is expected', () => {
  const wrong = {
    REDIS_URL: 'http://x',
    LEASE_MS: 'soon',
    MAX_ATTEMPTS: '0',
    DEFAULT_DELAY_MS: '-1',
    PORT: '70000',
    LOG_LEVEL: 'loud',
  }
  expect(() => readSettings(Schema, wrong)).toThrow(SettingsError)
  for (const name of Object.keys(wrong))
    expect(() => readSettings(Schema, wrong)).toThrow(new RegExp(`^  ${name}: .`, 'm'))
  expect(() => readSettings(Schema, wrong)).toThrow(/a Redis address such as redis:\/\//)
})

test('no Redis address is a refusal as well', () => {
  expect(() => readSettings(Schema, {})).toThrow(/REDIS_URL/)
})

test('a fetch ends inside its lease, and the floor of the delay lies under its cap', () => {
  const fine = { FETCH_DEADLINE_MS: 30_000, LEASE_MS: 45_000, DEFAULT_DELAY_MS: 1_000, MAX_DELAY_MS: 10_000 }
  expect(() => checkRelations(fine)).not.toThrow()
  expect(() => checkRelations({ ...fine, LEASE_MS: 30_000 })).toThrow(/must end inside its lease/)
  expect(() => checkRelations({ ...fine, DEFAULT_DELAY_MS: 10_001 })).toThrow(/floor of the delay lies under its cap/)
})
