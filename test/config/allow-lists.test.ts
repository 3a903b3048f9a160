/** DECORUM_ALLOW_ADDRESSES and its like: read in one place, so gateway and fetcher cannot understand a list differently. */
import { addressSet, dnsServers, entriesOf, portNumber, readSettings, schemaOf } from '@decorum/config'
import { expect, test } from 'vitest'

const has = (list: string, address: string): boolean => addressSet(entriesOf(list)).has(address)

test.for([
  ['127.0.0.0/8', '127.1.2.3', true],
  ['127.0.0.0/8', '128.0.0.1', false],
  ['10.1.2.3/16', '10.1.200.1', true],
  ['192.0.2.1', '192.0.2.1', true],
  ['192.0.2.1', '192.0.2.2', false],
  ['fd00:1::/32', 'fd00:1:2::3', true],
  ['fd00:1::/32', 'fd00:2::3', false],
  ['127.0.0.0/8', '::ffff:127.0.0.1', true],
  ['10.0.0.0/8 127.0.0.1,::1', '::1', true],
  ['0.0.0.0/0', '::1', false],
  ['', '127.0.0.1', false],
  ['127.0.0.0/8', 'localhost', false],
] as const)('%s has %s: %s', ([list, address, is]) => {
  expect(has(list, address)).toBe(is)
})

// Short, octal and hexadecimal forms: the fetcher read them and the gateway did not.
test.for([
  '127.1',
  '0177.0.0.1',
  '0x7f.0.0.1/8',
  '10/8',
  '127.0.0.0/33',
  '::1/129',
  'fe80::1%eth0',
  'localhost',
  '1.2.3.4/',
])('%s is refused by gateway and fetcher alike', (entry) => {
  const env = { REDIS_URL: 'redis://127.0.0.1:6379', DECORUM_ALLOW_ADDRESSES: `127.0.0.1, ${entry}` }
  const message = `DECORUM_ALLOW_ADDRESSES: '${entry}' is neither an address nor a range such as 127.0.0.0/8`
  expect(() => readSettings(schemaOf('gateway'), env)).toThrow(message)
  expect(() => readSettings(schemaOf('fetcher'), env)).toThrow(message)
})

test('ports and DNS servers: what is wrong is named', () => {
  expect(portNumber('6379')).toBe(6_379)
  for (const wrong of ['http', '65536', '-1', '1e3', ''])
    expect(() => portNumber(wrong)).toThrow(`'${wrong}' is not a port`)
  expect(dnsServers('192.0.2.53, [2001:db8::53]:5353')).toEqual(['192.0.2.53', '[2001:db8::53]:5353'])
  expect(() => dnsServers('192.0.2.53,dns.example')).toThrow(/'dns.example' is not the address of a DNS server/)
})
