/** The fleet's document, without Redis: what a person may write, what differs, and what an environment may say beside it. */
import {
  contradictions,
  differenceLine,
  differences,
  environmentOf,
  FLEET_SETTINGS,
  type FleetValues,
  fleetJsonSchema,
  fleetSettingsOf,
  readDocument,
  SETTINGS,
  settled,
  valuesOfEnvironment,
} from '@decorum/config'
import { expect, test } from 'vitest'

const AGENT = { name: 'examplebot', userAgent: 'examplebot/1.0 (+https://example.com/bot)' }
const document = (json: object): FleetValues => readDocument(json)
const from = (env: Record<string, string>) => valuesOfEnvironment(env)

test('the document holds what is of scope fleet, and nothing that one process has to itself', () => {
  const scopes = FLEET_SETTINGS.map((name) => ('fleet' in SETTINGS[name] ? 'fleet' : 'process'))
  expect(new Set(scopes)).toEqual(new Set(['fleet']))
  expect(FLEET_SETTINGS).toContain('DEFAULT_DELAY_MS')
  expect(FLEET_SETTINGS).not.toContain('ARCHIVE_DIR')
  expect(FLEET_SETTINGS, 'its list is kept by the ledger').not.toContain('DECORUM_PARTITIONS')
})

test('a whole document has every setting: what is left out stays as it is, null is its default', () => {
  const first = document({ DEFAULT_DELAY_MS: 2_000, DECORUM_ALLOW_ADDRESSES: ['127.0.0.0/8', '10.0.0.1'] })
  expect(first).toMatchObject({ DEFAULT_DELAY_MS: 2_000, MAX_DELAY_MS: 10_000, DECORUM_AGENTS: null })
  expect(first.DECORUM_ALLOW_ADDRESSES).toBe('127.0.0.0/8,10.0.0.1')
  expect(Object.keys(first).sort()).toEqual([...FLEET_SETTINGS].sort())
  const next = readDocument({ MAX_ATTEMPTS: 3, DECORUM_ALLOW_ADDRESSES: null }, first)
  expect(next).toEqual({ ...first, MAX_ATTEMPTS: 3, DECORUM_ALLOW_ADDRESSES: null })
})

const policy = (site: string, value: unknown): unknown => ({ SITE_POLICIES: { [site]: value } })

