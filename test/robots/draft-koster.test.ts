/** draft-koster-rep-00, the ancestor of RFC 9309, where it says something of its own or says it more clearly. */
import { judge, parseRobots, policies, type RobotsState, step, unknownOrigin } from '@decorum/robots'
import { expect, test } from 'vitest'
import { lines, matches, under } from './support/ask.ts'

const allowed = under('rfc9309')
const at = 1_800_000_000_000
const answered = (status: number): RobotsState =>
  step(unknownOrigin, { kind: 'answered', status, hash: 'h', jitter: 0 }, at)
const kind = (state: RobotsState, now: number): string =>
  judge({ ...state, rules: parseRobots('user-agent: *\ndisallow: /') }, '/x', 'me', policies.rfc9309, now).kind

test('2.2.1 the token is matched exactly, without case', () => {
  expect(allowed(lines('user-agent: ExampleBot', 'disallow: /'), 'examplebot', '/')).toBe(false)
  expect(allowed(lines('user-agent: Example', 'disallow: /'), 'examplebot', '/')).toBe(true)
})
test('2.2.1 groups that name an agent are one group; else the group of *; else no rules', () => {
  const robots = lines(
    'user-agent: a',
    'disallow: /1',
    'user-agent: *',
    'disallow: /2',
    'user-agent: a',
    'disallow: /3',
  )
  const refused = (agent: string): number[] => [1, 2, 3].filter((n) => !allowed(robots, agent, `/${n}`))
  expect(refused('a')).toEqual([1, 3])
  expect(refused('b')).toEqual([2])
})
test('2.2.2 octets outside ASCII, and reserved ones, are compared percent-encoded', () => {
  expect(matches('rfc9309', '/foo/bar/ツ', '/foo/bar/%E3%83%84')).toBe(true)
  expect(matches('rfc9309', '/foo/%2Fbar', '/foo//bar')).toBe(false)
})
test('2.2.3 # * $ are special', () => {
  expect(matches('rfc9309', '/a/*/b$', '/a/x/y/b')).toBe(true)
  expect(matches('rfc9309', '/a/*/b$', '/a/x/y/bc')).toBe(false)
})
test('2.2.4 other records, such as sitemaps, do not end a group', () => {
  expect(
    allowed(lines('user-agent: a', 'sitemap: https://h.example/s', 'user-agent: b', 'disallow: /'), 'a', '/x'),
  ).toBe(false)
})
test('2.3.1.2 five redirects are followed, more are unavailable', () => {
  expect(kind(step(unknownOrigin, { kind: 'unanswered', reason: 'too-many-redirects', jitter: 0 }, at), at)).toBe(
    'allowed',
  )
})
test('2.3.1.3 unavailable, 400 to 499: no restriction', () => {
  for (const status of [400, 404, 499]) expect(kind(answered(status), at)).toBe('allowed')
})
test('2.3.1.4 unreachable, 500 to 599 and every undefined status: complete disallow', () => {
  for (const status of [500, 599, 100, 304, 600, 999]) expect(kind(answered(status), at)).toBe('wait')
})
test('2.4 no cached copy is used for more than 24 hours unless the file is unreachable', () => {
  const day = 86_400_000
  expect(kind(answered(200), at + day - 1)).toBe('refused')
  expect(kind(answered(200), at + day)).toBe('ask')
  expect(kind(answered(404), at + day)).toBe('ask')
})
test('2.5 at least 500 KiB are read', () => {
  expect(allowed(`user-agent: *\n${'#\n'.repeat(255_900)}disallow: /`, 'x', '/y')).toBe(false)
})
test('3 a robots.txt is no protection, and a rule for one agent shows nothing to another', () => {
  expect(allowed(lines('user-agent: a', 'disallow: /secret'), 'b', '/secret')).toBe(true)
})
