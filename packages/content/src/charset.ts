/** Bytes to text as browsers do it: by byte order mark, header, meta; without them UTF-8 if it is valid, else windows-1252. */
import { TextDecoder } from '@exodus/bytes/encoding.js'
import htmlEncodingSniffer from 'html-encoding-sniffer'
import { ContentError } from './errors.ts'

/** The encoding is decided by this many bytes; of a stream they are gathered first. */
export const SAMPLE_BYTES = 16 * 1024

/**
 * @param sample  the first bytes
 * @param type    Content-Type as received
 * @returns       the name that the WHATWG Encoding Standard gives
 */
export function encodingOf(sample: Uint8Array, type: string | null): string {
  const label = /;[ \t]*charset[ \t]*=[ \t]*"?([^\s;"]+)/i.exec(type ?? '')?.[1]
  const isXml = /^[ \t]*[\w.+-]+\/([\w.-]+\+)?xml\b/i.test(type ?? '')
  const declared = label ?? (isXml ? xmlDeclaration(sample) : undefined)
  const said = htmlEncodingSniffer(sample, {
    xml: isXml,
    ...(declared === undefined ? {} : { transportLayerEncodingLabel: declared }),
    defaultEncoding: UNSAID,
  })
  if (said !== UNSAID) return said
  return isUtf8(sample) ? 'UTF-8' : 'windows-1252'
}
/** No name of an encoding. */
const UNSAID = ''

const xmlDeclaration = (sample: Uint8Array): string | undefined =>
  /^<\?xml[^>]*?\sencoding\s*=\s*["']([\w.:-]+)/.exec(Buffer.from(sample.subarray(0, 1_024)).toString('latin1'))?.[1]

function isUtf8(sample: Uint8Array): boolean {
  try {
    new globalThis.TextDecoder('utf-8', { fatal: true }).decode(sample, { stream: true })
    return true
  } catch {
    return false
  }
}

type Decoder = { decode(bytes?: Uint8Array, options?: { stream?: boolean }): string }
const utf8 = new globalThis.TextDecoder('utf-8')

/** For a text as a whole: a decoder that remembers nothing from one to the next. @throws ContentError as decoderOf does */
export const wholeDecoderOf = (encoding: string): Pick<Decoder, 'decode'> =>
  encoding === 'UTF-8' ? utf8 : decoderOf(encoding)

/** @throws ContentError `undecodable` for encodings that browsers refuse because they hide markup (ISO-2022-KR, HZ) */
export function decoderOf(encoding: string): Decoder {
  // Node's own is faster for the two that nearly all pages have; for others it is not what the standard says
  if (encoding === 'UTF-8') return new globalThis.TextDecoder('utf-8')
  if (encoding === 'replacement')
    throw new ContentError(
      'undecodable',
      'the page is in an encoding that no browser reads (ISO-2022-KR, ISO-2022-CN or HZ)',
    )
  return new TextDecoder(encoding)
}
