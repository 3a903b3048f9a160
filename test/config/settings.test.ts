/** Environment → values, once: defaults, readable refusals, relations. */
import { brokenRelations, readSettings, SettingsError, schemaOf } from '@decorum/config'
import { expect, test } from 'vitest'

const REDIS_URL = 'redis://127.0.0.1:6379'
const read = (env: Record<string, string>) => readSettings(schemaOf('gateway'), env)

test('defaults are those of the design', () => {
  expect(read({ REDIS_URL })).toMatchObject({
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

test('a role reads its own settings alone', () => {
  expect(schemaOf('fetcher').shape).toHaveProperty('ARCHIVE_DIR')
  expect(schemaOf('gateway').shape).not.toHaveProperty('ARCHIVE_DIR')
  expect(schemaOf('console').shape).toHaveProperty('CONSOLE_PASSWORD')
})

test('an empty or blank variable is absent: it never turns a delay into zero', () => {
  expect(read({ REDIS_URL, DEFAULT_DELAY_MS: '', LEASE_MS: ' ', MAX_DELAY_MS: '\t' })).toMatchObject({
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
    DECORUM_ALLOW_ADDRESSES: '10.0.0.0/8, localhost',
  }
  expect(() => read(wrong)).toThrow(SettingsError)
  for (const name of Object.keys(wrong)) expect(() => read(wrong)).toThrow(new RegExp(`^  ${name}: .`, 'm'))
  expect(() => read(wrong)).toThrow(/a Redis address such as redis:\/\//)
  expect(() => read(wrong)).toThrow(/ADDRESSES: 'localhost' is neither an address nor a range such as 127.0.0.0\/8$/m)
})

test.each([
  { CONTENT_URL: 'crawler-1:9000' },
  { CONTENT_URL: 'ftp://crawler-1' },
  { CONTENT_URL: 'http://crawler-1:9000/pages' },
  { CONTENT_URL: 'http://me:secret-word@crawler-1:9000' },
  { CONTENT_TOKEN: 'short' },
  { CONTENT_TOKEN: 'secret-word of the fleet' },
  { ARCHIVE_MAX_BYTES: '20 GB' },
])('where and how much of pages is kept: %o is refused, and no secret is repeated', (wrong) => {
  const [name = ''] = Object.keys(wrong)
  const given = () => readSettings(schemaOf('fetcher'), { REDIS_URL, ...(wrong as Record<string, string>) })
  expect(given).toThrow(new RegExp(`^  ${name}: .* needed`, 'm'))
  expect(given).not.toThrow(/secret-word/)
})

test('no Redis address is a refusal as well', () => {
  expect(() => read({})).toThrow(/REDIS_URL/)
})

test('a fetch ends inside its lease, and the default delay does not exceed the maximum; all that is wrong is said at once', () => {
  const fine = { FETCH_DEADLINE_MS: 30_000, LEASE_MS: 45_000, DEFAULT_DELAY_MS: 1_000, MAX_DELAY_MS: 10_000 }
  expect(brokenRelations(fine)).toEqual([])
  expect(brokenRelations({ ...fine, LEASE_MS: 30_000 })).toEqual([expect.stringMatching(/must end inside its lease/)])
  expect(brokenRelations({ ...fine, LEASE_MS: 1, DEFAULT_DELAY_MS: 10_001 })).toEqual([
    expect.stringMatching(/inside its lease/),
    expect.stringMatching(/default delay must not exceed the maximum/),
  ])
  expect(brokenRelations({ DEFAULT_DELAY_MS: 2, MAX_DELAY_MS: 1 })).toHaveLength(1)
  expect(brokenRelations({ DEFAULT_DELAY_MS: 2 })).toEqual([])
})

test('one message names a wrong value, a relation that does not hold and a misspelt name', () => {
  const given = {
    REDIS_URL,
    DEFAULT_DELAY_MS: '20',
    MAX_DELAY_MS: '6',
    DECORUM_PARTITIONS: '1x',
    FETCH_CONCURENCY: '3',
  }
  for (const line of [
    /^ {2}DECORUM_PARTITIONS: /m,
    /^ {2}DEFAULT_DELAY_MS: .*MAX_DELAY_MS=6/m,
    /^ {2}FETCH_CONCURENCY: /m,
  ])
    expect(() => read(given)).toThrow(line)
})

test('a relation is not judged by a value that is wrong itself', () => {
  expect(() => read({ REDIS_URL, DEFAULT_DELAY_MS: '-1', MAX_DELAY_MS: '6' })).not.toThrow(/must not exceed/)
})
