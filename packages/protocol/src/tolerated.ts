/**
 * Faults of an answer that browsers overlook, and Decorum as well. An outcome lists those that were met, so that a frontier can be
 * stricter; the notes of the origin count them.
 */
export const TOLERATED = {
  'folded-header': 'A header continues on the next line (RFC 9112 §5.2); its parts are joined by a blank.',
  'bare-lf': 'Lines of the head or of the chunks end in LF without CR (RFC 9112 §2.2).',
  'control-octet': 'A header value contains a control octet.',
  'blank-before-colon': 'A blank stands between the name of a header and its colon (RFC 9112 §5.1).',
  'not-a-header': 'A line of the head is no header; it is skipped.',
  'chunk-size-blanks': 'Blanks stand beside a chunk size (RFC 9112 §7.1).',
  'length-beside-chunked': 'Content-Length and chunks; the chunks count (RFC 9112 §6.3).',
  'length-repeated': 'The same Content-Length twice (RFC 9110 §8.6).',
  'unasked-continue': 'A 100 or another interim answer that nothing asked for; it is skipped.',
  'large-head': 'The head has more than 16 KiB; what the outcome keeps of a very large one is cut.',
} as const satisfies Record<string, string>

export type Tolerated = keyof typeof TOLERATED
