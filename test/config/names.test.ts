/** Names of variables: a misspelt setting stops the start, others are left alone. */
import { formerInDocument, readSettings, SETTINGS, schemaOf, storeOptions } from '@decorum/config'
import fc from 'fast-check'
import { expect, test } from 'vitest'

const REDIS_URL = 'redis://127.0.0.1:6379'
function read(env: Record<string, string>) {
  return readSettings(schemaOf('gateway'), { REDIS_URL, ...env })
}

test.for([
  ['DEFAULT_DELAY', 'DEFAULT_DELAY_MS'],
  ['DEFAULT_DELAY_SECONDS', 'DEFAULT_DELAY_MS'],
  ['default_delay_ms', 'DEFAULT_DELAY_MS'],
  ['DEFUALT_DELAY_MS', 'DEFAULT_DELAY_MS'],
  ['MAX_DELAYS_MS', 'MAX_DELAY_MS'],
  ['LEASE_S', 'LEASE_MS'],
  ['FETCH_CONCURENCY', 'FETCH_CONCURRENCY'],
  ['CONSOLE_PASWORD', 'CONSOLE_PASSWORD'],
  ['DECORUM_AGENT', 'DECORUM_AGENTS'],
  ['DECORUM_ALLOW_ADRESSES', 'DECORUM_ALLOW_ADDRESSES'],
  ['DECORUM_ALLOWED_ADDRESSES', 'DECORUM_ALLOW_ADDRESSES'],
  ['DECORUM_DEFAULT_DELAY_MS', 'DEFAULT_DELAY_MS'],
  ['DECORUM_PORT', 'PORT'],
] as const)('%s is refused, and %s is named', ([given, meant]) => {
  expect(() => read({ [given]: '5' })).toThrow(`${given}: there is no such setting; did you mean ${meant}?`)
})

test('a name of ours that is near to none is refused too', () => {
  expect(() => read({ DECORUM_COLOUR: 'red' })).toThrow(/DECORUM_COLOUR: there is no such setting$/m)
})

test('one slip in any setting of at least eight letters is noticed, whatever the slip', () => {
  const names = Object.keys(SETTINGS).filter((name) => name.length >= 8)
  const slip = fc
    .record({ name: fc.constantFrom(...names), at: fc.nat(), how: fc.constantFrom('drop', 'double', 'swap', 'other') })
    .map(({ name, at, how }) => {
      const i = at % (name.length - 1)
      const [a, b] = [name[i]!, name[i + 1]!]
      const letters = { drop: '', double: a + a, swap: b + a, other: a === 'Q' ? 'X' : 'Q' }[how]
      return { name, wrong: name.slice(0, i) + letters + name.slice(how === 'swap' ? i + 2 : i + 1) }
    })
    .filter(({ name, wrong }) => wrong !== name && !Object.hasOwn(SETTINGS, wrong))
  fc.assert(
    fc.property(slip, ({ wrong }) => {
      expect(() => read({ [wrong]: '5' })).toThrow(`${wrong}: there is no such setting`)
    }),
    { numRuns: 300 },
  )
})

test('what shells, containers, Kubernetes and other programs set is left alone', () => {
  const env = {
    HOSTNAME: 'a',
    HOME: '/root',
    PATH: '/bin',
    PORTS: '1',
    LOGNAME: 'me',
    NODE_ENV: 'production',
    REDIS_PASSWORD: 'x',
    CONSOLE_PORT: '8080',
    npm_config_user_agent: 'npm',
    DECORUM_SERVICE_HOST: '10.0.0.1',
    DECORUM_SERVICE_PORT_HTTP: '80',
    DECORUM_PORT: 'tcp://10.0.0.1:80',
    DECORUM_PORT_80_TCP_ADDR: '10.0.0.1',
    DECORUM_REDIS_PORT: 'tcp://10.0.0.2:6379',
    DECORUM_SEED: '1',
  }
  expect(() => read(env)).not.toThrow()
})

test.each([
  ['DEFAULT_GAP_MS', 'did you mean DEFAULT_DELAY_MS?'],
  ['MAX_GAP_MS', 'did you mean MAX_DELAY_MS?'],
  ['HONOUR_NOARCHIVE', 'an agent of DECORUM_AGENTS has honourNoarchive'],
  ['S3_PREFIX', 'S3_BUCKET holds it after a slash'],
  ['HEARTBEAT_MS', 'it is always 15 s'],
])(
  '%s, of an earlier version, is refused with what does its work now: ignored, another value would be in force than was meant',
  (old, instead) => {
    expect(() => read({ [old]: '60000' })).toThrow(`${old}: there is no such setting; ${instead}`)
  },
)

test('a stored configuration in which a former setting has an effect is named; one that only has its default is not', () => {
  const usual = {
    S3_PREFIX: null,
    HONOUR_NOARCHIVE: 'no',
    FORGET_READERS_AFTER_MS: 0,
    ROBOTS_DOMAIN_MAX_BYTES: 8_388_608,
  }
  expect(formerInDocument(usual, 3)).toEqual([])
  expect(formerInDocument({ ...usual, S3_PREFIX: 'crawl/' }, 3)).toEqual([
    expect.stringMatching(/^S3_PREFIX: .*version 3.*S3_BUCKET holds it after a slash.*decorum config apply/),
  ])
})

test('a bucket may be followed by what the names of its objects begin with; files hold a tenth of the folder, 64 MB at most', () => {
  const key = { S3_ACCESS_KEY_ID: 'me', S3_SECRET_ACCESS_KEY: 'secret' }
  const of = (S3_BUCKET: string, ARCHIVE_MAX_BYTES: number, S3_ENDPOINT = 'https://s3.example.net') =>
    storeOptions({ ...key, PAGE_SINK: 's3', S3_ENDPOINT, S3_BUCKET, ARCHIVE_MAX_BYTES })
  expect(of('pages', 0)?.settings).toMatchObject({ endpoint: 'https://s3.example.net', region: 'us-east-1' })
  expect(of('pages', 0, 'https://s3.example.net?region=eu-central-1')?.settings).toMatchObject({
    endpoint: 'https://s3.example.net',
    region: 'eu-central-1',
  })
  expect(of('pages', 0)).toMatchObject({
    settings: { bucket: 'pages', prefix: '' },
    fileBytes: 64_000_000,
    maxBytes: 10_000_000_000,
  })
  expect(of('pages/crawl/one/', 30_000)).toMatchObject({
    settings: { bucket: 'pages', prefix: 'crawl/one/' },
    fileBytes: 3_000,
    maxBytes: 30_000,
  })
})

test('there are at most 48 settings', () => {
  expect(Object.keys(SETTINGS).length).toBeLessThanOrEqual(48)
})
