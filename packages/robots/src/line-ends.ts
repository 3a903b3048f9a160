// Of this module: an imported constant is looked up at each use, which costs these loops a quarter of their time.
const CR = 13
const LF = 10
/**
 * Where lines end. A JavaScript loop looks at one octet at a time; a string is searched by the engine many octets at a time.
 * So after a while the octets are made text, a window at a time, and line ends are looked for in that.
 */

/** So many octets of a file are looked at one by one before a window is made. */
const PATIENCE = 256

const FIRST_WINDOW = 1_024
const WINDOW = 8_192

const decoder = /* @__PURE__ */ new TextDecoder('utf-8', { ignoreBOM: true })

/** A window whose octets outside ASCII are replaced, so that each octet is one unit of the text. */
const masked = /* @__PURE__ */ new Int32Array(WINDOW / 4)

/** In every spelling of user-agent and of sitemap. */
const WORD = /agent|temap|e-map/gi

/** What a value may not hold to be taken as it stands: a comment, and what the grammars disagree on. */
// oxlint-disable-next-line no-control-regex
const SPECIAL = /[#\0\v\f]/g

export class LineEnds {
  readonly #octets: Uint8Array
  readonly #length: number
  #patience = PATIENCE
  #size = FIRST_WINDOW
  /** There were octets outside ASCII, so there will be more. */
  #masked = false
  /** The octets [#from, #upTo) as text, one unit each. */
  #text = ''
  #from = 0
  #upTo = 0
  /** The next CR and the next special octet at or behind the last place that was asked for; Infinity: none in the window. */
  #carriageReturn = Infinity
  #special = -1
  #hasReturn = false

  /** @param text  the same as `octets`, when it was given as text and each of its units is an octet */
  constructor(octets: Uint8Array, length: number, text: string | undefined) {
    this.#octets = octets
    this.#length = length
    if (text !== undefined) {
      this.#text = text
      this.#upTo = length
      this.#patience = 0
      this.#carriageReturn = -1
    }
  }

  /** The index of the next line end at `at` or later. */
  after(at: number): number {
    const octets = this.#octets
    if (this.#patience > 0) {
      const start = at
      const least = at + this.#patience
      while (at < least && octets[at] !== LF && octets[at] !== CR) at++
      this.#patience -= at - start
      if (at < least) return at
    }
    for (;;) {
      if (at >= this.#length) return this.#length
      if (at >= this.#upTo) this.#window(at)
      const from = at - this.#from
      let end = this.#text.indexOf('\n', from)
      if (this.#carriageReturn < from) this.#findReturn(from)
      if (end < 0 || this.#carriageReturn < end) end = this.#carriageReturn
      at = this.#from + end
      if (at < this.#upTo) return at
      at = this.#upTo
    }
  }

  /**
   * From the line end at `at`, passes over the lines that hold neither a user-agent nor a sitemap, as far as the window goes.
   * @returns  the line end before the next line that may
   */
  skip(at: number): number {
    if (at < this.#from || at >= this.#upTo) return at
    const text = this.#text
    const from = at - this.#from
    if (text.indexOf('\n', from + 1) < 0) return at // its end is in another window
    WORD.lastIndex = from
    const before = WORD.test(text) ? WORD.lastIndex : text.length
    const end = Math.max(text.lastIndexOf('\n', before), this.#hasReturn ? text.lastIndexOf('\r', before) : -1)
    return end > from && this.#from + end < this.#upTo ? this.#from + end : at
  }

  #findReturn(from: number): void {
    const next = this.#text.indexOf('\r', from)
    this.#carriageReturn = next < 0 ? Infinity : next
  }

  /** Is there nothing in [at, end) that ends a value, or that one grammar calls a blank? */
  isPlain(at: number, end: number): boolean {
    if (at >= this.#from && end <= this.#upTo) {
      const from = at - this.#from
      if (this.#special < from) {
        SPECIAL.lastIndex = from
        this.#special = SPECIAL.test(this.#text) ? SPECIAL.lastIndex - 1 : Infinity
      }
      return this.#special >= end - this.#from
    }
    const octets = this.#octets
    for (; at < end; at++) {
      const octet = octets[at] as number
      if (octet < 36 && (octet === 35 || octet === 0 || octet === 11 || octet === 12)) return false
    }
    return true
  }

  /** Makes text of the octets around `at`. */
  #window(at: number): void {
    const from = at & ~3
    const upTo = Math.min(from + this.#size, this.#length)
    let text = ''
    if (!this.#masked) {
      text = decoder.decode(this.#octets.subarray(from, upTo))
      // Only ASCII has as many units as octets, but for what is no UTF-8 and was replaced.
      this.#masked = text.length !== upTo - from || text.includes('\ufffd')
    }
    if (this.#masked) text = decoder.decode(this.#mask(from, upTo))
    this.#size = WINDOW
    this.#text = text
    this.#from = from
    this.#upTo = upTo
    this.#carriageReturn = text.indexOf('\r')
    this.#hasReturn = this.#carriageReturn >= 0
    if (!this.#hasReturn) this.#carriageReturn = Infinity
    this.#special = -1
  }

  /** The octets with DEL in place of those outside ASCII, four at a time. */
  #mask(from: number, upTo: number): Uint8Array {
    const words = new Int32Array(this.#octets.buffer, from, (upTo - from + 3) >> 2)
    for (let i = 0; i < words.length; i++) {
      const word = words[i] as number
      const high = word & -0x7f7f7f80
      if (high === 0) masked[i] = word
      else {
        const wide = Math.imul(high >>> 7, 0xff)
        masked[i] = (word & ~wide) | (wide & 0x7f7f7f7f)
      }
    }
    return new Uint8Array(masked.buffer, 0, upTo - from)
  }
}
