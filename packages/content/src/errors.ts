/** Every reason why content cannot be read, as one error with a code; the message says what to do next. */

export type ContentErrorCode =
  /** the reference was not written by a fetcher; nothing was opened */
  | 'bad-reference'
  /** the page is no longer kept: removed when the archive was full, or the archive has moved to another folder */
  | 'gone'
  /** kept on another machine, and no address that reaches it is configured */
  | 'elsewhere'
  /** the process that keeps the page does not answer; a retry may help */
  | 'unavailable'
  /** the process that keeps it requires another token */
  | 'forbidden'
  /** the bytes at that place are not the record of a page: cut off, overwritten, or written by another program */
  | 'damaged'
  /** more bytes than `maxBytes` */
  | 'too-large'
  /** the body does not match its Content-Encoding or its charset */
  | 'undecodable'

export class ContentError extends Error {
  override readonly name = 'ContentError'
  readonly code: ContentErrorCode
  constructor(code: ContentErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
  }
}
