/** Every reason why content cannot be read, as one error with a code; the message says what to do next. */

/** The codes, with the HTTP status of each. */
export const STATUS = {
  /** the reference was not written by a fetcher; nothing was opened */
  'bad-reference': 400,
  /** the process that keeps it requires another token */
  forbidden: 403,
  /** kept on another machine, and no address that reaches it is configured */
  elsewhere: 404,
  /** the page is no longer kept: removed when the archive was full, or the archive has moved to another folder */
  gone: 410,
  /** the bytes at that place are not the record of a page: cut off, overwritten, or written by another program */
  damaged: 410,
  /** the process that keeps the page does not answer; a retry may help */
  unavailable: 503,
  /** more bytes than `maxBytes` */
  'too-large': 422,
  /** the body does not match its Content-Encoding or its charset */
  undecodable: 422,
} as const
export type ContentErrorCode = keyof typeof STATUS

export class ContentError extends Error {
  override readonly name = 'ContentError'
  readonly code: ContentErrorCode
  constructor(code: ContentErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
  }
}
