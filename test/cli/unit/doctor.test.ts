/** What a doctor finds in facts: each fault is named, with its mend. */

import { type Facts, judge } from '@decorum/cli/testing'
import { expect, test } from 'vitest'

const INFO = {
  redis_version: '7.0.15',
  aof_enabled: '1',
  aof_last_write_status: 'ok',
  aof_last_bgrewrite_status: 'ok',
  rdb_last_bgsave_status: 'ok',
  maxmemory_policy: 'noeviction',
  maxmemory: String(4 * 1024 ** 3),
  used_memory: String(1024 ** 3),
  total_system_memory: String(8 * 1024 ** 3),
  latest_fork_usec: '2000',
  connected_clients: '12',
  maxclients: '10000',
}
const CONFIG = { appendfsync: 'everysec', 'hash-max-listpack-value': '1024', 'set-max-intset-entries': '4096' }
const about = { host: 'a', pid: 1, version: '1.0.0', commit: '0123456789ab', config: 4, pending: [] }
const WELL: Facts = {
  servers: [{ name: '', info: text(INFO), aheadMs: 3, uncertainMs: 1, config: CONFIG }],
  layouts: ['3'],
  layout: '3',
  configVersion: 4,
  members: [
    { id: 'g', role: 'gateway', slots: 0, about },
    { id: 'f', role: 'fetcher', slots: 100, about },
  ],
  openFiles: 1_048_576,
  slots: 100,
  names: [{ host: 'example.com', ms: 12 }],
  hasContact: true,
}

function text(info: Record<string, string>): string {
  return Object.entries(info)
    .map(([key, value]) => `${key}:${value}\r\n`)
    .join('')
}
const server = (info: Partial<typeof INFO>, more: Partial<Facts['servers'][number]> = {}): Partial<Facts> => ({
  servers: [{ name: '', info: text({ ...INFO, ...info }), aheadMs: 0, uncertainMs: 1, config: CONFIG, ...more }],
})
const members = (...changes: Partial<typeof about>[]): Partial<Facts> => ({
  members: [
    ...(WELL.members ?? []),
    ...changes.map((change, n) => ({ id: `m${n}`, role: 'fetcher', slots: 1, about: { ...about, ...change } })),
  ],
})

test('a fleet that is well has no mend to name', () => {
  const findings = judge(WELL)
  expect(findings.filter(({ state, mend }) => state !== 'ok' || mend !== undefined)).toEqual([])
  expect(new Set(findings.map(({ check }) => check)).size).toBeGreaterThan(9)
})

const FAULTS: [name: string, change: Partial<Facts>, check: string, state: 'warn' | 'bad', mend: string][] = [
  ['an old Redis', server({ redis_version: '6.2.1' }), 'redis version', 'bad', '7.0'],
  ['no append-only file', server({ aof_enabled: '0' }), 'persistence', 'bad', 'CONFIG SET appendonly yes'],
  [
    'a file that is never synced',
    server({}, { config: { ...CONFIG, appendfsync: 'no' } }),
    'persistence',
    'bad',
    'appendfsync everysec',
  ],
  ['a file that cannot be written', server({ aof_last_write_status: 'err' }), 'persistence', 'bad', 'free space'],
  ['eviction', server({ maxmemory_policy: 'allkeys-lru' }), 'eviction', 'bad', 'noeviction'],
  ['no limit of memory', server({ maxmemory: '0' }), 'memory', 'warn', 'CONFIG SET maxmemory 5gb'],
  ['memory that ends', server({ used_memory: String(3.5 * 1024 ** 3) }), 'memory', 'bad', 'more memory'],
  ['a slow fork', server({ latest_fork_usec: '2500000' }), 'memory', 'warn', 'huge pages'],
  [
    'small compact forms',
    server({}, { config: { ...CONFIG, 'hash-max-listpack-value': '64' } }),
    'memory',
    'warn',
    'hash-max-listpack-value 1024',
  ],
  ['too many connections', server({ connected_clients: '9000' }), 'connections', 'warn', 'maxclients'],
  ['a clock that is off', server({}, { aheadMs: -4_000 }), 'clock', 'warn', 'chrony'],
  ['an earlier layout', { layouts: ['2'] }, 'layout', 'bad', 'decorum ledger upgrade'],
  ['an upgrade that broke off', { layouts: ['2>3', '3'] }, 'layout', 'bad', 'decorum ledger upgrade'],
  ['a ledger that may not be read', { fleetRefused: 'NOPERM x' }, 'permissions', 'bad', 'ACL SETUSER'],
  ['a later layout', { layouts: ['9'] }, 'layout', 'bad', 'use that version'],
  ['no fetcher', { members: (WELL.members ?? []).slice(0, 1) }, 'fleet', 'bad', 'decorum fetcher'],
  ['two builds of one version', members({ commit: 'ba9876543210' }), 'versions', 'warn', 'rolling restart'],
  ['two versions', members({ version: '0.9.0' }), 'versions', 'warn', 'rolling restart'],
  ['another configuration', members({ config: 3 }), 'configuration', 'warn', 'start it again'],
  [
    'settings that wait for a restart',
    members({ pending: ['LEASE_MS'] as never }),
    'configuration',
    'warn',
    'start it again',
  ],
  ['few open files', { openFiles: 256 }, 'open files', 'bad', 'ulimit -n 712'],
  ['a name that is not found', { names: [{ host: 'x.test', ms: 5, error: 'ENOTFOUND' }] }, 'DNS', 'bad', 'resolv.conf'],
  ['a slow name server', { names: [{ host: 'x.test', ms: 2_500 }] }, 'DNS', 'warn', 'caching resolver'],
  ['no contact', { hasContact: false }, 'contact', 'warn', 'DECORUM_CONTACT'],
]

test.each(FAULTS)('%s is found, and nothing else', (_, change, check, state, mend) => {
  const found = judge({ ...WELL, ...change }).filter((finding) => finding.state !== 'ok')
  expect(found).toEqual([{ check, state, says: expect.any(String), mend: expect.stringContaining(mend) }])
})

test('what the first page of the console calls trouble is bad, in its own sentence; all else is fine', () => {
  const says = (tone: 'trouble' | 'polite') =>
    judge({ ...WELL, state: { tone, title: "The queue 'orders' is paused", sentence: 'Resume there.' } })
  const finding = { check: 'crawl', state: 'bad', says: "The queue 'orders' is paused. Resume there." }
  expect(says('trouble')).toContainEqual(finding)
  expect(says('polite')).toContainEqual({ ...finding, state: 'ok' })
})

test('where CONFIG is not allowed, what it would say is not judged', () => {
  expect(judge({ ...WELL, ...server({}, { config: {} }) }).filter(({ state }) => state !== 'ok')).toEqual([])
})
