/** Input of a decoder: bytes can be inspected before they are consumed, and surplus bytes are put back. */
export type Pieces = AsyncIterable<Uint8Array> | Iterable<Uint8Array>

/** All pieces as one, in memory; a single piece is not copied. */
export async function gathered(pieces: Pieces): Promise<Uint8Array> {
  const all: Uint8Array[] = []
  for await (const piece of pieces) all.push(piece)
  return all.length === 1 ? (all[0] as Uint8Array) : Buffer.concat(all)
}

export class ByteInput {
  readonly #source: AsyncIterator<Uint8Array> | Iterator<Uint8Array>
  #front: Uint8Array[] = []
  /** An error of the source itself; it is independent of the body's coding. */
  failure: { error: unknown } | undefined

  constructor(source: Pieces) {
    this.#source = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]()
  }

  /** The next piece; undefined: the input has ended. @throws what the source throws */
  async next(): Promise<Uint8Array | undefined> {
    const front = this.#front.shift()
    if (front !== undefined) return front
    try {
      for (;;) {
        const { done, value } = await this.#source.next()
        if (done) return undefined
        if (value.length > 0) return value
      }
    } catch (error) {
      this.failure = { error }
      throw error
    }
  }

  /** Leaving the loop closes the input. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      for (let piece = await this.next(); piece !== undefined; piece = await this.next()) yield piece
    } finally {
      await this.close()
    }
  }

  /** The first bytes, without consuming them: at least as many as requested, or all there are. */
  async peek(bytes: number): Promise<Buffer> {
    const pieces: Uint8Array[] = []
    let length = 0
    while (length < bytes) {
      const piece = await this.next()
      if (piece === undefined) break
      pieces.push(piece)
      length += piece.length
    }
    const [only = EMPTY] = pieces
    const all = pieces.length > 1 ? Buffer.concat(pieces) : Buffer.from(only.buffer, only.byteOffset, only.length)
    if (length > 0) this.#front.unshift(all)
    return all
  }

  /** Consumes bytes that have been inspected. */
  async skip(bytes: number): Promise<void> {
    const first = await this.peek(bytes)
    this.#front[0] = first.subarray(bytes)
    if (first.length <= bytes) this.#front.shift()
  }

  giveBack(pieces: readonly Uint8Array[]): void {
    this.#front.unshift(...pieces)
  }

  /** Stops reading the source. */
  async close(): Promise<void> {
    await this.#source.return?.()
  }
}
const EMPTY = new Uint8Array()
