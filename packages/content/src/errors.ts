/** Every reason why content cannot be read, as one error with a code; the message says what to do next. */

export type ContentErrorCode =
  /** not a reference that a fetcher writes; nothing was opened */
  | 'bad-reference'
  /** it is no longer kept: removed when the archive was full, or the archive is in another folder now */
  | 'gone'
  /** kept on another machine, without an address that reaches it */
  | 'elsewhere'
  /** the process that keeps it does not answer; asking again may help */
  | 'unavailable'
  /** the process that keeps it requires another token */
  | 'forbidden'
  /** what lies there is not the record of a page: cut off, overwritten, or written by something else */
  | 'damaged'
  /** more bytes than `maxBytes` */
  | 'too-large'
  /** the body is not what its Content-Encoding or its charset says */
  | 'undecodable'

export class ContentError extends Error {
  override readonly name = 'ContentError'
  readonly code: ContentErrorCode
  constructor(code: ContentErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
  }
}
