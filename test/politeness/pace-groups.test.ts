/** Which clocks stand above a lane, and what an operator hears of a wrong file. */

import { loadPaceGroups } from '@decorum/politeness'
import { hostOf, partitionOf } from '@decorum/protocol'
import { expect, test } from 'vitest'

const names = (text: string, origin: string, address?: string): string[] =>
  loadPaceGroups(text)
    .above('ant', origin, address)
    .flatMap(({ lanes }) => lanes.map((lane) => `${lane.agent} ${lane.origin}`))

test('by default a host has one paceLane, and nothing else has', () => {
  const groups = loadPaceGroups(undefined)
  expect(groups.hostLane('ant', 'http://a.example:8080')).toEqual({ agent: 'ant', origin: 'https://a.example' })
  expect(groups.hostLane('ant', 'https://a.example')).toBeUndefined()
  expect(groups.above('ant', 'https://www.a.example', '192.0.2.1')).toEqual([])
  expect(groups.needsAddress).toBe(false)
})

test('an IPv6 literal is a host like any other', () => {
  expect(loadPaceGroups('').hostLane('ant', 'http://[2001:db8::1]:81')?.origin).toBe('https://[2001:db8::1]')
  expect(names('{"address":{"delayMs":1}}', 'https://a.example', '2001:db8::1')).toEqual([
    'ant address://[2001:db8::1]',
  ])
})

test.each([
  ['https://www.shop.example.co.uk', 'ant domain://example.co.uk'],
  ['https://foo.github.io', 'ant domain://foo.github.io'], // somebody else than bar.github.io
  ['http://127.0.0.1:8080', undefined],
  ['https://localhost', undefined],
])('the registrable domain of %s', (origin, paceLane) => {
  expect(names('{"domain":{"delayMs":1}}', origin)).toEqual(paceLane === undefined ? [] : [paceLane])
})

test('clocks come in one order, whatever the order in the file; an address that is not known has none', () => {
  const file = JSON.stringify({
    lists: [
      { name: 'b', hosts: ['*.example.com'], delayMs: 1 },
      { name: 'a', hosts: ['www.example.com'], delayMs: 1, sharedByAgents: true },
    ],
    host: { delayMs: 5, sharedByAgents: true },
    domain: { delayMs: 1, inFlight: 2 },
    address: { delayMs: 1 },
  })
  const all = ['* host://www.example.com', 'ant list://b', '* list://a']
  const domain = ['ant domain://example.com', 'ant domain://example.com:1']
  expect(names(file, 'https://www.example.com', '192.0.2.1')).toEqual(['ant address://192.0.2.1', ...domain, ...all])
  expect(names(file, 'https://www.example.com')).toEqual([...domain, ...all])
  expect(loadPaceGroups(file).hostLane('ant', 'http://www.example.com')).toBeUndefined()
})

test('the places of a group lie in one partition, and so do a lane and the paceLane of its host', () => {
  const [paceLane] = loadPaceGroups('{"address":{"delayMs":1,"inFlight":16}}').above(
    'ant',
    'https://a.example',
    '2001:db8::7',
  )
  const partitions = paceLane!.lanes.map(({ origin }) => partitionOf(hostOf(origin), 12))
  expect(partitions).toHaveLength(16)
  expect(new Set(partitions).size).toBe(1)
  expect(hostOf(loadPaceGroups('').hostLane('ant', 'http://a.example:81')!.origin)).toBe('a.example')
})

test.each([
  ['{"domain":{}}', /domain.*delayMs|delayMs[\s\S]*domain/],
  ['{"host":"yes"}', /host/],
  ['{"adress":{"delayMs":1}}', /adress/],
  ['{"address":{"delayMs":1,"inFlight":99}}', /inFlight/],
  ['{"lists":[{"name":"A B","hosts":["x.example"],"delayMs":1}]}', /small letters/],
  ['{"lists":[{"name":"a","hosts":["https://x.example"],"delayMs":1}]}', /a host such as/],
  ['{"lists":[{"name":"a","hosts":["x"],"delayMs":1},{"name":"a","hosts":["y"],"delayMs":1}]}', /two lists/],
  ['{', /the inline JSON cannot be read/],
  ['/no/such/file.json', /no\/such\/file.json cannot be read/],
])('%s is refused with a reason', (text, reason) => {
  expect(() => loadPaceGroups(text)).toThrow(reason)
})
