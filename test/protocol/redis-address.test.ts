/** What REDIS_URL may say, and what a wrong one is told. */

import { readRedisAddress, redisPlaces, withoutLogin } from '@decorum/protocol'
import { expect, test } from 'vitest'

test('one address is one server', () => {
  const address = readRedisAddress('rediss://user:secret@redis.example/3')
  const login = { username: 'user', password: 'secret', tls: {} }
  expect(address).toEqual({ kind: 'server', node: { host: 'redis.example', port: 6379 }, db: 3, login })
  expect(redisPlaces(address)).toEqual([{ host: 'redis.example', port: 6379 }])
})

test('files of TLS and the name of the certificate stand behind it', () => {
  const address = readRedisAddress('rediss://a?ca=/etc/ca.pem&cert=/etc/c.pem&key=/etc/k%261.pem&servername=redis.test')
  const tls = { ca: '/etc/ca.pem', cert: '/etc/c.pem', key: '/etc/k&1.pem', servername: 'redis.test' }
  expect(address.login).toEqual({ tls })
})

test('a socket of this machine', () => {
  const login = { password: 'secret' }
  expect(readRedisAddress('unix://:secret@/run/redis/redis.sock?db=2')).toEqual({
    kind: 'socket',
    path: '/run/redis/redis.sock',
    db: 2,
    login,
  })
})

test('a cluster may be known by one name', () => {
  const nodes = [{ host: 'redis.example', port: 6379 }]
  expect(readRedisAddress('redis://redis.example?cluster')).toEqual({ kind: 'cluster', nodes, login: {} })
})

test.each(['p@ss:w/ord', 'a#b?c', '100%off', 'x,y', 'kürz', 'A1+b/C2==', 'sp ace', '\'"\\'])(
  'the password %j is read when it is encoded',
  (password) => {
    const encoded = encodeURIComponent(password)
    for (const url of [
      `redis://:${encoded}@a`,
      `sentinel://:${encoded}@a/main`,
      `redis://:${encoded}@a,redis://:${encoded}@b`,
    ])
      expect(readRedisAddress(url).login.password, url).toBe(password)
    const sentinel = readRedisAddress(`sentinel://a/main?sentinel-password=${encoded}`)
    expect(sentinel).toMatchObject({ login: {}, ofSentinels: { password } })
  },
)

test.each(['p@ss:w/ord', 'a#b?c', '100%off', 'x,y', 'A1+b/C2==', '12#b', '12/b', '12?b'])(
  'the password %j as it is: the refusal says how it is written, and does not repeat it',
  (password) => {
    for (const url of [
      `redis://u:${password}@a:1`,
      `sentinel://u:${password}@a:1/main`,
      `redis://u:${password}@a,redis://b`,
    ]) {
      expect(() => readRedisAddress(url), url).toThrow(/percent-encoded.*%40/)
      expect(() => readRedisAddress(url), url).not.toThrow(password)
    }
  },
)

test('for people an address has no user and no password', () => {
  expect(withoutLogin('redis://u:a%40b@h:1/2')).toBe('redis://h:1/2')
  expect(withoutLogin('rediss://u:p@a, rediss://u:p@b?ca=/x')).toBe('rediss://a,rediss://b?ca=/x')
  expect(withoutLogin('sentinel://u:p@a,b:1/main?sentinel-password=s&db=2')).toBe('sentinel://a,b:1/main?db=2')
})

test('several are nodes of a cluster, with one login', () => {
  expect(readRedisAddress('rediss://u:p%40ss@a:7000, rediss://u:p%40ss@[::1]')).toEqual({
    kind: 'cluster',
    nodes: [
      { host: 'a', port: 7000 },
      { host: '::1', port: 6379 },
    ],
    login: { username: 'u', password: 'p@ss', tls: {} },
  })
})

test('sentinel:// names who knows the master, and its name; both may have a login', () => {
  const fields = 'sentinel-username=s&sentinel-password=theirs&db=1'
  expect(readRedisAddress(`sentinels://:secret@a,b:26380/crawl-1?${fields}`)).toEqual({
    kind: 'sentinel',
    sentinels: [
      { host: 'a', port: 26379 },
      { host: 'b', port: 26380 },
    ],
    master: 'crawl-1',
    db: 1,
    login: { password: 'secret', tls: {} },
    ofSentinels: { username: 's', password: 'theirs', tls: {} },
  })
})

test.each([
  ['', 'a Redis address such as redis://127.0.0.1:6379 is needed'],
  ['127.0.0.1:6379', 'a Redis address such as'],
  ['http://a', 'a Redis address such as'],
  ['redis://a,', 'a Redis address such as'],
  ['redis://a?family=6', "'family' means nothing"],
  ['redis://a?ca=/x', 'only rediss:// and sentinels:// speak TLS'],
  ['rediss://a?cert=/x', 'are given together'],
  ['redis://a/one', 'the database is a number'],
  ['redis://a,rediss://b', 'all redis:// or all rediss://'],
  ['redis://a/1,redis://b/1', 'no numbered databases'],
  ['redis://u:secret@a,redis://b', 'the same user and password'],
  ['sentinel://a:26379', 'sentinel://host:26379,other:26379/name-of-the-master is needed'],
  ['sentinel://a,u:secret@b/main', 'user and password stand once'],
])('%j is refused with what is wrong, and without repeating a password', (text, message) => {
  expect(() => readRedisAddress(text)).toThrow(message)
  expect(() => readRedisAddress(text)).not.toThrow('secret')
})
