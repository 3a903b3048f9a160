/** ① Candidates out of a stranger's JSON: what is accepted, and how a refusal names its reason. */

import {
  assignedId,
  candidatesOf,
  frontierJob,
  isAssigned,
  LAST_INSTANT,
  MAX_BATCH,
  MAX_ID_CHARS,
  MAX_META_BYTES,
  readCandidate,
} from '@decorum/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'

const good = { url: 'http://a.test/x' }
/** JSON that is nested deeper than JSON.stringify can follow. */
const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`) as unknown

test('a URL is enough; everything else is kept as it was given', () => {
  expect(readCandidate(good)).toEqual({
    ok: true,
    candidate: good,
    at: { origin: 'http://a.test', path: '/x', host: 'a.test' },
  })
  const full = { ...good, id: 'i', agent: 'bot', priority: 'high', expiresAt: 5, meta: { a: [1] }, hops: 3 }
  expect(readCandidate(full)).toMatchObject({ ok: true, candidate: full })
})

test.for([
  [
    'colour',
    'colour: there is no such member; there are url, id, agent, crawl, priority, expiresAt, meta, ' +
      'method, headers, ifNoneMatch, ifModifiedSince, knownDigest, maxBytes, deadlineMs, accept, redirects, traceparent',
  ],
  ['expriesAt', 'expriesAt: there is no such member; did you mean expiresAt?'],
  ['expires_at', 'expires_at: there is no such member; did you mean expiresAt?'],
  ['URL', 'URL: there is no such member; did you mean url?'],
  ['Priority', 'Priority: there is no such member; did you mean priority?'],
] as const)('an unknown member %s makes it invalid, and is named', ([name, detail]) => {
  const read = readCandidate({ ...good, id: 'a', [name]: 'red' })
  expect(read).toMatchObject({ ok: false, id: 'a', refusal: { reason: 'bad-candidate', detail } })
})

test('a misspelt member is named rather than the missing one', () => {
  expect(readCandidate({ ulr: 'http://a.test/' })).toMatchObject({
    refusal: { detail: 'ulr: there is no such member; did you mean url?' },
  })
})

test('whatever a stranger calls a member, its name is cut and cannot steer a terminal', () => {
  const read = readCandidate({ ...good, [`\u001b[2J\ud800${'x'.repeat(9_999)}`]: 1 })
  const detail = read.ok ? '' : (read.refusal.detail ?? '')
  expect(detail).toContain('there is no such member')
  expect(detail.length).toBeLessThan(300)
  expect(detail).toMatch(/^[\x20-\ufffd]*$/)
})

test('a job of candidates has no other member: a default for all of them would be dropped silently', () => {
  expect(candidatesOf({ candidates: [good], priority: 'high' })).toEqual({
    reason: 'bad-job',
    detail: 'priority: a job with candidates has no other member than crawl',
  })
})

test.each([
  ['nothing', undefined, 'bad-candidate', /^candidate: /],
  ['null', null, 'bad-candidate', /^candidate: /],
  ['a string', 'http://a.test/', 'bad-candidate', /^candidate: /],
  ['an array', [good], 'bad-candidate', /^candidate: /],
  ['no url', {}, 'bad-candidate', /^url: /],
  ['a url that is no string', { url: 7 }, 'bad-candidate', /^url: /],
  ['an empty id', { ...good, id: '' }, 'bad-candidate', /^id: /],
  ['an id of 129 characters', { ...good, id: 'x'.repeat(129) }, 'bad-candidate', /^id: /],
  ['an agent of 65 characters', { ...good, agent: 'x'.repeat(65) }, 'bad-candidate', /^agent: /],
  ['another priority', { ...good, priority: 'urgent' }, 'bad-candidate', /^priority: /],
  ['an expiry that is no number', { ...good, expiresAt: '2026' }, 'bad-candidate', /^expiresAt: /],
  [
    'an expiry that JSON cannot carry on',
    { ...good, expiresAt: Number.MAX_VALUE },
    'bad-candidate',
    /^expiresAt: .*from 0 to 8640000000000000/,
  ],
  [
    'an expiry one ms beyond what a date can be',
    { ...good, expiresAt: LAST_INSTANT + 1 },
    'bad-candidate',
    /^expiresAt: /,
  ],
  ['an expiry before time began', { ...good, expiresAt: -1 }, 'bad-candidate', /^expiresAt: /],
  ['an id with half of a surrogate pair', { ...good, id: 'x\ud800' }, 'bad-candidate', /^id: .*well-formed/],
  ['an agent with half of a surrogate pair', { ...good, agent: 'x\udfff' }, 'bad-candidate', /^agent: .*well-formed/],
  ['a url with half of a surrogate pair', { url: 'http://a.test/\ud800' }, 'not-well-formed', undefined],
  [
    'meta with half of a pair in a value',
    { ...good, meta: { a: [{ b: '\udc00' }] } },
    'bad-candidate',
    /^meta: .*well-formed/,
  ],
  [
    'meta with half of a pair in a key',
    { ...good, meta: { a: { '\ud83d': 1 } } },
    'bad-candidate',
    /^meta: .*well-formed/,
  ],
  [
    'meta with a number beyond all',
    { ...good, meta: JSON.parse('{"a":[1e999]}') as object },
    'bad-candidate',
    /^meta: a number beyond/,
  ],
  [
    'meta with 2^53 + 1',
    { ...good, meta: JSON.parse('{"id":9007199254740993}') as object },
    'bad-candidate',
    /^meta: .*write it as text/,
  ],
  ['an expiry without end', { ...good, expiresAt: Number.POSITIVE_INFINITY }, 'bad-candidate', /^expiresAt: /],
  ['meta that is a list', { ...good, meta: [1] }, 'bad-candidate', /^meta: /],
  ['an eleventh hop', { ...good, hops: 11 }, 'bad-candidate', /^hops: /],
  ['meta that is too large', { ...good, meta: { a: 'x'.repeat(MAX_META_BYTES) } }, 'meta-too-large', /4096/],
  [
    'meta nested too deep',
    { ...good, meta: { deep: JSON.parse(`${'['.repeat(64)}${']'.repeat(64)}`) } },
    'bad-candidate',
    /64 levels/,
  ],
  ['meta nested without end', { ...good, meta: { deep } }, 'meta-too-large', /4096/],
  ['an id as gateways assign them', { ...good, id: '#:12.0' }, 'reserved-id', /leave it out/],
  ['a url that is none', { url: 'nonsense' }, 'not-a-url', undefined],
])('refused: %s', (_, data, reason, detail) => {
  const read = readCandidate(data)
  expect(read).toMatchObject({ ok: false, refusal: { reason } })
  if (!read.ok && detail !== undefined) expect(read.refusal.detail).toMatch(detail)
})

test.each([0, 1.5, 1_700_000_000_000, LAST_INSTANT])(
  'an expiry of %d is an instant, past or fractional as it may be',
  (expiresAt) => {
    expect(readCandidate({ ...good, expiresAt })).toMatchObject({ ok: true, candidate: { expiresAt } })
  },
)

test('a refusal echoes nothing that would not come out as it went in', () => {
  const broken = { url: 3, id: 'x\ud800', agent: '\ud800', meta: { a: '\ud800' } }
  expect(readCandidate(broken)).toEqual({ ok: false, refusal: expect.anything(), url: '' })
})

test('a candidate that claims an assigned id does not keep it: its outcome must not be taken for the true one', () => {
  expect(readCandidate({ ...good, id: '#:12.0' })).not.toHaveProperty('id')
})

test('assigned ids say job and place, and the time of a job whose name its producer chose', () => {
  const run = '0123456789abcdef'
  const assigned = (id: string, index: number, queue = '0') => assignedId(queue, { id, timestamp: 1_700 }, index)
  expect(assigned('12', 3)).toBe('#:12.3')
  expect(assigned('12', 3, '5-11')).toBe('#:5-11/12.3')
  expect(assigned(frontierJob(run, 7), 99)).toBe(`#:f${run}-7.99`)
  for (const chosen of ['daily', 'f12-7', `${run}-7`, '1e3']) expect(assigned(chosen, 0)).toBe(`#:${chosen}@1700.0`)
})