test.for<[string, unknown, RegExp]>([
  ['a list', [], /settings and their values are needed/],
  ['a text', 'DEFAULT_DELAY_MS=5', /settings and their values are needed/],
  ['nothing', null, /settings and their values are needed/],
  ['a misspelt name', { DEFAULT_DELAY: 5 }, /DEFAULT_DELAY: there is no such setting; did you mean DEFAULT_DELAY_MS\?/],
  ['a setting of one process', { ARCHIVE_DIR: '/x' }, /ARCHIVE_DIR: each process has its own/],
  ['the number of partitions', { DECORUM_PARTITIONS: 2 }, /'decorum ledger partitions' changes it/],
  [
    'a number that is none',
    { MAX_ATTEMPTS: 'five' },
    /MAX_ATTEMPTS: a whole number of at least 1 is needed, not 'five'/,
  ],
  ['an object for a number', { MAX_ATTEMPTS: {} }, /MAX_ATTEMPTS: a number or a text is needed, not \{\}/],
  ['no address', { DECORUM_ALLOW_ADDRESSES: ['all'] }, /'all' is neither an address nor a range/],
  ['agents as a text', { DECORUM_AGENTS: './agents.json' }, /DECORUM_AGENTS: a list of agents is needed/],
  ['an agent without a contact', { DECORUM_AGENTS: [{ ...AGENT, userAgent: 'x' }] }, /names a contact/],
  ['a misspelt member', { DECORUM_AGENTS: [{ ...AGENT, minDelaysMs: 1 }] }, /did you mean minDelayMs\?/],
  ['pace groups as a list', { PACE_GROUPS: [] }, /PACE_GROUPS: an object is needed/],
  ['policies as a list', { SITE_POLICIES: [] }, /SITE_POLICIES: an object is needed, not a list/],
  ['a policy that is none', policy('a.example', 5), /SITE_POLICIES.a.example: an object is needed, not 5/],
  ['an empty policy', policy('a.example', {}), /a.example: delayMs, hours or requestsPerDay is needed/],
  ['a misspelt member of a policy', policy('a.example', { delaysMs: 1 }), /delaysMs: there is no such member; did you/],
  ['a negative delay', policy('a.example', { delayMs: -1 }), /delayMs: a number of at least 0 is needed, not -1/],
  ['a site with the dot of the root', policy('a.example.', { delayMs: 5_000 }), /"a.example." is written a.example/],
  ['a site with an empty label', policy('a..example', { delayMs: 5_000 }), /"a..example" is no site/],
  [
    'a site that objects have already',
    JSON.parse('{"SITE_POLICIES":{"__proto__":{"delayMs":5000}}}'),
    /"__proto__" is no site/,
  ],
  ['no reason for a consent', policy('a.example', { delayMs: 0, consent: ' ' }), /who has consented, and how/],
  ['a consent to nothing', policy('a.example', { consent: 'ann' }), /delayMs is needed beside it/],
  [
    'a shorter delay without consent',
    policy('a.example', { delayMs: 5 }),
    /5 is less than the 1000 ms that every agent/,
  ],
  ['hours that are none', policy('a.example', { hours: '8-10' }), /such as '22:00-06:00' are needed, not '8-10'/],
  ['hours of no length', policy('a.example', { hours: '08:00-08:00' }), /begin and end at the same time/],
  ['a budget of nothing', policy('a.example', { requestsPerDay: 0 }), /requestsPerDay: a number of at least 1/],
  ['a URL for a site', policy('https://a.example', { delayMs: 5_000 }), /"https:\/\/a.example" is no site/],
  ['a star in the middle', policy('a.*.example', { delayMs: 5_000 }), /is no site/],
  ['a host that is written otherwise', policy('A.Example', { delayMs: 5_000 }), /"A.Example" is written a.example/],
  ['below an address', policy('*.192.0.2.1', { delayMs: 5_000 }), /is no site/],
  ['a public suffix', policy('domain:co.uk', { delayMs: 5_000 }), /"domain:co.uk" is no registrable domain/],
  ['less than a domain', policy('domain:a.b.co.uk', { delayMs: 5_000 }), /: domain:b.co.uk or \*.a.b.co.uk is/],
  ['a broken relation', { FETCH_DEADLINE_MS: 50_000 }, /a fetch must end inside its lease/],
  ['a delay above its cap', { DEFAULT_DELAY_MS: 20_000 }, /must not exceed the maximum/],
  ["an agent's delay above its cap", { DECORUM_AGENTS: [{ ...AGENT, minDelayMs: 9, maxDelayMs: 8 }] }, /minDelayMs/],
])('%s is refused with a sentence', ([, json, sentence]) => {
  expect(() => readDocument(json)).toThrow(sentence)
})

test('several mistakes are told at once', () => {
  expect(() => readDocument({ MAX_ATTEMPTS: 0, LEASE: 1 })).toThrow(/MAX_ATTEMPTS[\s\S]*LEASE: there is no such/)
  expect(() => readDocument({ MAX_ATTEMPTS: 0, FETCH_DEADLINE_MS: 50_000 })).toThrow(
    /MAX_ATTEMPTS[\s\S]*inside its lease/,
  )
})

test('a wrong value has no relations: neither what it is nor what it was', () => {
  const base = document({ LEASE_MS: 70_000, FETCH_DEADLINE_MS: 60_000 })
  const bothWrong = (): unknown => readDocument({ LEASE_MS: 'long', FETCH_DEADLINE_MS: 80_000 }, base)
  expect(bothWrong).toThrow(/LEASE_MS/)
  expect(bothWrong).not.toThrow(/inside its lease/)
})

test('a difference is told member by member, agents by name, each with what the change needs', () => {
  const one = document({ DECORUM_AGENTS: [AGENT, { ...AGENT, name: 'other' }] })
  const two = document({
    DEFAULT_DELAY_MS: 2_000,
    DECORUM_CONTACT: 'a@example.com',
    LEASE_MS: 60_000,
    DECORUM_AGENTS: [
      { ...AGENT, name: 'other', profile: 'google' },
      { ...AGENT, minDelayMs: 3_000 },
    ],
  })
  expect(differences(one, two).map(differenceLine)).toEqual([
    'DECORUM_AGENTS.examplebot.minDelayMs: none → 3000 (live)',
    'DECORUM_AGENTS.other.profile: decorum → google (identity)',
    'DECORUM_AGENTS.the default: examplebot → other (restart)',
    'DECORUM_CONTACT: none → a@example.com (restart)',
    'DEFAULT_DELAY_MS: 1000 → 2000 (live)',
    'LEASE_MS: 45000 → 60000 (identity)',
  ])
  expect(differences(two, two)).toEqual([])
})

