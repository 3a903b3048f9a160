/** Bytes of an answer that have arrived and have not been passed on as its body. */
export class AnswerBytes {
  #pieces: Buffer[] = []
  #handedOn: Uint8Array | undefined

  came(piece: Buffer): void {
    this.settle()
    this.#pieces.push(piece)
  }

  /** The parser has put back this many bytes, the end of the last piece. */
  putBack(bytes: number): void {
    const last = this.#pieces.pop()
    if (last !== undefined && last.length > bytes) this.#pieces.push(last.subarray(0, last.length - bytes))
  }

  /** @param part  a view of the last piece, which can be dropped with everything before it. Its memory may be freed after this tick */
  handedOn(part: Uint8Array): void {
    this.#handedOn = part
  }

  /** Drops the bytes that were passed on. Call it in the same tick. */
  settle(): void {
    const part = this.#handedOn
    if (part === undefined) return
    this.#handedOn = undefined
    const last = this.#pieces.at(-1)
    this.#pieces = []
    if (last === undefined || last.buffer !== part.buffer) return
    const from = part.byteOffset + part.length - last.byteOffset
    if (from < last.length) this.#pieces.push(Buffer.from(last.subarray(from)))
  }

  /** The first piece, if there is only one. */
  only(): Buffer | undefined {
    return this.#pieces.length === 1 ? this.#pieces[0] : undefined
  }

  all(): readonly Buffer[] {
    this.settle()
    return this.#pieces
  }

  clear(): void {
    this.#pieces = []
    this.#handedOn = undefined
  }
}
