/** Many short texts, a few octets each instead of an object: kept as UTF-8 in blocks, found by a number. */

const BLOCK_BYTES = 1 << 16
const HEAD_BYTES = 4

export class Texts {
  readonly #blocks: Buffer[] = []
  #used = BLOCK_BYTES
  /** of the current block */
  #base = 0

  /** @returns the number that `get` wants; never 0 */
  add(text: string): number {
    const bytes = Buffer.byteLength(text)
    if (this.#used + HEAD_BYTES + bytes > (this.#blocks.at(-1)?.length ?? 0)) this.#begin(bytes)
    const block = this.#blocks.at(-1) as Buffer
    const at = this.#used
    block.writeUInt32LE(bytes, at)
    block.write(text, at + HEAD_BYTES)
    this.#used = at + HEAD_BYTES + bytes
    return this.#base + at
  }

  get(number: number): string {
    const block = this.#blocks[Math.floor(number / BLOCK_BYTES)] as Buffer
    const at = number % BLOCK_BYTES
    return block.toString('utf8', at + HEAD_BYTES, at + HEAD_BYTES + block.readUInt32LE(at))
  }

  /** A text larger than a block has a block of its own size; numbers count in blocks of the common size. */
  #begin(bytes: number): void {
    this.#base = this.#blocks.length * BLOCK_BYTES
    this.#blocks.push(Buffer.allocUnsafe(Math.max(BLOCK_BYTES, HEAD_BYTES + bytes + 1)))
    this.#used = this.#blocks.length === 1 ? 1 : 0
  }
}
