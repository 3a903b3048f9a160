/** Sites that misbehave, one port each: what they say to every request, and what a page outcome must say of it. */
import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import type { Tolerated } from '@decorum/protocol'

/** Octets of a body beyond which the test's fetcher cuts. */
export const CAP = 300_000
/** ms, for what only a deadline ends; a head must have come by then, on a busy machine too. */
export const DEADLINE = 5_000
/** ms, for what ends by itself. */
export const LONG_DEADLINE = 120_000

export type Expected =
  | {
      kind: 'fetched'
      status: number
      truncated?: 'length' | 'time' | 'disconnect'
      bytes?: number
      tolerated?: Tolerated[]
    }
  /** `late`: the reason that a process gives which was not there when it happened */
  | { kind: 'failed'; reason: string; late?: string }
  | { kind: 'redirected'; status: number }

export type Behaviour = {
  /** what is said once a request head is complete */
  say?: (socket: Socket, nth: number) => void
  /** what is said as soon as somebody connects */
  greet?: (socket: Socket) => void
  expect: Expected
}

const OK = 'HTTP/1.1 200 OK\r\n'
type Say = NonNullable<Behaviour['say']>
const text =
  (head: string, body = ''): Say =>
  (socket) =>
    void socket.write(`${head}\r\n\r\n${body}`, 'latin1')
const last =
  (head: string, body = ''): Say =>
  (socket) =>
    void socket.end(`${head}\r\n\r\n${body}`, 'latin1')
/** Whether nothing but the deadline ends an exchange with it. */
export const endsByDeadline = ({ expect }: Behaviour): boolean =>
  expect.kind === 'failed' ? expect.reason === 'timeout' : expect.kind === 'fetched' && expect.truncated === 'time'

/** Says `first`, then `again` every `ms` (0: as fast as the socket takes it) until nobody listens. */
const forEver =
  (first: string, again: string, ms = 0): Say =>
  (socket) => {
    socket.write(first, 'latin1')
    if (ms > 0) {
      const timer = setInterval(() => socket.write(again, 'latin1'), ms)
      socket.on('close', () => clearInterval(timer))
      return
    }
    const flood = () => {
      while (socket.writable && socket.write(again, 'latin1'));
    }
    socket.on('drain', flood)
    flood()
  }
const failed = (reason: string): Expected => ({ kind: 'failed', reason })
const fetched = (status = 200, more: Partial<Extract<Expected, { kind: 'fetched' }>> = {}): Expected => ({
  kind: 'fetched',
  status,
  ...more,
})
/** Read all the same, with these marks. */
const overlooked = (...tolerated: Tolerated[]): Expected => fetched(200, { bytes: 5, tolerated })
const CHUNKED = `${OK}Transfer-Encoding: chunked`

