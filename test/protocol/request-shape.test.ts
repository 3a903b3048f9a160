/** How a candidate shapes its request: what each field may hold, and that nothing of it gets lost on the way to an order. */
import {
  type Candidate,
  isAccepted,
  MAX_SHAPE_BYTES,
  type RequestShape,
  readCandidate,
  SHAPE_FIELDS,
  shapeOf,
  shapeOfTarget,
} from '@decorum/protocol'
import { describe, expect, test } from 'vitest'

const url = 'http://a.test/x'
const full: Required<RequestShape> = {
  method: 'HEAD',
  headers: { 'Accept-Language': 'de, en;q=0.5' },
  ifNoneMatch: 'W/"a b", "c"',
  ifModifiedSince: 'Sat, 21 Nov 2026 08:00:00 GMT',
  knownDigest: 'sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ',
  maxBytes: 1,
  deadlineMs: 100,
  accept: ['text/html', 'image/*', 'application/ld+json'],
  redirects: 'report',
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
}

test('every field is read as it was given, and its shape is all of it', () => {
  const read = readCandidate({ url, ...full })
  expect(read).toMatchObject({ ok: true, candidate: full })
  expect(read.ok && shapeOf(read.candidate)).toEqual(full)
  expect([...SHAPE_FIELDS].sort()).toEqual(Object.keys(full).sort())
})

test('the usual request has no shape, also when its fields say so', () => {
  expect(shapeOf({ url, meta: {} } as Candidate)).toBeUndefined()
  expect(shapeOf({ url, method: 'GET', redirects: 'follow' } as Candidate)).toBeUndefined()
})

test('the target of a redirect is asked for in the same way, without the validators of another page', () => {
  expect(shapeOfTarget(full)).toEqual({
    ...full,
    ifNoneMatch: undefined,
    ifModifiedSince: undefined,
    knownDigest: undefined,
  })
  expect(shapeOfTarget({ ifNoneMatch: '"a"' })).toBeUndefined()
  expect(shapeOfTarget(undefined)).toBeUndefined()
})

