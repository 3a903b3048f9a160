/** What the second reader reads and what it refuses, answer by answer. Chromium 156, curl 7.88 and wget 1.21 were the witnesses. */
import { LenientReader, RefusedAnswerError } from '@decorum/sending/testing'
import { describe, expect, test } from 'vitest'

type Seen = {
  status?: number
  statusText?: string
  headers?: [string, string][]
  body: string
  isOver: boolean
  marks: string[]
}

/** @param cuts  where the octets are cut into pieces */
function read(octets: string, { isFirst = true, isHead = false } = {}, cuts: number[] = []): Seen | string {
  const seen: Seen = { body: '', isOver: false, marks: [] }
  const bytes = Buffer.from(octets, 'latin1')
  try {
    const reader = new LenientReader(
      { isHead, isFirst },
      {
        interim: () => {},
        head: ({ status, statusText, headers }) => void Object.assign(seen, { status, statusText, headers }),
        data: (piece) => {
          seen.body += piece.toString('latin1')
        },
      },
    )
    let from = 0
    for (const to of [...cuts, bytes.length]) {
      const piece = Buffer.from(bytes.subarray(from, to))
      reader.write(piece)
      piece.fill(0x58) // what is needed later has been copied
      from = to
    }
    return { ...seen, isOver: reader.isOver, marks: [...reader.tolerated].sort() }
  } catch (error) {
    if (error instanceof RefusedAnswerError) return error.message
    throw error
  }
}

