/**
 * Bytes to text as Chromium does it: by byte order mark, header, `meta` to the end of the head, XML declaration; without them
 * UTF-8 if it is valid, else windows-1252 (docs/decisions/0033-octets-become-text.md).
 */
import { isAscii, isUtf8 } from 'node:buffer'
import { isHtmlType, isXmlType, mediaTypeOf } from '@decorum/protocol/headers'
import { getBOMEncoding, labelToName, TextDecoder } from '@exodus/bytes/encoding.js'
import type { ByteInput } from './coding/byte-input.ts'
import { ContentError } from './errors.ts'
import { type HeadTag, readTags } from './head-tags.ts'

/** The encoding is decided by at most this many first bytes; a stream is buffered up to this length. */
export const SAMPLE_BYTES = 64 * 1024

/**
 * @param start   the first bytes: at least SAMPLE_BYTES, or all there are
 * @param header  Content-Type as received
 * @returns       the encoding's name as in the WHATWG Encoding Standard
 */
export function encodingOf(start: Uint8Array, header: string | null): string {
  const sample = start.subarray(0, SAMPLE_BYTES)
  const declared = declaredEncoding(sample, header)
  if (declared !== undefined) return declared
  const type = mediaTypeOf(header)
  const inMeta = !isXmlType(type) && isHtmlType(type) !== false ? metaEncoding(sample) : undefined
  return inMeta ?? xmlEncoding(sample) ?? (isInUtf8(sample) ? 'UTF-8' : 'windows-1252')
}

/** The encoding that the byte order mark or the header names; undefined: neither does. A sample of three bytes is enough. */
export const declaredEncoding = (sample: Uint8Array, header: string | null): string | undefined =>
  nameOf(getBOMEncoding(sample)) ?? nameOf(mediaTypeOf(header).charset)

/** The encoding of a label, which some servers put in single quotes. */
function nameOf(label: string | null | undefined): string | undefined {
  if (label === null || label === undefined) return undefined
  return labelToName(label) ?? labelToName(label.replace(/^'(.*)'$/, '$1')) ?? undefined
}

/** `meta` is searched in this many bytes in any case, and beyond them only inside the head. Chromium's figure. */
const UNCONDITIONAL_BYTES = 1_024
/** Other tags end the head for this search, as in Chromium's `HTMLMetaCharsetParser`. */
const IN_HEAD: ReadonlySet<string> = new Set('script noscript style link meta object title base'.split(' '))

function metaEncoding(sample: Uint8Array): string | undefined {
  let found: string | undefined
  let isInHead = true
  const onTag = (tag: HeadTag): boolean => {
    if (!isInHead && tag.at > UNCONDITIONAL_BYTES) return false
    if (tag.name === 'meta' && !tag.isClosing) found = encodingInMeta(tag.attributes())
    isInHead &&= IN_HEAD.has(tag.name) || (!tag.isClosing && (tag.name === 'html' || tag.name === 'head'))
    return found === undefined
  }
  for (let [at, bytes] = [0, UNCONDITIONAL_BYTES]; at >= 0; bytes *= 8) {
    at = readTags(latin1(sample, bytes), at, onTag)
    if (bytes >= sample.length || bytes >= SAMPLE_BYTES) break
  }
  return found
}

/** HTML standard, 13.2.3.2, and 4.2.5.4 for the form of `content`. */
function encodingInMeta(attributes: ReadonlyMap<string, string>): string | undefined {
  const isPragma = attributes.get('http-equiv')?.toLowerCase() === 'content-type'
  const [, , quoted, bare] =
    /charset[\t\n\f\r ]*=[\t\n\f\r ]*(?:(["'])(.*?)\1|([^\t\n\f\r ;"'][^\t\n\f\r ;]*))/is.exec(
      attributes.get('content') ?? '',
    ) ?? []
  const name = nameOf(attributes.get('charset') ?? (isPragma ? (quoted ?? bare) : undefined))
  if (name === 'x-user-defined') return 'windows-1252'
  return asReadable(name)
}

/** A declaration that is readable byte by byte cannot be in UTF-16, so UTF-16 is read as UTF-8. */
const asReadable = (name: string | undefined): string | undefined =>
  name === 'UTF-16LE' || name === 'UTF-16BE' ? 'UTF-8' : name

/** HTML standard, "get an XML encoding"; UTF-16 without a byte order mark shows in its first characters (XML 1.0, appendix F). */
function xmlEncoding(sample: Uint8Array): string | undefined {
  const [first, second, third, fourth] = sample
  if (first === LESS && second === 0 && third === QUESTION && fourth === 0) return 'UTF-16LE'
  if (first === 0 && second === LESS && third === 0 && fourth === QUESTION) return 'UTF-16BE'
  const start = latin1(sample, 1_024)
  return asReadable(nameOf(/^\s*<\?xml[^>]*?\sencoding\s*=\s*["']([\w.:-]+)/.exec(start)?.[1]))
}
const LESS = 0x3c
const QUESTION = 0x3f

/** Whether a sample is UTF-8. If full, it may end within a character; if shorter, only when other non-ASCII UTF-8 precedes that one. */
function isInUtf8(sample: Uint8Array): boolean {
  if (isUtf8(sample)) return true
  const whole = sample.subarray(0, sample.length - cutBytes(sample))
  return isUtf8(whole) && (sample.length >= SAMPLE_BYTES || !isAscii(whole))
}

/** Length of the incomplete character at the end, bytes. */
function cutBytes(sample: Uint8Array): number {
  for (let back = 1; back <= 3; back++) {
    const byte = sample[sample.length - back] ?? 0
    if (byte < 0x80) return 0
    if (byte >= 0xc0) return back
  }
  return 0
}

/** Whether a page without a media type is HTML: it begins with a tag. */
export const seemsHtml = (sample: Uint8Array): boolean =>
  /^(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?[\s\0]*</.test(latin1(sample, 1_024))

export const latin1 = (bytes: Uint8Array, most = bytes.length): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(most, bytes.length)).toString('latin1')

export type Decoder = { decode(bytes?: Uint8Array, options?: { stream?: boolean }): string }
const utf8 = new globalThis.TextDecoder('utf-8')

/** Decodes a text as a whole; no state is kept between texts. @throws ContentError as decoderOf does */
export const wholeDecoderOf = (encoding: string): Pick<Decoder, 'decode'> =>
  encoding === 'UTF-8' ? utf8 : decoderOf(encoding)

/** @throws ContentError `undecodable` for encodings that browsers refuse because they hide markup (ISO-2022-KR, HZ) */
export function decoderOf(encoding: string): Decoder {
  // Node's decoder is faster for the two encodings of nearly all pages; for others it deviates from the standard.
  if (encoding === 'UTF-8') return new globalThis.TextDecoder('utf-8')
  if (encoding === 'replacement')
    throw new ContentError(
      'undecodable',
      'the page is in an encoding that no browser reads (ISO-2022-KR, ISO-2022-CN or HZ)',
    )
  return new TextDecoder(encoding)
}

/** Decodes a text piece by piece. @throws ContentError as decoderOf does */
export async function* textOf(input: ByteInput, encoding: string): AsyncGenerator<string, void, undefined> {
  const decoder = decoderOf(encoding)
  for await (const piece of input) yield decoder.decode(piece, { stream: true })
  yield decoder.decode()
}
