/** Emergency stops, pure: what may be named, what becomes of the record. */
import { EVERYTHING, readStopName, StopError, type StopRecord, stopsInForce } from '@decorum/ledger'
import { nameOfAddress, namesAbove, withoutStops, withStops } from '@decorum/ledger/testing'
import { expect, test } from 'vitest'

test.each([
  ['example.com', 'example.com'],
  ['Example.COM.', 'example.com'],
  ['*.example.com', 'example.com'],
  ['bücher.example', 'xn--bcher-kva.example'],
  ['https://www.example.com:8443/a?b', 'www.example.com'],
  ['192.0.2.1', '192.0.2.1'],
  ['http://192.0.2.1/', '192.0.2.1'],
  ['2001:DB8:0::1', '[2001:db8::1]'],
  ['[2001:db8::1]', '[2001:db8::1]'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['http://[::ffff:192.0.2.1]/', '192.0.2.1'],
  ['localhost', 'localhost'],
])('%s is stopped as %s', (text, name) => {
  expect(readStopName(text)).toBe(name)
})

test.each([
  ['', /is not a host|neither/],
  ['example.com:8080', /without path and port/],
  ['example.com/path', /without path and port/],
  ['user@example.com', /without path and port/],
  ['192.0.2.0/24', /a range of addresses/],
  ['2001:db8::/32', /a range of addresses/],
  ['3232235777', /would be read as the address 192\.168\.1\.1/],
  ['1.2', /would be read as the address 1\.0\.0\.2/],
  ['ftp://example.com/', /without path and port/],
  ['https://user:secret@example.com/', /user-info/],
  ['exa mple.com', /without path and port/],
  [`${'a'.repeat(64)}.example`, /bad-host/],
  ['example..com', /bad-host/],
])('%j is refused in one sentence', (text, why) => {
  expect(() => readStopName(text)).toThrow(why)
  expect(() => readStopName(text)).toThrow(StopError)
})

test('a host is covered by its own name and by all above it; an address by itself alone', () => {
  expect(namesAbove('a.b.example.com')).toEqual(['a.b.example.com', 'b.example.com', 'example.com', 'com'])
  expect(namesAbove('192.0.2.1')).toEqual(['192.0.2.1'])
  expect(namesAbove('[2001:db8::1]')).toEqual(['[2001:db8::1]'])
  expect(nameOfAddress('::ffff:192.0.2.1')).toBe('192.0.2.1')
  expect(nameOfAddress('2001:db8:0:0::1')).toBe('[2001:db8::1]')
})

const NOW = 1_800_000_000_000
const none: StopRecord = { version: 0, stops: [] }
const who = { by: 'ann', reason: 'they wrote to us' }

test('a stop is in force until it is lifted or its end has come; two stops of one name both count', () => {
  const one = withStops(none, { ...who, names: ['example.com'], until: NOW + 10 }, NOW)
  const both = withStops(one, { ...who, names: ['example.com', EVERYTHING] }, NOW)
  expect(stopsInForce(both, NOW).map(({ name }) => name)).toEqual(['example.com', 'example.com', EVERYTHING])
  expect(stopsInForce(both, NOW + 10).map(({ name }) => name)).toEqual(['example.com', EVERYTHING])
  const lifted = withoutStops(both, { ...who, names: ['example.com'] }, NOW + 5)
  expect(stopsInForce(lifted, NOW + 5).map(({ name }) => name)).toEqual([EVERYTHING])
  expect(lifted.stops.map((stop) => stop.lifted?.at)).toEqual([NOW + 5, NOW + 5, undefined])
})

test('versions rise, also when the record was lost, and when the clock stands still', () => {
  const first = withStops(none, { ...who, names: ['a.example'] }, NOW)
  const second = withStops(first, { ...who, names: ['b.example'] }, NOW)
  expect([first.version, second.version]).toEqual([NOW, NOW + 1])
})

test('what cannot be done is said, and the record stays', () => {
  const many = Array.from({ length: 1_000 }, (_, n) => `host-${n}.example`)
  const full = withStops(none, { ...who, names: many }, NOW)
  const before = structuredClone(full)
  expect(() => withStops(full, { ...who, names: ['one.more'] }, NOW)).toThrow(/1000 stops may be in force/)
  expect(() => withStops(none, { ...who, names: ['a.example'], reason: ' ' }, NOW)).toThrow(/needs a reason/)
  expect(() => withStops(none, { ...who, names: ['a.example'], until: NOW }, NOW)).toThrow(/has passed already/)
  expect(() => withStops(none, { ...who, names: [] }, NOW)).toThrow(/nothing is named/)
  expect(() => withoutStops(none, { ...who, names: ['a.example'] }, NOW)).toThrow(/nothing is stopped/)
  expect(() => withoutStops(full, { ...who, names: ['other.example'] }, NOW)).toThrow(/other\.example cannot be lifted/)
  expect(full).toEqual(before)
})

test('of those that have ended the latest 1,000 are kept', () => {
  let record = none
  for (let n = 0; n < 1_005; n++) {
    record = withStops(record, { ...who, names: [`host-${n}.example`] }, NOW + n)
    record = withoutStops(record, { ...who, names: [`host-${n}.example`] }, NOW + n)
  }
  record = withStops(record, { ...who, names: ['kept.example'] }, NOW + 2_000)
  expect(record.stops).toHaveLength(1_001)
  expect(record.stops[0]?.name).toBe('host-5.example')
  expect(record.stops.at(-1)?.name).toBe('kept.example')
})