test('no id that we assign can be a frontier’s own, and none needs to be looked up', () => {
  for (const job of ['12', 'daily', frontierJob('0123456789abcdef', 7)]) {
    const id = assignedId('0', { id: job, timestamp: 1_700 }, 0)
    expect(isAssigned(id)).toBe(true)
    expect(readCandidate({ ...good, id })).toMatchObject({ ok: false, refusal: { reason: 'reserved-id' } })
  }
})

test('members of a job with an endless name have ids of their own, none too long', () => {
  const ids = [0, 999].map((index) => assignedId('11', { id: 'n'.repeat(500), timestamp: Date.now() }, index))
  expect(new Set(ids).size).toBe(2)
  for (const id of ids) expect(id.length).toBeLessThanOrEqual(MAX_ID_CHARS)
})

test('meta of exactly 4096 bytes is kept, one more is not, whatever the characters', () => {
  const meta = { a: 'x'.repeat(MAX_META_BYTES - '{"a":""}'.length) }
  expect(readCandidate({ ...good, meta })).toMatchObject({ ok: true, candidate: { meta } })
  const wide = { a: 'é'.repeat(MAX_META_BYTES / 2) }
  expect(readCandidate({ ...good, meta: wide })).toMatchObject({ ok: false, refusal: { reason: 'meta-too-large' } })
})