test('policies of sites are told site by site, and are live', () => {
  const hours = { hours: '22:00-06:00', requestsPerDay: 100 }
  const consent = { delayMs: 0, consent: 'ann of b.example, by mail' }
  const two = document({ SITE_POLICIES: { '*.a.example': hours, 'domain:b.example': consent, '[2001:db8::1]': hours } })
  const three = readDocument({ SITE_POLICIES: { '*.a.example': { ...hours, requestsPerDay: 50 } } }, two)
  expect(differences(two, three).map(differenceLine)).toEqual([
    'SITE_POLICIES.*.a.example.requestsPerDay: 100 → 50 (live)',
    'SITE_POLICIES.domain:b.example: {"delayMs":0,"consent":"ann of b.example, by mail"} → none (live)',
    'SITE_POLICIES.[2001:db8::1]: {"hours":"22:00-06:00","requestsPerDay":100} → none (live)',
  ])
})

test('an environment that says the same in other words does not contradict', () => {
  const fleet = document({ DECORUM_AGENTS: [AGENT], DECORUM_ALLOW_ADDRESSES: '127.0.0.0/8, 10.0.0.1', PACE_GROUPS: {} })
  const env = {
    DECORUM_AGENTS: `[ { "userAgent": "${AGENT.userAgent}", "name": "examplebot", "fallbacks": [] } ]`,
    DECORUM_ALLOW_ADDRESSES: '127.0.0.0/8 10.0.0.1',
    PACE_GROUPS: '{"host": true}',
    DEFAULT_DELAY_MS: ' 1000 ',
    MAX_ATTEMPTS: '',
  }
  expect(contradictions(fleet, from(env), 1)).toEqual([])
})

test('a contradiction names both values, the version and the way out', () => {
  const [sentence, ...more] = contradictions(document({}), from({ DEFAULT_DELAY_MS: '50', MAX_ATTEMPTS: '5' }), 7)
  expect(more).toEqual([])
  expect(sentence).toBe(
    "DEFAULT_DELAY_MS: it is 50 here, but 1000 in the fleet's configuration (version 7): remove DEFAULT_DELAY_MS here, or change the fleet's with 'decorum config apply'",
  )
})

test('a process decides what it is given and what it reads, once; what others go by is left to them', () => {
  const first = settled({}, from({ DEFAULT_DELAY_MS: '300', PAGE_SINK: 'none' }), fleetSettingsOf('gateway'))
  expect(first).toMatchObject({ DEFAULT_DELAY_MS: 300, PAGE_SINK: 'none', LANE_LIMIT: 100_000, DECORUM_CONTACT: null })
  expect(first.PAGE_MAX_BYTES, 'no gateway goes by it').toBe(undefined)
  const second = settled(first, from({ PAGE_MAX_BYTES: '9' }), fleetSettingsOf('fetcher'))
  expect(second).toMatchObject({ ...first, PAGE_MAX_BYTES: 9 })
  const late = from({ DECORUM_CONTACT: 'a@example.com' })
  expect(settled(second, late, []), 'a decision for none is one').toEqual(second)
  expect(contradictions(second, late, 2)).toHaveLength(1)
})

test('the environment of a process reads back as the document: what is not given comes from it', () => {
  const fleet = document({ DECORUM_AGENTS: [AGENT], DECORUM_ALLOW_ADDRESSES: '127.0.0.0/8', DEFAULT_DELAY_MS: 70 })
  const filled = environmentOf(fleet, { PORT: '1', DECORUM_AGENTS: './agents.json' }) as Record<string, string>
  expect(filled.PORT).toBe('1')
  expect(differences(fleet, { ...fleet, ...from(filled) })).toEqual([])
})

test('its JSON Schema knows every setting of the document and no other', () => {
  const { properties, additionalProperties } = fleetJsonSchema() as {
    properties: object
    additionalProperties: boolean
  }
  expect(Object.keys(properties)).toEqual(FLEET_SETTINGS)
  expect(additionalProperties).toBe(false)
})
