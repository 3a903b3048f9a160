/**
 * Faults of an answer that browsers and Decorum overlook. An outcome lists those that occurred, so that a frontier can be stricter; the
 * notes of the origin count them. docs/decisions/0031-a-second-reader.md says which are overlooked and which are refused.
 */
export const TOLERATED = {
  'before-status': 'Blank lines or up to four other octets stand before the status line.',
  'status-line':
    'The status line is none of RFC 9112 §4: `http/` in lower case, HTTP/2 or HTTP/1.2, no blank or several beside the status.',
  'folded-header': 'A header continues on the next line (RFC 9112 §5.2); its parts are joined by a blank.',
  'bare-lf': 'Lines of the head or of the chunks end in LF without CR (RFC 9112 §2.2).',
  'control-octet': 'A header value contains a control octet; a CR in it is read as a blank.',
  'blank-before-colon': 'A blank stands between the name of a header and its colon (RFC 9112 §5.1).',
  'not-a-header': 'A line of the head or behind the last chunk is no header; it is skipped.',
  'chunk-size-blanks': 'Blanks stand beside a chunk size (RFC 9112 §7.1).',
  'chunk-extension': 'A chunk extension is none of RFC 9112 §7.1.1; extensions are not read.',
  'length-beside-chunked': 'Content-Length and chunks; the chunks count (RFC 9112 §6.3).',
  'length-repeated': 'The same Content-Length twice (RFC 9110 §8.6).',
  'chunked-repeated': 'Transfer-Encoding names chunked twice, the body is in chunks once.',
  'transfer-coding':
    'Transfer-Encoding names a coding that nobody asked for (RFC 9112 §7); the body is kept in it. `identity` means none.',
  'unasked-continue': 'A 100 that nothing asked for; it is skipped.',
  'large-head': 'The head has more than 16 KiB: an outcome has the fields that fit into 16 KiB, the archive has all.',
  'coding-unknown': 'Content-Encoding names a word that is no content coding, and the body can be read without one.',
  'coding-misnamed':
    'The body is not in the content coding that is named: it is plain, or gzip where deflate is named, or the reverse.',
  'coding-no-trailer': 'The checksum behind gzip or deflate lacks; all of the data came.',
  'coding-bad-checksum': 'The checksum behind gzip or deflate is not that of the data.',
  'coding-trailing-octets': 'Octets stand behind the end of the content coding.',
  'coding-cut': "The body ends before its content coding does; what decoded stands, and `truncated` is 'disconnect'.",
} as const satisfies Record<string, string>

export type Tolerated = keyof typeof TOLERATED
