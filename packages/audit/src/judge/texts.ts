/** Many short texts, kept as UTF-8 in blocks and found by number: each takes four extra bytes instead of an object. */

const BLOCK_BYTES = 1 << 16
const HEAD_BYTES = 4

export class Texts {
  readonly #blocks: Buffer[] = []
  #used = BLOCK_BYTES
  /** number at which the current block begins */
  #base = 0

  /** @returns the number for `get`; never 0 */
  add(text: string): number {
    const at = this.#reserve(Buffer.byteLength(text))
    this.#block(at).write(text, (at % BLOCK_BYTES) + HEAD_BYTES)
    return at
  }

  /** The same for a text in UTF-8. */
  addBytes(bytes: Uint8Array): number {
    const at = this.#reserve(bytes.length)
    this.#block(at).set(bytes, (at % BLOCK_BYTES) + HEAD_BYTES)
    return at
  }

  get(number: number): string {
    const block = this.#block(number)
    const at = number % BLOCK_BYTES
    return block.toString('utf8', at + HEAD_BYTES, at + HEAD_BYTES + block.readUInt32LE(at))
  }

  is(number: number, bytes: Uint8Array): boolean {
    const block = this.#block(number)
    const from = (number % BLOCK_BYTES) + HEAD_BYTES
    return block.compare(bytes, 0, bytes.length, from, from + block.readUInt32LE(from - HEAD_BYTES)) === 0
  }

  #block = (number: number): Buffer => this.#blocks[Math.floor(number / BLOCK_BYTES)] as Buffer

  #reserve(bytes: number): number {
    if (this.#used + HEAD_BYTES + bytes > (this.#blocks.at(-1)?.length ?? 0)) this.#begin(bytes)
    const at = this.#used
    this.#block(this.#base + at).writeUInt32LE(bytes, at)
    this.#used = at + HEAD_BYTES + bytes
    return this.#base + at
  }

  /** A text larger than a block gets a block of its size; numbers count in blocks of the common size. */
  #begin(bytes: number): void {
    this.#base = this.#blocks.length * BLOCK_BYTES
    this.#blocks.push(Buffer.allocUnsafe(Math.max(BLOCK_BYTES, HEAD_BYTES + bytes + 1)))
    this.#used = this.#blocks.length === 1 ? 1 : 0
  }
}
