/** What a record says of an answer is what came: version, reason phrase, octets of fields; and a head that every reader takes. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { openContent } from '@decorum/client'
import { openArchive, type Page } from '@decorum/fetcher/testing'
import type { ArchiveRef } from '@decorum/protocol'
import { type Answer, Body, requestHead } from '@decorum/sending/bodies'
import { expect, onTestFinished, test } from 'vitest'
import { agentsOf } from '../support/agents.ts'
import { python } from '../support/python.ts'

type Given = Partial<Pick<Answer, 'status' | 'statusText' | 'headers' | 'protocol' | 'truncated'>> &
  Pick<Page, 'revisit'> & { path?: string; body?: string }

/** Archives the answers in turn. @returns their places, and what lies there as Latin-1; the independent reader has checked the file */
async function archived(...given: Given[]) {
  const dir = await mkdtemp(join(tmpdir(), 'decorum-records-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  const sink = await openArchive(dir, agentsOf())
  const refs: ArchiveRef[] = []
  for (const { path = '/page', body = 'the page', revisit, ...over } of given) {
    const kept = new Body(true)
    await kept.write(Buffer.from(body, 'latin1'))
    const usual = { status: 200, statusText: 'OK', headers: [], protocol: 'http/1.1', truncated: '' } as const
    const about = {
      tolerated: [],
      startedAt: Date.UTC(2026, 10, 20, 0, refs.length),
      endedAt: 0,
      timing: { totalMs: 1 },
    }
    const answer: Answer = {
      kind: 'answered',
      ...about,
      address: '127.0.0.1',
      body: kept,
      ...usual,
      ...over,
      headers: over.headers ?? [],
    }
    const head = requestHead('http://example.com', path, [], answer.protocol)
    const page: Page = {
      kind: 'page',
      url: `http://example.com${path}`,
      agent: 'x',
      requestHead: head,
      answer,
      id: 'x',
    }
    const ref = await sink.store(revisit === undefined ? page : { ...page, revisit }, new AbortController().signal)
    refs.push(ref as ArchiveRef)
  }
  await sink.close()
  const [index = '', file = ''] = (await readdir(dir)).sort()
  for (const [what, name] of [
    ['check', file],
    ['cdxj', index],
  ] as const) {
    const { code, out } = await python(what, join(dir, name))
    expect(code, out).toBe(0)
  }
  const bytes = await readFile(join(dir, file))
  const records = refs.map(({ offset, length }) => {
    const [fields = '', ...rest] = gunzipSync(bytes.subarray(offset, offset + length))
      .toString('latin1')
      .split('\r\n\r\n')
    return { fields: fields.split('\r\n'), block: rest.join('\r\n\r\n').slice(0, -4) }
  })
  const lines = (await readFile(join(dir, index), 'utf8')).split('\n').filter((line) => line !== '')
  return {
    refs,
    records,
    lines,
    replay: async (...urls: string[]) => (await python('replay', dir, ...urls)).out.trim().split('\n'),
  }
}

test.each([
  ['http/1.0', 'HTTP/1.0 200 OK\r\n'],
  ['http/1.1', 'HTTP/1.1 200 OK\r\n'],
  ['h2', 'HTTP/1.1 200 OK\r\n'], // archives have no other form for it
] as const)('an answer in %s is archived as one', async (protocol, line) => {
  const { records } = await archived({ protocol })
  expect(records[0]?.block.startsWith(line)).toBe(true)
  expect(records[0]?.fields).toContain(`WARC-Protocol: ${protocol}`)
})

test('a reason phrase and fields are the octets that came, also control octets; a line stays one to every reader', async () => {
  const headers: [string, string][] = [
    ['Set-Cookie', 'a=\x01b\x7f\0'],
    ['X-Latin', 'caf\xe9'],
    ['X-Last', 'citt\xc3\xa0'],
    ['X-Ends', 'a\rb\nWARC-Type: c\r\n\r\nd'],
  ]
  const { records, refs } = await archived({ statusText: 'Tr\xe8s\rbien', headers })
  expect(records[0]?.block).toBe(
    'HTTP/1.1 200 Tr\xe8s bien\r\nSet-Cookie: a=\x01b\x7f\0\r\nX-Latin: caf\xe9\r\nX-Last: citt\xc3\xa0\r\nX-Ends: a b WARC-Type: c  d\r\n\r\nthe page',
  )
  const content = await openContent(refs[0]?.ref ?? '')
  expect(content.headers.get('x-last'), 'an octet 0xA0 is no blank').toBe('citt\xc3\xa0')
  expect(await content.text()).toBe('the page')
})

test('a length beside a transfer coding did not count, and does not count for readers of the archive', async () => {
  const both: Given = {
    headers: [
      ['content-length', '3'],
      ['Transfer-Encoding', 'chunked'],
    ],
    body: 'longer than three',
  }
  const { records } = await archived(both, { headers: [['Content-Length', '300']], truncated: 'length' })
  expect(records[0]?.block).toBe(
    'HTTP/1.1 200 OK\r\nX-Archive-Orig-content-length: 3\r\nX-Archive-Orig-Transfer-Encoding: chunked\r\n\r\nlonger than three',
  )
  expect(records[1]?.block, 'what a cut body announced stays').toContain('\r\nContent-Length: 300\r\n')
  expect(records[1]?.fields).toContain('WARC-Truncated: length')
})

test('a head of 256 KiB is kept, indexed and read back', async () => {
  const headers = Array.from({ length: 256 }, (_, n): [string, string] => [`X-${n}`, 'v'.repeat(1_010)])
  const { refs, lines } = await archived({ headers })
  expect(lines).toHaveLength(1)
  const content = await openContent(refs[0]?.ref ?? '')
  expect([...content.headers.keys()]).toHaveLength(256)
  expect(await content.text()).toBe('the page')
})

test('a URL that is no URI is escaped in the record, and found by the key of both', async () => {
  const { records, lines, refs } = await archived({ path: '/a|{}[]%?q=[]\\%zz|' })
  const uri = 'http://example.com/a%7C%7B%7D%5B%5D%25?q=%5B%5D%5C%25zz%7C'
  expect(records[0]?.fields).toContain(`WARC-Target-URI: ${uri}`)
  expect(
    lines[0]?.startsWith('com,example)/a|{}[]%25?q=[]\\%25zz| 20261120000000 {"url":"http://example.com/a%7C'),
  ).toBe(true)
  expect(await (await openContent(refs[0]?.ref ?? '')).text()).toBe('the page')
})

const NOT_MODIFIED: Given = { status: 304, statusText: 'Not Modified', headers: [['ETag', '"a"']], body: '' }

test('a 304 replays as the earlier capture, whether its digest is known or not: nothing of its head is kept', async () => {
  const digest = 'sha1:PLBABCWRCKP23DTORUST6OV5PTG27VX7' // of "the page"
  const { records, lines, replay } = await archived(
    { path: '/known' },
    { ...NOT_MODIFIED, path: '/known', revisit: { kind: 'server-not-modified', digest } },
    { path: '/unknown' },
    { ...NOT_MODIFIED, path: '/unknown', revisit: { kind: 'server-not-modified', digest: undefined } },
  )
  for (const { fields, block } of [records[1], records[3]] as typeof records) {
    expect(fields).toContain('WARC-Profile: http://netpreserve.org/warc/1.1/revisit/server-not-modified')
    expect([fields.at(-1), block]).toEqual(['Content-Length: 0', ''])
  }
  const fields = JSON.parse(lines[1]?.split(' ').slice(2).join(' ') ?? '')
  expect(fields).toMatchObject({ mime: 'warc/revisit', digest })
  expect(fields).not.toHaveProperty('status')
  const both = ['known', 'unknown'].map((name) => `http://example.com/${name}`)
  expect(await replay(...both)).toEqual(['200 warc/revisit the page', '200 warc/revisit the page'])
})

test('a 304 that nobody asked for is kept as it came, and stands before no earlier capture', async () => {
  const { records, lines, replay } = await archived({}, NOT_MODIFIED)
  expect(records[1]?.block).toBe('HTTP/1.1 304 Not Modified\r\nETag: "a"\r\n\r\n')
  expect(lines).toHaveLength(1)
  expect(await replay('http://example.com/page')).toEqual(['200 unk the page'])
})
