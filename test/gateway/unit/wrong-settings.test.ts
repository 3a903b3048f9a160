/** Wrong settings of every service: the variable, what is right and what was given, in words for people. */

import { SettingsError } from '@decorum/config'
import { readConfig as consoleConfig } from '@decorum/console/inside'
import { readConfig as fetcherConfig } from '@decorum/fetcher/testing'
import { readConfig as gatewayConfig } from '@decorum/gateway/testing'
import { expect, test } from 'vitest'

const services = { gateway: gatewayConfig, fetcher: fetcherConfig, console: consoleConfig }
type Service = keyof typeof services

const ALL: Service[] = ['gateway', 'fetcher', 'console']
const BOTH: Service[] = ['gateway', 'fetcher']
const USER_AGENT = 'bot (+https://bot.example/)'

const refused = (service: Service, name: string, value: string): string => {
  try {
    services[service]({ REDIS_URL: 'redis://127.0.0.1:6379', [name]: value })
  } catch (error) {
    expect(error).toBeInstanceOf(SettingsError)
    return (error as Error).message
  }
  throw new Error(`${service} accepts ${name}=${value}`)
}

test.each<[string, string, Service[], right: string, shown?: string]>([
  ['FETCH_CONCURRENCY', 'many', ['fetcher'], 'a whole number from 1 to 10000'],
  ['FETCH_CONCURRENCY', '0', ['fetcher'], 'a whole number from 1 to 10000'],
  ['FETCH_CONCURRENCY', 'Infinity', ['fetcher'], 'a whole number from 1 to 10000'],
  ['FETCH_CONCURRENCY', '1.5', ['fetcher'], 'a whole number from 1 to 10000'],
  ['FETCH_PROCESSES', '65', ['fetcher'], 'a whole number from 0 to 64'],
  ['PAGE_MAX_BYTES', '10MB', ['fetcher'], 'a whole number of at least 1'],
  ['DECORUM_PARTITIONS', '0', ALL, 'a whole number from 1 to 1024'],
  ['DEFAULT_DELAY_MS', '-1', ALL, 'a whole number of at least 0'],
  ['MAX_DELAY_MS', 'never', ALL, 'a whole number of at least 0'],
  ['LEASE_MS', '45s', ALL, 'a whole number of at least 1'],
  ['LEASE_MS', '5', BOTH, 'a fetch must end inside its lease', '5'],
  ['DEFAULT_DELAY_MS', '20000', BOTH, 'must not exceed the maximum', '20000'],
  ['PORT', '70000', ALL, 'a whole number from 0 to 65535'],
  ['LOG_LEVEL', 'loud', ALL, 'one of silent, error, warn, info, debug'],
  ['INTAKE_LOCK_MS', '5', ['gateway'], 'a whole number of at least 1000'],
  ['DECORUM_CONTACT', 'nobody', ALL, 'a URL (https://…) or an e-mail address'],
  ['DECORUM_ALLOW_ADDRESSES', '127.0.0.0/99', BOTH, 'a range such as 127.0.0.0/8'],
  ['DECORUM_ALLOW_ADDRESSES', 'localhost', BOTH, 'a range such as 127.0.0.0/8'],
  ['DECORUM_ALLOW_PORTS', '99999', ['fetcher'], 'not a port'],
  ['DNS_SERVERS', 'dns.example', ['fetcher'], 'the address of a DNS server'],
  ['DECORUM_AGENTS', '/nowhere', ALL, 'cannot be read', '/nowhere'],
  ['DECORUM_AGENTS', '[]', ALL, 'at least one entry', '[]'],
  ['DECORUM_AGENTS', '[7]', ALL, 'an object', '7'],
  ['DECORUM_AGENTS', '[{"name":"a b"}]', ALL, 'letters, _ and -', "'a b'"],
  ['DECORUM_AGENTS', `[{"name":"a","userAgent":"${USER_AGENT}","minDelayMs":"soon"}]`, ALL, 'a number', "'soon'"],
  ['DECORUM_AGENTS', `[{"name":"a","userAgent":"${USER_AGENT}","colour":1}]`, ALL, 'no such member', '[0].colour'],
  ['PACE_GROUPS', '{"host":7}', ['fetcher'], 'none of the forms', '7'],
  ['PACE_GROUPS', '{"domain":{"delayMs":-1}}', ['fetcher'], 'a number of at least 0', '-1'],
])('%s=%s', (name, value, whose, right, shown = `'${value}'`) => {
  for (const service of whose) {
    const message = refused(service, name, value)
    expect(message).toMatch(/^wrong settings:\n/)
    for (const part of [name, right, shown]) expect(message, service).toContain(part)
    expect(message, 'in our words').not.toMatch(/Invalid|NaN|expected|✖|Error:/)
  }
})

test('what may hold a password is never repeated', () => {
  for (const service of ALL) expect(refused(service, 'REDIS_URL', 'http://user:hunter2@host')).not.toContain('hunter2')
  expect(refused('console', 'CONSOLE_PASSWORD', 'hunter2')).not.toContain('hunter2')
})

test('all wrong settings are named at once', () => {
  const wrong = { REDIS_URL: 'redis://127.0.0.1:6379', FETCH_CONCURRENCY: 'many', PORT: 'x', LOG_LEVEL: 'loud' }
  for (const name of ['FETCH_CONCURRENCY', 'PORT', 'LOG_LEVEL'])
    expect(() => fetcherConfig(wrong)).toThrow(new RegExp(`^  ${name}: `, 'm'))
})
