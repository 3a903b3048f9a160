/** What REDIS_URL may say, and what a wrong one is told. */

import { readRedisAddress, redisPlaces } from '@decorum/protocol'
import { expect, test } from 'vitest'

test('one address is one server, as it is written', () => {
  const url = 'rediss://user:secret@redis.example/3'
  expect(readRedisAddress(url)).toEqual({ kind: 'server', url })
  expect(redisPlaces(readRedisAddress(url))).toEqual([{ host: 'redis.example', port: 6379 }])
})

test('several are nodes of a cluster, with one login', () => {
  expect(readRedisAddress('rediss://u:p%40ss@a:7000, rediss://u:p%40ss@[::1]')).toEqual({
    kind: 'cluster',
    nodes: [
      { host: 'a', port: 7000 },
      { host: '::1', port: 6379 },
    ],
    login: { username: 'u', password: 'p@ss', tls: true },
  })
})

test('sentinel:// names who knows the master, and its name', () => {
  expect(readRedisAddress('sentinel://:secret@a,b:26380/crawl-1')).toEqual({
    kind: 'sentinel',
    sentinels: [
      { host: 'a', port: 26379 },
      { host: 'b', port: 26380 },
    ],
    master: 'crawl-1',
    login: { password: 'secret', tls: false },
  })
})

test.each([
  ['', 'a Redis address such as redis://127.0.0.1:6379 is needed'],
  ['127.0.0.1:6379', 'a Redis address such as'],
  ['http://a', 'a Redis address such as'],
  ['redis://a,', 'a Redis address such as'],
  ['redis://a,rediss://b', 'all redis:// or all rediss://'],
  ['redis://a/1,redis://b/1', 'no numbered databases'],
  ['redis://u:secret@a,redis://b', 'the same user and password'],
  ['sentinel://a:26379', 'sentinel://host:26379,other:26379/name-of-the-master is needed'],
  ['sentinel://a,u:secret@b/main', 'user and password stand once'],
])('%j is refused with what is wrong, and without repeating a password', (text, message) => {
  expect(() => readRedisAddress(text)).toThrow(message)
  expect(() => readRedisAddress(text)).not.toThrow('secret')
})
