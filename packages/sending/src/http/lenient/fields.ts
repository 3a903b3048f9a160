/** Parses the lines of a head as Chromium does: a status line, then header fields. Pure; bytes are Latin-1 text. */
import type { Tolerated } from '@decorum/protocol'
import { isBlank, trimBlanks, trimmedPart } from '@decorum/protocol/headers'
import { HEAD_MAX_FIELDS } from '../../limits.ts'
import type { Headers, Protocol } from '../answer.ts'

/** The second reader refuses the answer, too. The code has the form of llhttp's codes. */
export class RefusedAnswerError extends Error {
  override readonly name = 'RefusedAnswerError'
  readonly code = 'HPE_REFUSED'
}

export type Mark = (fault: Tolerated) => void

export type StatusLine = { protocol: Exclude<Protocol, 'h2'>; status: number; statusText: string }

/** The status has three digits. Chromium accepts any number, and reads a missing one as 200; curl refuses both, and so does this reader. */
const STATUS_LINE = /^(HTTP)\/(\d)(?:\.(\d))?( +)([1-9]\d\d)(?!\d)( *)(.*)$/is

export function readStatusLine(line: string, mark: Mark): StatusLine {
  const [, name, major, minor, before, status, between, reason] = STATUS_LINE.exec(line) ?? []
  if (reason === undefined || /[\0\r]/.test(line)) throw new RefusedAnswerError('the status line is none')
  const version = `${major}.${minor ?? (major === '2' ? '0' : '')}`
  if (!VERSIONS.test(version)) throw new RefusedAnswerError('the version is none of HTTP/1')
  const isUsual = /^1\.[01]$/.test(version) && name === 'HTTP' && before === ' ' && (between === ' ' || reason === '')
  if (!isUsual) mark('status-line')
  return {
    protocol: version === '1.0' || version === '0.9' ? 'http/1.0' : 'http/1.1',
    status: Number(status),
    statusText: trimBlanks(reason),
  }
}
/** A higher minor version is read as 1.1 (RFC 9110 §2.5). Some gateways write HTTP/2 in front of HTTP/1.1. */
const VERSIONS = /^(0\.9|1\.\d|2\.0)$/

/** RFC 9110 §5.6.2 */
export const isToken = (text: string): boolean => /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(text)
/** Whether a text contains a control byte other than a tab. In header fields, NUL is refused before. */
export const hasControl = (text: string): boolean => /[^\t\x20-\x7e\x80-\xff]/.test(text)
/** Chromium reads such a field behind a bare CR, curl does not: the two would end the body in different places. */
const HIDDEN_FRAMING = /\r[ \t]*(content-length|transfer-encoding)[ \t]*:/i

/** @param lines  the head without its status line, each line with its LF */
export function readFields(lines: string, mark: Mark): Headers {
  const headers: Headers = []
  let last: Headers[number] | undefined
  let left = HEAD_MAX_FIELDS
  for (let from = 0; from < lines.length;) {
    const lf = lines.indexOf('\n', from)
    const line = withoutLineEnd(lines.slice(from, lf), mark)
    from = lf + 1
    if (line === '') continue // the empty line at the end
    if (--left < 0) throw new RefusedAnswerError(`more than ${HEAD_MAX_FIELDS} header fields`)
    if (line.includes('\0')) throw new RefusedAnswerError('NUL in a header')
    if (line.includes('\r') && HIDDEN_FRAMING.test(line))
      throw new RefusedAnswerError('a bare CR in front of a header that frames the body')
    if (!isBlank(line.charCodeAt(0))) {
      last = readField(line, mark)
      if (last !== undefined) headers.push(last)
    } else if (last === undefined) mark('not-a-header') // it continues a line that was skipped
    else {
      mark('folded-header')
      const more = readValue(line, mark)
      if (more !== '') last[1] += last[1] === '' ? more : ` ${more}`
    }
  }
  return headers
}

function readField(line: string, mark: Mark): Headers[number] | undefined {
  const colon = line.indexOf(':')
  const name = trimmedPart(line, 0, Math.max(0, colon))
  if (!isToken(name)) {
    mark('not-a-header')
    return undefined
  }
  if (name.length < colon) mark('blank-before-colon')
  return [owned(name), readValue(line, mark, colon + 1)]
}

/** @param line  without its LF. One CR at its end is usual. */
export function withoutLineEnd(line: string, mark: Mark): string {
  let end = line.length
  while (end > 0 && line.charCodeAt(end - 1) === 0x0d) end--
  if (line.length - end !== 1) mark(line.length === end ? 'bare-lf' : 'control-octet')
  return line.slice(0, end)
}

function readValue(line: string, mark: Mark, from = 0): string {
  const value = trimmedPart(line, from, line.length)
  if (!hasControl(value)) return owned(value)
  mark('control-octet')
  return owned(trimBlanks(value.replaceAll('\r', ' ')))
}

/** A slice of a string keeps the whole string in memory, here a head of up to 256 KB. */
const owned = (part: string): string =>
  part.length < SHORT_CHARS ? part : Buffer.from(part, 'latin1').toString('latin1')
/** V8 copies shorter slices anyway. */
const SHORT_CHARS = 13
