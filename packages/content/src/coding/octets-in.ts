/** Octets that a decoder reads: they can be looked at before they are taken, and what was not needed is given back. */
export type Pieces = AsyncIterable<Uint8Array> | Iterable<Uint8Array>

export class OctetsIn {
  readonly #source: AsyncIterator<Uint8Array> | Iterator<Uint8Array>
  #front: Uint8Array[] = []
  /** What the source itself threw: it says nothing about the coding of the body. */
  failure: { error: unknown } | undefined

  constructor(source: Pieces) {
    this.#source = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]()
  }

  /** undefined: that was all. @throws what the source throws */
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

  /** The first octets, which stay: as many as are asked for at least, or all there are. */
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

  /** Octets that have been looked at are taken. */
  async skip(bytes: number): Promise<void> {
    const first = await this.peek(bytes)
    this.#front[0] = first.subarray(bytes)
    if (first.length <= bytes) this.#front.shift()
  }

  giveBack(pieces: readonly Uint8Array[]): void {
    this.#front.unshift(...pieces)
  }

  /** No more octets are wanted. */
  async close(): Promise<void> {
    await this.#source.return?.()
  }
}
const EMPTY = new Uint8Array()
