/** Whether bytes are readable without decoding: such a body disproves a content coding that was announced and not applied. */

/** Bytes to inspect: the resource header of the WHATWG MIME Sniffing Standard. */
export const SAMPLE_BYTES = 1_445

/** Whether the bytes are text, or a kind of file that is recognised by its first bytes. */
export function isReadable(sample: Uint8Array): boolean {
  const start = String.fromCharCode(...sample.subarray(0, 16))
  return SIGNATURES.some((mark) => start.startsWith(mark)) || isMedia(start) || !sample.some(isBinary)
}

/** Byte order marks, images, documents, archives, audio and video, fonts (MIME Sniffing, 6 and 7.1). */
const SIGNATURES: readonly string[] = [
  ...['\xef\xbb\xbf', '\xfe\xff', '\xff\xfe'],
  ...['\x89PNG\r\n', 'GIF87a', 'GIF89a', '\xff\xd8\xff', '\0\0\x01\0', '\0\0\x02\0'],
  ...['%PDF-', 'PK\x03\x04', 'Rar!\x1a\x07', '7z\xbc\xaf\x27\x1c', 'ID3', 'OggS\0', 'fLaC', '\x1aE\xdf\xa3'],
  ...['wOFF', 'wOF2', 'OTTO', '\0\x01\0\0', '\0asm'],
]
const isMedia = (start: string): boolean =>
  start.startsWith('ftyp', 4) ||
  (start.startsWith('RIFF') && ['WEBP', 'WAVE', 'AVI '].some((kind) => start.startsWith(kind, 8)))

/** A binary data byte (MIME Sniffing, 3). */
const isBinary = (byte: number): boolean =>
  byte < 0x20 && byte !== 9 && byte !== 10 && byte !== 12 && byte !== 13 && byte !== 0x1b