test('how large meta is, is told as JSON.stringify would, whatever it is made of', () => {
  const members = fc.constantFrom<unknown>(
    '',
    'a',
    'é',
    1,
    -1.5,
    null,
    true,
    [],
    {},
    [0],
    [[]],
    { a: 1 },
    { '': '' },
    '"',
  )
  fc.assert(
    fc.property(fc.array(members, { minLength: 1, maxLength: 4 }), fc.boolean(), (pattern, inObject) => {
      const octets = (meta: object): number => Buffer.byteLength(JSON.stringify(meta))
      const metaOf = (length: number): object => {
        const list = Array.from({ length }, (_, at) => pattern[at % pattern.length])
        return inObject ? Object.fromEntries(list.map((member, at) => [at.toString(36), member])) : { list }
      }
      let length = 1
      while (octets(metaOf(length)) <= MAX_META_BYTES) length += 1 + ((MAX_META_BYTES - octets(metaOf(length))) >> 4)
      while (octets(metaOf(length - 1)) > MAX_META_BYTES) length--
      expect(readCandidate({ ...good, meta: metaOf(length - 1) }).ok).toBe(true)
      expect(readCandidate({ ...good, meta: metaOf(length) })).toMatchObject({ refusal: { reason: 'meta-too-large' } })
    }),
    { numRuns: 30 },
  )
})

test('of meta that is too large no more is read than tells it', () => {
  let reads = 0
  const counted = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(from, name) {
        reads++
        return Reflect.get(from, name)
      },
    })
  const long = Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`${at}`, at]))
  for (const wide of [Array.from({ length: 100_000 }, () => 1), long]) {
    expect(readCandidate({ ...good, meta: { wide: counted(wide) } })).toMatchObject({
      refusal: { reason: 'meta-too-large' },
    })
  }
  expect(reads).toBeLessThan(100)
})

test('meta that throws when it is read is refused', () => {
  const thrower = {
    get boo(): never {
      throw new Error('boo')
    },
  }
  for (const meta of [thrower, { deeper: thrower }])
    expect(readCandidate({ ...good, meta })).toMatchObject({ refusal: { reason: 'meta-too-large' } })
})

test('a refusal saves what can be saved of id, url, agent and meta, and nothing that is too large', () => {
  expect(readCandidate({ url: 'ftp://a.test/', id: 'i', agent: 'bot', meta: { n: 1 } })).toEqual({
    ok: false,
    refusal: { reason: 'ftp-not-supported' },
    url: 'ftp://a.test/',
    id: 'i',
    agent: 'bot',
    meta: { n: 1 },
  })
  const large = { url: 3, id: 'x'.repeat(129), agent: 'y'.repeat(65), meta: { a: 'x'.repeat(5_000) } }
  expect(readCandidate(large)).toEqual({ ok: false, refusal: expect.anything(), url: '' })
  expect(readCandidate({ url: 3, meta: { deep } })).toEqual({ ok: false, refusal: expect.anything(), url: '' })
})

test('whatever a stranger sends, reading it never throws and every refusal has a reason', () => {
  const stranger = fc.oneof(
    fc.anything(),
    fc.record({ url: fc.oneof(fc.string(), fc.webUrl(), fc.anything()) }),
    fc.record({
      url: fc.webUrl(),
      id: fc.anything(),
      meta: fc.object(),
      expiresAt: fc.anything(),
      hops: fc.anything(),
    }),
  )
  fc.assert(
    fc.property(stranger, (data) => {
      const read = readCandidate(data)
      if (!read.ok) expect(read.refusal.reason).toMatch(/^[a-z-]+$/)
    }),
  )
})

test('keys that mean something to JavaScript do no harm', () => {
  const own = JSON.parse('{"url":"http://a.test/","__proto__":{"id":"x"}}') as unknown
  expect(readCandidate(own)).toMatchObject({ ok: false, refusal: { detail: expect.stringMatching(/^__proto__: /) } })
  const read = readCandidate(JSON.parse('{"url":"http://a.test/","meta":{"__proto__":{"evil":1}}}'))
  expect(JSON.stringify(read.ok && read.candidate.meta), 'and meta is echoed whole').toBe('{"__proto__":{"evil":1}}')
  expect(({} as Record<string, unknown>).evil).toBeUndefined()
})

test('a job carries one candidate, or up to 1000 in a list', () => {
  expect(candidatesOf(good)).toEqual([good])
  expect(candidatesOf({ candidates: [good, 'anything'] })).toEqual([good, 'anything'])
  expect(candidatesOf({ candidates: Array.from({ length: MAX_BATCH }, () => good) })).toHaveLength(MAX_BATCH)
})

test.each([
  ['nothing', undefined],
  ['text', 'http://a.test'],
  ['a list', [good]],
  ['an empty object', {}],
  ['an empty list', { candidates: [] }],
  ['candidates that are no list', { candidates: good }],
  ['1001 of them', { candidates: Array.from({ length: MAX_BATCH + 1 }, () => good) }],
])('a job of %s yields one refusal', (_, data) => {
  expect(candidatesOf(data)).toMatchObject({ reason: 'bad-job', detail: expect.any(String) })
})