// oxfmt-ignore
export const BEHAVIOURS: Record<string, Behaviour> = {
  // status line
  'HTTP/0.9: text without a head': { say: (s) => void s.end('<html>hello'), expect: failed('protocol') },
  'an SSH banner': { greet: (s) => void s.write('SSH-2.0-OpenSSH_9.2\r\n'), expect: failed('protocol') },
  'a mail server': { greet: (s) => void s.write('220 mail ESMTP\r\n'), expect: failed('protocol') },
  'random octets': { say: (s) => void s.end(Buffer.from(Array.from({ length: 5_000 }, (_, i) => (i * 7919) & 255))), expect: failed('protocol') },
  'status 099': { say: text('HTTP/1.1 099 Low\r\nContent-Length: 0'), expect: failed('protocol') },
  'status 20': { say: text('HTTP/1.1 20 Short\r\nContent-Length: 0'), expect: failed('protocol') },
  'status 2000': { say: text('HTTP/1.1 2000 Long\r\nContent-Length: 0'), expect: failed('protocol') },
  'status 999': { say: text('HTTP/1.1 999 Denied\r\nContent-Length: 0'), expect: fetched(999) },
  'no reason phrase': { say: text('HTTP/1.1 200\r\nContent-Length: 2', 'ok'), expect: fetched(200, { bytes: 2 }) },
  'a reason phrase of 10 KB': { say: text(`HTTP/1.1 200 ${'x'.repeat(10_000)}\r\nContent-Length: 2`, 'ok'), expect: fetched(200, { bytes: 2 }) },
  'a reason phrase without end': { say: forEver('HTTP/1.1 200 ', 'x'.repeat(4_096)), expect: failed('protocol') },
  'version in lower case': { say: text('http/1.1 200 OK\r\nContent-Length: 5', 'hello'), expect: overlooked('status-line') },
  'a status without a blank behind it': { say: text('HTTP/1.1 200OK\r\nContent-Length: 5', 'hello'), expect: overlooked('status-line') },
  'HTTP/2 in front of HTTP/1.1': { say: text('HTTP/2 200 OK\r\nContent-Length: 5', 'hello'), expect: overlooked('status-line') },
  'a radio station': { say: text('ICY 200 OK\r\nContent-Length: 5', 'hello'), expect: failed('protocol') },
  'a byte order mark before the status line': { say: text(`\xef\xbb\xbf${OK}Content-Length: 5`, 'hello'), expect: overlooked('before-status') },
  'nine octets before the status line': { say: text(`<!-- x -->${OK}Content-Length: 5`, 'hello'), expect: failed('protocol') },
  'HTTP/3.0': { say: text('HTTP/3.0 200 OK\r\nContent-Length: 0'), expect: failed('protocol') },
  'HTTP/2 settings frame': { greet: (s) => void s.write(Buffer.from('000000040000000000', 'hex')), expect: failed('protocol') },
  'HTTP/1.0, closed at the end': { say: last('HTTP/1.0 200 OK', 'old'), expect: fetched(200, { bytes: 3 }) },
  'empty lines without end': { say: forEver('', '\r\n'.repeat(500)), expect: failed('protocol') },
  // head
  'line feeds alone': { say: (s) => void s.write('HTTP/1.1 200 OK\nContent-Length: 5\n\nhello'), expect: overlooked('bare-lf') },
  'a folded header': { say: text(`${OK}X-A: b\r\n c\r\nContent-Length: 5`, 'hello'), expect: overlooked('folded-header') },
  'a folded header in single octets': { say: (s) => { const octets = Buffer.from(`${OK}X-A: b\r\n c\r\nContent-Length: 5\r\n\r\nhello`); let at = 0; const more = (): void => { if (at < octets.length && s.writable) s.write(octets.subarray(at, ++at), () => setImmediate(more)) }; more() }, expect: overlooked('folded-header') },
  'a control octet in a cookie': { say: text(`${OK}Set-Cookie: a=Jol\x01Sd; path=/\r\nContent-Length: 5`, 'hello'), expect: overlooked('control-octet') },
  'a blank before the colon': { say: text(`${OK}Content-Type : text/html\r\nContent-Length: 5`, 'hello'), expect: overlooked('blank-before-colon') },
  'NUL in a header': { say: text(`${OK}X-A: b\0c\r\nContent-Length: 0`), expect: failed('protocol') },
  'a blank in a header name': { say: text(`${OK}X A: b\r\nContent-Length: 5`, 'hello'), expect: overlooked('not-a-header') },
  'a header without a colon': { say: text(`${OK}what is this\r\nContent-Length: 5`, 'hello'), expect: overlooked('not-a-header') },
  'a bare CR that hides a length': { say: text(`${OK}X-A: b\rContent-Length: 3\r\nContent-Length: 5`, 'hello'), expect: failed('protocol') },
  'carriage returns alone': { say: (s) => void s.write('HTTP/1.1 200 OK\rContent-Length: 0\r\r'), expect: failed('protocol') },
  '200 KB of headers': { say: text(`${OK}${'X-Filler: 0123456789\r\n'.repeat(10_000)}Content-Length: 5`, 'hello'), expect: overlooked('large-head') },
  '300 KB of headers': { say: text(`${OK}${'X-Filler: 0123456789\r\n'.repeat(15_000)}Content-Length: 5`, 'hello'), expect: failed('protocol') },
  'sixteen thousand folds': { say: text(`${OK}X-A: b\r\n${' bbbbbbbbbb\r\n'.repeat(16_000)}Content-Length: 5`, 'hello'), expect: overlooked('folded-header', 'large-head') },
  'fifty thousand headers': { say: text(`${OK}${'a:\r\n'.repeat(50_000)}Content-Length: 5`, 'hello'), expect: failed('protocol') },
  'one header of 100 KB': { say: text(`${OK}X-Long: ${'x'.repeat(100_000)}\r\nContent-Length: 5`, 'hello'), expect: overlooked('large-head') },
  'a header of blanks': { say: text(`${OK}X-Long: a${' '.repeat(200_000)}b\r\nContent-Length: 5`, 'hello'), expect: overlooked('large-head') },
  'headers without end': { say: forEver(OK, 'X-Filler: 0123456789\r\n'.repeat(20)), expect: failed('protocol') },
  'headers that drip': { say: forEver(OK, 'X-A: b\r\n', 50), expect: failed('timeout') },
  'a header named __proto__': { say: text(`${OK}__proto__: x\r\nconstructor: y\r\nContent-Length: 1`, 'a'), expect: fetched(200, { bytes: 1 }) },
  'four hundred cookies': { say: text(`${OK}${'Set-Cookie: a=b; Path=/\r\n'.repeat(400)}Content-Length: 0`), expect: fetched() },
  'Latin-1 and emoji in a header': { say: text(`${OK}X-A: \xe9\xf0\x9f\x98\x80\r\nContent-Length: 0`), expect: fetched() },
  // framing
  'a negative length': { say: text(`${OK}Content-Length: -1`), expect: failed('protocol') },
  'two lengths': { say: text(`${OK}Content-Length: 1\r\nContent-Length: 2`, 'ab'), expect: failed('protocol') },
  'a length in hex': { say: text(`${OK}Content-Length: 0x10`, 'x'.repeat(16)), expect: failed('protocol') },
  'a length of 30 digits': { say: text(`${OK}Content-Length: ${'9'.repeat(30)}`), expect: failed('protocol') },
  'length and chunks': { say: text(`${OK}Content-Length: 3\r\nTransfer-Encoding: chunked`, '5\r\nhello\r\n0\r\n\r\n'), expect: overlooked('length-beside-chunked') },
  'the same length twice': { say: text(`${OK}Content-Length: 5\r\nContent-Length: 5`, 'hello'), expect: overlooked('length-repeated') },
  'a length and a blank': { say: text(`${OK}Content-Length: 5 `, 'hello'), expect: fetched(200, { bytes: 5 }) },
  'a length with a sign': { say: last(`${OK}Content-Length: +5`, 'hello'), expect: failed('protocol') },
  'chunked, but not last': { say: last(`${OK}Transfer-Encoding: chunked, identity`, '5\r\nhello\r\n0\r\n\r\n'), expect: failed('protocol') },
  'chunked with a parameter': { say: last(`${OK}Transfer-Encoding: chunked;q=1`, '5\r\nhello\r\n0\r\n\r\n'), expect: failed('protocol') },
  'chunked twice': { say: text(`${OK}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked`, '5\r\nhello\r\n0\r\n\r\n'), expect: overlooked('chunked-repeated') },
  'a transfer coding and a length': { say: text(`${OK}Transfer-Encoding: gzip\r\nContent-Length: 5`, 'hello'), expect: failed('protocol') },
  'blanks behind a chunk size': { say: text(CHUNKED, '5  \r\nhello\r\n0   \r\n\r\n'), expect: overlooked('chunk-size-blanks') },
  'blanks behind the second chunk size': { say: (s) => { s.write(`${CHUNKED}\r\n\r\n2\r\nhe`); setTimeout(() => s.write('\r\n3'), 20); setTimeout(() => s.write(' \r\nllo\r\n0\r\n\r\n'), 40) }, expect: overlooked('chunk-size-blanks') },
  'line feeds between chunks': { say: text(CHUNKED, '5\nhello\n0\n\n'), expect: overlooked('bare-lf') },
  'a trailer without a colon': { say: text(CHUNKED, '5\r\nhello\r\n0\r\nwhat is this\r\n\r\n'), expect: overlooked('not-a-header') },
  'blanks behind chunk sizes, without end': { say: forEver(`${CHUNKED}\r\n\r\n`, '1 \r\nx\r\n'.repeat(1_000)), expect: fetched(200, { truncated: 'length' }) },
  'a body shorter than its length, and Connection: close': { say: last(`${OK}Connection: close\r\nContent-Length: 100`, 'short'), expect: fetched(200, { truncated: 'disconnect', bytes: 5 }) },
  'a body without length, and a reset': { say: (s) => void s.write(`${OK}\r\nabc`, () => setTimeout(() => s.resetAndDestroy(), 50)), expect: fetched(200, { truncated: 'disconnect', bytes: 3 }) },
  'chunks that break off, and Connection: close': { say: last(`${CHUNKED}\r\nConnection: close`, '5\r\nhello\r\n'), expect: fetched(200, { truncated: 'disconnect', bytes: 5 }) },
  'a body shorter than its length': { say: last(`${OK}Content-Length: 100`, 'short'), expect: fetched(200, { truncated: 'disconnect', bytes: 5 }) },
  'a body longer than its length': { say: text(`${OK}Content-Length: 5`, 'hello and more'), expect: fetched(200, { bytes: 5 }) },
  'a bad chunk size': { say: text(`${OK}Transfer-Encoding: chunked`, 'xyz\r\nabc\r\n'), expect: failed('protocol') },
  'a negative chunk': { say: text(`${OK}Transfer-Encoding: chunked`, '-5\r\nabc\r\n'), expect: failed('protocol') },
  'a chunk of 2^64': { say: text(`${OK}Transfer-Encoding: chunked`, '10000000000000000\r\nabc\r\n'), expect: failed('protocol') },
  'a chunk that lies about its length': { say: text(`${OK}Transfer-Encoding: chunked`, '3\r\nabcdef\r\n0\r\n\r\n'), expect: failed('protocol') },
  'chunks that break off': { say: last(`${OK}Transfer-Encoding: chunked`, '5\r\nhello\r\n'), expect: fetched(200, { truncated: 'disconnect', bytes: 5 }) },
  'a chunk extension of 100 KB': { say: text(`${OK}Transfer-Encoding: chunked`, `3;${'x'.repeat(100_000)}\r\nabc\r\n0\r\n\r\n`), expect: fetched(200, { bytes: 3 }) },
  'a chunk extension without end': { say: forEver(`${OK}Transfer-Encoding: chunked\r\n\r\n3;`, 'x'.repeat(4_096)), expect: fetched(200, { truncated: 'length', bytes: 0 }) },
  'trailers of 1 MB': { say: text(`${OK}Transfer-Encoding: chunked`, `3\r\nabc\r\n0\r\n${'X-T: 0123456789\r\n'.repeat(60_000)}\r\n`), expect: failed('protocol') },
  'trailers without end': { say: forEver(`${OK}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n`, 'X-T: 0123456789\r\n'.repeat(50)), expect: failed('protocol') },
  'a transfer coding that nobody asked for': { say: last(`${OK}Transfer-Encoding: gzip`, 'abc'), expect: fetched(200, { bytes: 3, tolerated: ['transfer-coding'] }) },
  'no length, closed at the end': { say: last('HTTP/1.1 200 OK', 'until the end'), expect: fetched(200, { bytes: 13 }) },
  '204 with a body': { say: text('HTTP/1.1 204 None\r\nContent-Length: 5', 'hello'), expect: fetched(204, { bytes: 0 }) },
  '304 with a body': { say: text('HTTP/1.1 304 Same\r\nContent-Length: 5', 'hello'), expect: fetched(304, { bytes: 0 }) },
  'two answers to one request': { say: text(`${OK}Content-Length: 1`, `a${OK}Content-Length: 1\r\n\r\nb`), expect: fetched(200, { bytes: 1 }) },
  // 1xx
  'an unasked 100': { say: text(`HTTP/1.1 100 Continue\r\n\r\n${OK}Content-Length: 5`, 'hello'), expect: overlooked('unasked-continue') },
  'an unasked 100, and the answer later': { say: (s) => { s.write('HTTP/1.1 100 Continue\r\n\r\n'); setTimeout(() => s.write(`${OK}Content-Length: 5\r\n\r\nhello`), 30) }, expect: overlooked('unasked-continue') },
  'unasked 100s without end': { say: forEver('', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(10)), expect: failed('protocol') },
  'forty early hints': { say: text(`${'HTTP/1.1 103 Early\r\n\r\n'.repeat(40)}${OK}Content-Length: 5`, 'hello'), expect: fetched(200, { bytes: 5 }) },
  'an unasked 101': { say: text('HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade'), expect: failed('protocol') },
  'early hints, then the answer': { say: text(`HTTP/1.1 103 Early\r\nLink: </a>\r\n\r\n${OK}Content-Length: 2`, 'ok'), expect: fetched(200, { bytes: 2 }) },
  'early hints without end': { say: forEver('', 'HTTP/1.1 103 Early\r\n\r\n'.repeat(10)), expect: failed('protocol') },
  'early hints, slowly': { say: forEver('', 'HTTP/1.1 102 Working\r\n\r\n', 500), expect: failed('timeout') },
  // time and size
  silence: { say: () => {}, expect: failed('timeout') },
  'a body that drips': { say: forEver(`${OK}Content-Length: 100000\r\n\r\n`, 'x', 50), expect: fetched(200, { truncated: 'time' }) },
  'a head, then silence': { say: text(`${OK}Content-Length: 10`), expect: fetched(200, { truncated: 'time', bytes: 0 }) },
  'a body without end': { say: forEver('HTTP/1.1 200 OK\r\n\r\n', 'z'.repeat(16_384)), expect: fetched(200, { truncated: 'length', bytes: CAP }) },
  'chunks without end, one octet each': { say: forEver(`${OK}Transfer-Encoding: chunked\r\n\r\n`, '1\r\nx\r\n'.repeat(1_000)), expect: fetched(200, { truncated: 'length' }) },
  'a bomb in gzip': { say: (s) => { const bomb = gzipSync(Buffer.alloc(30_000_000)); s.write(`${OK}Content-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`); s.write(bomb) }, expect: fetched(200) },
  'six codings': { say: text(`${OK}Content-Encoding: gzip, gzip, gzip, gzip, gzip, gzip\r\nContent-Length: 3`, 'abc'), expect: fetched(200, { bytes: 3 }) },
  // connection
  'hangs up on the request': { say: (s) => void s.end(), expect: failed('reset') },
  'resets on the request': { say: (s) => void s.resetAndDestroy(), expect: failed('reset') },
  'resets soon after connecting': { greet: (s) => void setTimeout(() => s.resetAndDestroy(), 50), expect: { kind: 'failed', reason: 'reset', late: 'connect' } },
  'hangs up on connecting': { greet: (s) => void s.end(), expect: failed('reset') },
  'resets after the head': { say: (s) => void s.write(`${OK}Content-Length: 10\r\n\r\n`, () => setTimeout(() => s.resetAndDestroy(), 50)), expect: fetched(200, { truncated: 'disconnect', bytes: 0 }) },
  'resets in mid-body': { say: (s) => void s.write(`${OK}Content-Length: 10\r\n\r\nabc`, () => setTimeout(() => s.resetAndDestroy(), 50)), expect: fetched(200, { truncated: 'disconnect', bytes: 3 }) },
  'answers before it was asked': { greet: (s) => void s.write(`${OK}Content-Length: 0\r\n\r\n`), expect: fetched(200, { bytes: 0 }) },
  // redirects
  'a redirect to itself': { say: text('HTTP/1.1 302 Again\r\nLocation: /page\r\nContent-Length: 0'), expect: failed('too-many-redirects') },
  'a Location of 12 KB': { say: text(`HTTP/1.1 302 Far\r\nLocation: /${'x'.repeat(12_000)}\r\nContent-Length: 0`), expect: failed('bad-redirect') },
  'a Location of 100 KB': { say: text(`HTTP/1.1 302 Far\r\nLocation: /${'x'.repeat(100_000)}\r\nContent-Length: 0`), expect: failed('bad-redirect') },
  'a redirect with an endless body': { say: forEver('HTTP/1.1 301 Moved\r\nLocation: /there\r\n\r\n', 'z'.repeat(16_384)), expect: { kind: 'redirected', status: 301 } },
}
