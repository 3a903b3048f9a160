/**
 * Reads the rest of an answer that undici's parser refuses, with the lenient reader and from the same connection: first the bytes that
 * have arrived, then later ones. Nothing is sent. undici still owns the socket but receives no more bytes; it notices the end of the
 * connection as usual, and that ends the exchange.
 */
import type { Tolerated } from '@decorum/protocol'
import { MAX_INFORMATIONAL } from '../limits.ts'
import { RefusedAnswerError } from './lenient/fields.ts'
import { type LenientHead, LenientReader, type LenientStart } from './lenient/lenient-reader.ts'
import { errors } from './undici.ts'

/** Receives the results of the second reading. */
export type Reading = {
  head(head: LenientHead): void
  /** @returns a promise until whose end the site should pause; undefined: no pause */
  data(piece: Buffer): Promise<void> | undefined
  over(): void
  refused(error: RefusedAnswerError): void
}

export class SecondReading {
  readonly #reader: LenientReader
  readonly #into: Reading
  readonly #read: () => Buffer | null
  #first: readonly Buffer[]
  #informational = 0
  #waits: Promise<void> | undefined
  #isOver = false

  /**
   * @param first  bytes that have arrived
   * @param read   returns the next bytes, null when there are none yet
   */
  constructor(start: LenientStart, first: readonly Buffer[], read: () => Buffer | null, into: Reading) {
    this.#first = first
    this.#read = read
    this.#into = into
    this.#reader = new LenientReader(start, {
      interim: () => this.#interim(),
      head: (head) => into.head(head),
      data: (piece) => {
        if (!this.#isOver) this.#waits = into.data(piece) ?? this.#waits
      },
    })
  }

  get tolerated(): Tolerated[] {
    return [...this.#reader.tolerated]
  }

  /** Whether the body ends with the connection. */
  get endsWithConnection(): boolean {
    return this.#reader.endsWithConnection
  }

  /** Reads all available bytes. Call it outside of undici's parser. */
  pump(): void {
    const first = this.#first
    this.#first = []
    for (const piece of first) this.#write(piece)
    if (this.#reader.isOver) this.#isNowOver()
    while (!this.#isOver && this.#waits === undefined) {
      const piece = this.#read()
      if (piece === null) return
      this.#write(piece)
    }
    const waits = this.#waits
    if (this.#isOver || waits === undefined) return
    void waits.then(() => {
      this.#waits = undefined
      this.pump()
    })
  }

  /** Stops reading: the exchange is over. */
  stop(): void {
    this.#isOver = true
  }

  #write(piece: Buffer): void {
    if (this.#isOver) return
    try {
      this.#reader.write(piece)
    } catch (error) {
      if (!(error instanceof RefusedAnswerError)) throw error
      this.stop()
      this.#into.refused(error)
      return
    }
    if (this.#reader.isOver) this.#isNowOver()
  }

  #isNowOver(): void {
    if (this.#isOver) return
    this.stop()
    this.#into.over()
  }

  #interim(): void {
    if (++this.#informational > MAX_INFORMATIONAL) throw new RefusedAnswerError('a flood of 1xx answers')
  }
}

/** The head at the start of these bytes; undefined: there is no readable one. */
export function readHead(received: readonly Buffer[], isHead: boolean): LenientHead | undefined {
  let found: LenientHead | undefined
  const sink = {
    interim: () => {},
    head: (head: LenientHead) => {
      found = head
    },
    data: () => {},
  }
  const reader = new LenientReader({ isHead, isFirst: true }, sink)
  try {
    for (const piece of received) if (found === undefined) reader.write(Buffer.from(piece)) // a copy: undici still reads the piece
  } catch (error) {
    if (!(error instanceof RefusedAnswerError)) throw error
  }
  return found
}

/** Whether undici's parser has found a fault in an answer and closes the connection for it. */
export function isParserFault(error: Error): boolean {
  const code = 'code' in error ? error.code : undefined
  return (
    error instanceof errors.HTTPParserError ||
    code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH' || // hides other faults when a length was given
    error.message === UNASKED_ANSWER
  )
}
/** undici's message for a 100, and for an answer without a request; the error has the code of a closed socket. */
const UNASKED_ANSWER = 'bad response'