describe('what is wrong ends as bad-candidate, and names the field', () => {
  test.each<[string, object, RegExp]>([
    ['another method', { method: 'POST' }, /^method: /],
    ['a method in lower case', { method: 'get' }, /^method: /],
    ['no object', { headers: 'accept-language: de' }, /^headers: an object/],
    ['an array', { headers: [['accept-language', 'de']] }, /^headers: an object/],
    [
      'seventeen headers',
      { headers: Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`x-${n}`, 'a'])) },
      /^headers: at most 16/,
    ],
    ['a name twice', { headers: { 'X-A': '1', 'x-a': '2' } }, /^headers: x-a stands there twice/],
    ['a name with a blank', { headers: { 'x a': '1' } }, /^headers: the name/],
    ['a name that ends the line', { headers: { 'x-a:\r\nHost': '1' } }, /^headers: the name/],
    ['__proto__', { headers: JSON.parse('{"__proto__":"1"}') as object }, /^headers: the name/],
    ['a value that ends the line', { headers: { 'x-a': '1\r\nHost: b' } }, /^headers: x-a: /],
    ['a value with NUL', { headers: { 'x-a': 'a\0b' } }, /^headers: x-a: /],
    ['an empty value', { headers: { 'x-a': '' } }, /^headers: x-a: /],
    ['a value with a blank at its end', { headers: { 'x-a': 'a ' } }, /^headers: x-a: /],
    ['a value beyond Latin-1', { headers: { 'x-a': 'ж' } }, /^headers: x-a: /],
    ['a value of 1025 characters', { headers: { 'x-a': 'a'.repeat(1_025) } }, /^headers: x-a: /],
    ['a value that is no text', { headers: { 'x-a': 1 } }, /^headers: x-a: /],
    ['an ETag that ends the line', { ifNoneMatch: '"a"\r\nhost: b' }, /^ifNoneMatch: /],
    ['any ETag', { ifNoneMatch: '*' }, /^ifNoneMatch: /],
    ['an ETag of 513 characters', { ifNoneMatch: `"${'a'.repeat(511)}"` }, /^ifNoneMatch: /],
    ['no date', { ifModifiedSince: 'yesterday' }, /^ifModifiedSince: /],
    ['an instant', { ifModifiedSince: 1_795_219_200_000 }, /^ifModifiedSince: /],
    ['no bytes', { maxBytes: 0 }, /^maxBytes: /],
    ['half a byte', { maxBytes: 1.5 }, /^maxBytes: /],
    ['a deadline that nobody can keep', { deadlineMs: 99 }, /^deadlineMs: /],
    ['no types', { accept: [] }, /^accept: /],
    ['seventeen types', { accept: Array.from({ length: 17 }, () => 'a/b') }, /^accept: /],
    ['a type with a parameter', { accept: ['text/html;q=1'] }, /^accept.0: /],
    ['every type', { accept: ['*/*'] }, /^accept.0: /],
    ['a type in capitals', { accept: ['Text/HTML'] }, /^accept.0: /],
    ['redirects otherwise', { redirects: 'manual' }, /^redirects: /],
    ['null', { maxBytes: null }, /^maxBytes: /],
    ['a misspelt field', { maxbytes: 5 }, /^maxbytes: there is no such member; did you mean maxBytes/],
  ])('%s', (_, fields, detail) => {
    expect(readCandidate({ url, ...fields })).toMatchObject({
      ok: false,
      refusal: { reason: 'bad-candidate', detail: expect.stringMatching(detail) },
    })
  })

  test.each([
    'User-Agent',
    'From',
    'Host',
    'Cookie',
    'Authorization',
    'Proxy-Authorization',
    'Connection',
    'Transfer-Encoding',
    'Content-Length',
    'Content-Type',
    'TE',
    'Upgrade',
    'Expect',
    'Referer',
    'Origin',
    'Via',
    'Forwarded',
    'X-Forwarded-For',
    'X-Real-IP',
    'Fastly-Client-IP',
    'X-Azure-ClientIP',
    'X-Device-User-Agent',
    'X-OperaMini-Phone-UA',
    'X-Api-Key',
    'X-Auth-Token',
    'X-Amz-Security-Token',
    'X-CSRF-Token',
    'X-Serverless-Authorization',
    'X-Original-URL',
    'X-Rewrite-URL',
    'X-HTTP-Method-Override',
    'Sec-Fetch-Mode',
    'Signature',
    'Signature-Agent',
    'Range',
    'If-Match',
    'If-Range',
    'If-None-Match',
    'If-Modified-Since',
    'Accept',
    'Accept-Encoding',
  ])('the header %s, in whatever case', (name) => {
    for (const given of [name, name.toLowerCase(), name.toUpperCase()])
      expect(readCandidate({ url, headers: { [given]: 'a' } }), given).toMatchObject({
        ok: false,
        refusal: { detail: expect.stringMatching(new RegExp(`^headers: ${name.toLowerCase()} cannot be set: `)) },
      })
  })
})

test('what is stored with a candidate has a bound', () => {
  const sized = (chars: number) => ({ url, headers: { 'x-a': 'a'.repeat(1_000), 'x-b': 'a'.repeat(chars) } })
  const fits = MAX_SHAPE_BYTES - JSON.stringify({ headers: sized(0).headers }).length
  expect(readCandidate(sized(fits)).ok).toBe(true)
  expect(readCandidate(sized(fits + 1))).toMatchObject({
    refusal: { reason: 'bad-candidate', detail: expect.stringMatching(/2048 bytes/) },
  })
  expect(readCandidate({ url, headers: { 'x-a': 'a'.repeat(1_000), 'x-b': 'ÿ'.repeat(fits) } }).ok).toBe(false)
})

test.each<[string | undefined, boolean]>([
  ['text/html', true],
  ['Text/HTML; charset=utf-8', true],
  [' text/html ;a', true],
  ['image/png', true],
  ['text/plain', false],
  ['text/htmlx', false],
  ['imagex/png', false],
  ['text', false],
  ['', false],
  [undefined, false],
])('an answer of type %j is wanted by text/html, image/*: %s', (type, wanted) => {
  expect(isAccepted(['text/html', 'image/*'], type)).toBe(wanted)
})
