/** Bodies of POST /v1/candidates: all of them or nothing, and the line that is wrong. */
import { loadAgents } from '@decorum/config'
import { readBody } from '@decorum/console/inside'
import { expect, test } from 'vitest'

/** as the answer has it */
const told = (read: unknown) => JSON.parse(JSON.stringify(read))

const agents = loadAgents({
  agents: JSON.stringify([
    { name: 'first-bot', userAgent: 'first-bot/1 (+https://example.com/bot)' },
    { name: 'Second', userAgent: 'second/1 (+https://example.com/bot)' },
  ]),
  defaultDelayMs: 1_000,
  maxDelayMs: 10_000,
})

test('text: one URL a line; blank lines, comments and Windows line ends are skipped', () => {
  const read = readBody('# list\r\nhttp://a.example/1\r\n\r\nhttps://B.example:443/2\r\n', 'text', agents, undefined)
  expect(read).toEqual({
    candidates: [
      { candidate: { url: 'http://a.example/1' }, host: 'a.example' },
      { candidate: { url: 'https://B.example:443/2' }, host: 'b.example' },
    ],
  })
})

test('text: CR alone ends a line as well; a URL with a CR in it would be read as one of another page', () => {
  const read = readBody('http://a.example/1\r# x\rhttp://b.example/2', 'text', agents, undefined)
  expect('candidates' in read && read.candidates.map((one) => one.candidate.url)).toEqual([
    'http://a.example/1',
    'http://b.example/2',
  ])
  expect(told(readBody('http://a.example/\r\rhttp:// /', 'text', agents, undefined))).toMatchObject({ line: 3 })
})

test('the agent of the query is everybody’s who names none', () => {
  const body = '{"url":"http://a.example/"}\n{"url":"http://a.example/","agent":"first-bot"}'
  const read = readBody(body, 'ndjson', agents, 'SECOND')
  expect('candidates' in read && read.candidates.map((one) => one.candidate.agent)).toEqual(['SECOND', 'first-bot'])
})

test.each([
  ['text', 'http://a.example/\n\n# x\nhttp:// /', 4, 'not-a-url'],
  ['text', 'javascript:alert(1)', 1, 'scheme-not-supported'],
  ['text', 'http://user:secret@a.example/', 1, 'user-info'],
  ['ndjson', '{"url":"http://a.example/"}\n{"url":', 2, 'bad-json'],
  ['ndjson', '{"url":"http://a.example/"}\n\n{"uri":"http://a.example/"}', 3, 'bad-candidate'],
  ['ndjson', '{"url":"http://a.example/","agent":"nobody"}', 1, 'unknown-agent'],
  ['json', '[{"url":"http://a.example/"},{"url":"http://a.example/","id":""}]', 2, 'bad-candidate'],
  ['json', '{"candidates":[{"url":"http://a.example/"},7]}', 2, 'bad-candidate'],
] as const)('%s %j: line %i is refused as %s', (shape, body, line, error) => {
  const read = told(readBody(body, shape, agents, undefined))
  expect(read).toMatchObject({
    type: error,
    line,
    detail: expect.stringContaining(`${shape === 'json' ? 'candidate' : 'line'} ${line}: `),
  })
  expect(JSON.stringify(read)).not.toContain('secret')
})

test('JSON that is none, and a body without a candidate, are refused without a line', () => {
  expect(readBody('{', 'json', agents, undefined)).toMatchObject({ type: 'bad-json' })
  expect(readBody('# only a comment', 'text', agents, undefined)).toMatchObject({ type: 'nothing-to-do' })
  expect(readBody('[]', 'json', agents, undefined)).toMatchObject({ type: 'nothing-to-do' })
})

test('one candidate, an array and { candidates } are the same thing', () => {
  const one = readBody('{"url":"http://a.example/"}', 'json', agents, undefined)
  expect(readBody('[{"url":"http://a.example/"}]', 'json', agents, undefined)).toEqual(one)
  expect(readBody('{"candidates":[{"url":"http://a.example/"}]}', 'json', agents, undefined)).toEqual(one)
})

test('what only the fleet may set is refused, and an unknown member is named, with its line', () => {
  expect(told(readBody('{"url":"http://a.example/","hops":10}', 'json', agents, undefined))).toMatchObject({
    type: 'bad-candidate',
    detail: expect.stringContaining('hops: only the fleet itself counts redirects'),
  })
  const lines = '{"url":"http://a.example/"}\n{"url":"http://a.example/b","prio":"high","piority":"high"}\n'
  expect(told(readBody(lines, 'ndjson', agents, undefined))).toMatchObject({
    type: 'bad-candidate',
    detail: expect.stringMatching(/^line 2: prio: there is no such member/),
    line: 2,
  })
})

test('JSON as a job has it: its crawl is that of the candidates that name none, before the one of the query', () => {
  const body = '{"crawl":"news","candidates":[{"url":"http://a.example/"},{"url":"http://a.example/","crawl":"other"}]}'
  for (const query of [undefined, 'daily']) {
    const read = readBody(body, 'json', agents, undefined, query)
    expect('candidates' in read && read.candidates.map((one) => one.candidate.crawl)).toEqual(['news', 'other'])
  }
})

test.each([
  [
    'a crawl that is no name',
    '{"crawl":"News 1","candidates":[{"url":"http://a.example/"}]}',
    /^crawl: a crawl is named/,
  ],
  ['a crawl that is null', '{"crawl":null,"candidates":[{"url":"http://a.example/"}]}', /^crawl: a crawl is named/],
  [
    'a misspelt member',
    '{"crwal":"news","candidates":[{"url":"http://a.example/"}]}',
    /crwal.*no other member than crawl/,
  ],
])('%s beside the candidates: nothing is taken', (_what, body, message) => {
  expect(told(readBody(body, 'json', agents, undefined))).toMatchObject({
    type: 'bad-body',
    detail: expect.stringMatching(message),
  })
})