const OK = 'HTTP/1.1 200 OK\r\n'
const END = 'Content-Length: 5\r\n\r\nhello'
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`
const LAST = '0\r\n\r\n'

const READ: Record<string, [octets: string, marks: string[]]> = {
  'an answer without a fault': [OK + END, []],
  'a header that goes on in the next line': [`${OK}X: a;\r\n b\r\n${END}`, ['folded-header']],
  'a length in the next line': [`${OK}Content-Length:\r\n 5\r\n\r\nhello`, ['folded-header']],
  'a coding in the next line': [`${OK}Transfer-Encoding:\r\n\tchunked\r\n\r\n5\r\nhello\r\n${LAST}`, ['folded-header']],
  'a blank at the start of the first header line': [`${OK} X: a\r\n${END}`, ['not-a-header']],
  'line feeds alone': ['HTTP/1.1 200 OK\nContent-Length: 5\n\nhello', ['bare-lf']],
  'a line feed alone at the end of the head': [`${OK}Content-Length: 5\r\n\nhello`, ['bare-lf']],
  'two CRs before a line feed': [`HTTP/1.1 200 OK\r\r\n${END}`, ['control-octet']],
  'a CR in a value': [`${OK}X: a\rb\r\n${END}`, ['control-octet']],
  'a control octet in a cookie': [`${OK}Set-Cookie: a=\x01b\r\n${END}`, ['control-octet']],
  'DEL in a value': [`${OK}X: a\x7fb\r\n${END}`, ['control-octet']],
  'a blank before the colon': [`${OK}X : a\r\n${END}`, ['blank-before-colon']],
  'a blank before the colon of a length': [`${OK}Content-Length : 5\r\n\r\nhello`, ['blank-before-colon']],
  'a line without a colon': [`${OK}what is this\r\n${END}`, ['not-a-header']],
  'an empty name': [`${OK}: x\r\n${END}`, ['not-a-header']],
  'a name that is no token': [`${OK}X(A): x\r\n${END}`, ['not-a-header']],
  'a name in Latin-1': [`${OK}X\xe9: x\r\n${END}`, ['not-a-header']],
  'no blank behind the status': [`HTTP/1.1 200OK\r\n${END}`, ['status-line']],
  'two blanks before the status': [`HTTP/1.1  200 OK\r\n${END}`, ['status-line']],
  'http in lower case': [`http/1.1 200 OK\r\n${END}`, ['status-line']],
  'HTTP/2 in a status line': [`HTTP/2 200 OK\r\n${END}`, ['status-line']],
  'a higher minor version (RFC 9110 §2.5)': [`HTTP/1.2 200 OK\r\n${END}`, ['status-line']],
  'no reason phrase': [`HTTP/1.1 200\r\n${END}`, []],
  'blank lines before the status line': [`\r\n\n${OK}${END}`, ['before-status']],
  'four octets before the status line': [`abcd${OK}${END}`, ['before-status']],
  'blanks behind the chunk size': [`${CHUNKED}5  \r\nhello\r\n0 \r\n\r\n`, ['chunk-size-blanks']],
  'a tab behind the chunk size': [`${CHUNKED}5\t\r\nhello\r\n${LAST}`, ['chunk-size-blanks']],
  'a chunk extension': [`${CHUNKED}5;a=b;c="d;\x20e"\r\nhello\r\n${LAST}`, []],
  'an odd chunk extension': [`${CHUNKED}5;\x01=;;\r\nhello\r\n${LAST}`, ['chunk-extension']],
  'zeros before the chunk size': [`${CHUNKED}${'0'.repeat(30)}5\r\nhello\r\n000\r\n\r\n`, []],
  'line feeds between chunks': [`${CHUNKED}5\nhello\n0\n\n`, ['bare-lf']],
  'a trailer': [`${CHUNKED}5\r\nhello\r\n0\r\nX: y\r\n\r\n`, []],
  'a trailer that is none': [`${CHUNKED}5\r\nhello\r\n0\r\nwhat\r\n\r\n`, ['not-a-header']],
  'a length beside chunks': [
    `${OK}Content-Length: 99\r\nTransfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n${LAST}`,
    ['length-beside-chunked'],
  ],
  'the same length twice': [`${OK}Content-Length: 5\r\n${END}`, ['length-repeated']],
  'the same length as a list': [`${OK}Content-Length: 5 ,5\r\n\r\nhello`, ['length-repeated']],
  'chunked twice': [`${OK}Transfer-Encoding: chunked, chunked\r\n\r\n5\r\nhello\r\n${LAST}`, ['chunked-repeated']],
  'an empty element behind chunked': [`${OK}Transfer-Encoding: chunked,\r\n\r\n5\r\nhello\r\n${LAST}`, []],
  'a coding before chunked': [
    `${OK}Transfer-Encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n${LAST}`,
    ['transfer-coding'],
  ],
  'identity and a length': [`${OK}Transfer-Encoding: identity\r\n${END}`, ['transfer-coding']],
  'a 100 that nobody asked for': [`HTTP/1.1 100 Continue\r\nX: y\r\n\r\n${OK}${END}`, ['unasked-continue']],
  'early hints': [`HTTP/1.1 103 Early\r\n\r\n${OK}${END}`, []],
}

const REFUSED: Record<string, [octets: string, why: string]> = {
  'NUL in a value': [`${OK}X: a\0b\r\n${END}`, 'NUL in a header'],
  'a CR that hides a length': [
    `${OK}X: a\rContent-Length: 3\r\n${END}`,
    'a bare CR in front of a header that frames the body',
  ],
  'LF CR as line ends': [
    'HTTP/1.1 200 OK\n\rContent-Length: 5\n\r\n\rhello',
    'a bare CR in front of a header that frames the body',
  ],
  'CR as line ends': ['HTTP/1.1 200 OK\rContent-Length: 0\r\r', 'a bare CR in the status line'],
  'HTTP/0.9': ['<html>hello', 'no status line'],
  'a radio station': [`ICY 200 OK\r\n${END}`, 'no status line'],
  'five octets before the status line': [`abcde${OK}${END}`, 'no status line'],
  'HTTP/3': [`HTTP/3.0 200 OK\r\n${END}`, 'the version is none of HTTP/1'],
  'no version': [`HTTP 200 OK\r\n${END}`, 'the status line is none'],
  'a status of two digits': [`HTTP/1.1 20 OK\r\n${END}`, 'the status line is none'],
  'a status of four digits': [`HTTP/1.1 2000 OK\r\n${END}`, 'the status line is none'],
  'no status': [`HTTP/1.1\r\n${END}`, 'the status line is none'],
  'tabs in the status line': [`HTTP/1.1\t200\tOK\r\n${END}`, 'the status line is none'],
  'two lengths': [`${OK}Content-Length: 3\r\n${END}`, 'two lengths'],
  'two lengths in a list': [`${OK}Content-Length: 5, 3\r\n\r\nhello`, 'two lengths'],
  'one length in two spellings': [`${OK}Content-Length: 05\r\n${END}`, 'two lengths'],
  'an empty length': [`${OK}Content-Length:\r\n\r\nhello`, 'Content-Length: '],
  'a length with a sign': [`${OK}Content-Length: +5\r\n\r\nhello`, 'Content-Length: +5'],
  'a negative length': [`${OK}Content-Length: -1\r\n\r\nhello`, 'Content-Length: -1'],
  'a length in two lines': [`${OK}Content-Length: 5\r\n 0\r\n\r\nhello`, 'Content-Length: 5 0'],
  'a length beyond counting': [
    `${OK}Content-Length: ${'9'.repeat(30)}\r\n\r\nhello`,
    `Content-Length: ${'9'.repeat(30)}`,
  ],
  'chunked that is not last': [
    `${OK}Transfer-Encoding: chunked, gzip\r\n\r\n5\r\n`,
    'Transfer-Encoding: chunked, gzip',
  ],
  'chunked with a parameter': [`${OK}Transfer-Encoding: chunked;q=1\r\n\r\n5\r\n`, 'Transfer-Encoding: chunked;q=1'],
  'chunked behind a control octet': [
    `${OK}Transfer-Encoding: \x0bchunked\r\n\r\n5\r\n`,
    'Transfer-Encoding: \x0bchunked',
  ],
  'a coding and a length': [`${OK}Transfer-Encoding: gzip\r\n${END}`, 'Transfer-Encoding and Content-Length'],
  'chunks and a length in HTTP/1.0': [
    'HTTP/1.0 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
    'Transfer-Encoding and Content-Length',
  ],
  'a change of protocol': [`HTTP/1.1 101 Switching\r\n\r\n${OK}${END}`, 'a change of protocol that nobody asked for'],
  'a blank before the chunk size': [`${CHUNKED} 5\r\nhello\r\n${LAST}`, 'a chunk without a size'],
  'a word behind the chunk size': [`${CHUNKED}5 abc\r\nhello\r\n${LAST}`, 'a chunk without a size'],
  'a chunk size with 0x': [`${CHUNKED}0x5\r\nhello\r\n${LAST}`, 'a chunk without a size'],
  'a negative chunk size': [`${CHUNKED}-5\r\nhello\r\n${LAST}`, 'a chunk without a size'],
  'an empty line before the chunk size': [`${CHUNKED}\r\n5\r\nhello\r\n${LAST}`, 'a chunk without a size'],
  'no line end behind a chunk': [`${CHUNKED}5\r\nhello0\r\n\r\n`, 'a chunk is longer than its size'],
  'a chunk of 2^64': [`${CHUNKED}10000000000000000\r\nhello`, 'a chunk of more than 2^52 bytes'],
  'a head of 300 KB': [
    `${OK}X: ${'x'.repeat(300_000)}\r\n${END}`,
    'more than 262144 bytes of a head, or between chunks',
  ],
  'a head of tiny lines': [`${OK}${'a:\r\n'.repeat(20_000)}${END}`, 'more than 16384 header fields'],
  'a chunk extension of 20 KB': [
    `${CHUNKED}5;${'x'.repeat(20_000)}\r\nhello`,
    'more than 16384 bytes of a head, or between chunks',
  ],
}

describe('is read, with a mark', () => {
  test.each(Object.entries(READ))('%s', (_, [octets, marks]) => {
    expect(read(octets)).toMatchObject({ status: 200, body: 'hello', isOver: true, marks })
  })
})

describe('stays refused', () => {
  test.each(Object.entries(REFUSED))('%s', (_, [octets, why]) => expect(read(octets)).toBe(why))
})

test('wherever the octets are cut, the same is read', () => {
  for (const [octets] of [...Object.values(READ), ...Object.values(REFUSED)]) {
    if (octets.length > 300) continue
    const whole = read(octets)
    const single = Array.from({ length: octets.length }, (_, at) => at)
    expect(read(octets, {}, single)).toEqual(whole)
    for (const at of single) expect(read(octets, {}, [at])).toEqual(whole)
  }
})

test('fields come as they were sent: order, case, repeats, octets', () => {
  const octets = `HTTP/1.0 404 Tr\xe8s  bien\xa0\r\nX-B : 1 \r\nno header\r\n of two lines\r\nx-a:\xe9\r\n  \t\r\n more\r\nX-B:2\r\n\r\n`
  expect(read(octets)).toMatchObject({
    status: 404,
    statusText: 'Tr\xe8s  bien\xa0',
    headers: [
      ['X-B', '1'],
      ['x-a', '\xe9 more'],
      ['X-B', '2'],
    ],
  })
})

test('on a connection that was used before, nothing stands before the status line: it may be left from the last answer', () => {
  expect(read(`abcd${OK}${END}`, { isFirst: false })).toBe('bytes before the status line of a later answer')
  expect(read(`\r\n${OK}${END}`, { isFirst: false })).toMatchObject({ body: 'hello', marks: ['before-status'] })
})

test('an answer without a body is over with its head, whatever its length says', () => {
  for (const status of [204, 304])
    expect(read(`HTTP/1.1 ${status} X\nContent-Length: 5\n\nhello`)).toMatchObject({ status, body: '', isOver: true })
  expect(read(`HTTP/1.1 200 X\n${END}`, { isHead: true })).toMatchObject({ body: '', isOver: true })
})

test('what is no answer over HTTP is refused before its line has ended', () => {
  expect(read('SSH-2.0-OpenSSH_9.2')).toBe('no status line')
  expect(read('220 mail')).toBe('no status line')
  expect(read('220 ')).toMatchObject({ isOver: false })
})
