/** `decorum doctor` on a real Redis: what is wrong there is found, and each mend that is a command mends it. */
import { openLedger } from '@decorum/ledger'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { decorum } from './decorum.ts'
import { decorumHere } from './decorum-here.ts'

const redis = await redisForTest()
type Finding = { check: string; state: string; says: string; mend?: string }

test('faults of Redis are found with exit code 1, and their mends mend them', async () => {
  const raw = new Redis(redis.url)
  onTestFinished(() => raw.disconnect())
  await raw.config('SET', 'maxmemory-policy', 'allkeys-lru')
  const env = { REDIS_URL: redis.url }
  const look = async () => {
    const { code, stdout } = await decorum(['doctor', '--json', '--host', 'localhost'], { env })
    const { findings } = JSON.parse(stdout) as { findings: Finding[] }
    return { code, findings }
  }
  const ill = await look()
  expect(ill.code).toBe(1)
  const bad = ill.findings.filter(({ state }) => state === 'bad')
  expect(bad.map(({ check }) => check).toSorted()).toEqual(['eviction', 'persistence'])
  for (const { mend = '' } of ill.findings.filter(({ mend = '' }) => mend.startsWith('redis-cli CONFIG SET'))) {
    const [name = '', value = ''] = mend.slice('redis-cli CONFIG SET '.length).split(/[\s,:]+/)
    await raw.config('SET', name, value)
  }
  const well = await look()
  expect(well.findings.filter(({ state }) => state === 'bad')).toEqual([])
  expect(well.findings.filter(({ state }) => state === 'warn').map(({ check }) => check)).toEqual(['layout', 'contact'])
  expect(well.findings).toContainEqual({ check: 'DNS', state: 'ok', says: expect.stringContaining('localhost took') })
  expect(well.code).toBe(0)
})

test('people read one finding a line, and below it a command to copy, alone', async () => {
  const raw = new Redis(redis.url)
  onTestFinished(async () => {
    await raw.config('SET', 'maxmemory-policy', 'noeviction')
    raw.disconnect()
  })
  await raw.config('SET', 'maxmemory-policy', 'allkeys-lru')
  const env = { REDIS_URL: redis.url }
  const { stdout } = await decorum(['doctor'], { env })
  const { findings } = JSON.parse((await decorum(['doctor', '--json'], { env })).stdout) as { findings: Finding[] }
  expect(stdout.split('\n')).toEqual([
    ...findings.flatMap(({ check, state, says, mend }) => [
      `${state.padEnd(4)}  ${check}: ${says}`,
      ...(mend === undefined ? [] : [`      → ${mend}`]),
    ]),
    '',
  ])
  expect(stdout).toContain(
    '\n      → redis-cli CONFIG SET maxmemory-policy noeviction: else URLs and due times are dropped\n',
  )
})

test('a contact that the fleet has decided is one, whatever the environment of the command says', async () => {
  const env = { REDIS_URL: redis.url }
  const contact = async (): Promise<string> =>
    /^.*contact: .*$/m.exec((await decorumHere(['doctor'], { env })).stdout)?.[0] ?? ''
  expect(await contact()).toBe('warn  contact: no contact is set: no public site is visited')
  const input = 'DECORUM_CONTACT: https://example.com/bot\n'
  expect(await decorumHere(['config', 'apply', '-', '--yes'], { env, input })).toMatchObject({ code: 0 })
  expect(await contact()).toBe('ok    contact: every agent names a contact')
})

test('a command that the user may not run is named without a stack, with what to do', async () => {
  const raw = new Redis(redis.url)
  onTestFinished(() => raw.disconnect())
  await raw.call('ACL', 'SETUSER', 'few', 'on', '>pw', '~*', '&*', '+@all', '-time')
  const { code, stderr } = await decorum(['doctor'], { env: { REDIS_URL: `redis://few:pw@127.0.0.1:${redis.port}` } })
  expect(code).toBe(1)
  expect(stderr).toMatch(/^decorum: Redis refuses: NOPERM .*'time'.* → .*ACL SETUSER.*\n$/)
})

const LEDGER = { check: 'permissions', state: 'bad', mend: expect.stringContaining('+@all') }
test.each([
  [
    'info',
    'bad',
    /^Redis: INFO is refused \(NOPERM .*'info'.*\): .* version, persistence, eviction, memory and connections could not be/,
  ],
  [
    'config',
    'warn',
    /^Redis: CONFIG GET is refused \(NOPERM .*'config\|get'.*\): how often the append-only file is synced/,
  ],
])(
  'a user that may not use %s: what could not be judged is named, and the rest is judged',
  async (command, state, why) => {
    const ledger = await openLedger({ redis: redis.url, partitions: 1 })
    const raw = new Redis(redis.url)
    onTestFinished(async () => {
      raw.disconnect()
      await ledger.close()
    })
    await raw.call('ACL', 'SETUSER', `no-${command}`, 'on', '>pw', '~*', '&*', '+@all', `-${command}`)
    const env = { REDIS_URL: `redis://no-${command}:pw@127.0.0.1:${redis.port}` }
    const { stdout } = await decorum(['doctor', '--json'], { env })
    const { findings } = JSON.parse(stdout) as {
      findings: { check: string; state: string; says: string; mend: string }[]
    }
    expect(findings.filter(({ check }) => check === 'permissions')).toEqual([
      { check: 'permissions', state, says: expect.stringMatching(why), mend: expect.stringContaining(`+${command}`) },
      ...(command === 'info'
        ? [{ ...LEDGER, says: expect.stringMatching(/^the ledger refuses to be read \(NOPERM/) }]
        : []),
    ])
    const judged = findings.map(({ check }) => check)
    expect(judged).toEqual(expect.arrayContaining(['clock', 'layout', 'contact']))
    expect(judged.includes('redis version')).toBe(command !== 'info')
  },
)
