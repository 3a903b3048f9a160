/**
 * Whether a tag is one of SVG or MathML, by the tags before it (HTML standard, 13.2.6.5): there `<title/>` ends at once and a script is
 * markup, so a reader that does not know would take the rest of the page for text. No tree is built: elements that are closed out of
 * order count as a browser would count them most of the time.
 */

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '))

const FOREIGN = words('svg math')
/** In them stands HTML again. */
const INTEGRATION = words('foreignobject desc title annotation-xml mi mo mn ms mtext')
/** HTML elements that end all that is foreign around them. */
const BREAKING_OUT = words(
  'b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var',
)
/** Deeper ones are not counted. */
const MOST_DEEP = 64

export class ForeignElements {
  /** names of open elements that begin foreign content, or HTML in it */
  readonly #open: string[] = []
  /** the last tag began one */
  #began = false

  /** Of the element whose start tag is read, and of what follows it. */
  isInside = false

  /** Nothing that has to be closed is open. */
  get isEmpty(): boolean {
    return this.#open.length === 0
  }

  open(name: string): void {
    this.#began = false
    if (FOREIGN.has(name) || (this.isInside && INTEGRATION.has(name))) {
      if (this.#open.length >= MOST_DEEP) return
      this.#open.push(name)
      this.#began = true
    } else if (this.isInside && BREAKING_OUT.has(name)) {
      while (this.#open.length > 0 && this.isInside) this.#pop()
      return
    } else return
    this.#look()
  }

  /** The tag that was opened last ended with `/>`. */
  closeItself(): void {
    if (this.#began) this.#pop()
    this.#began = false
  }

  close(name: string): void {
    const at = this.#open.length === 0 ? -1 : this.#open.lastIndexOf(name)
    if (at < 0) return
    this.#open.length = at
    this.#look()
  }

  #pop(): void {
    this.#open.pop()
    this.#look()
  }

  #look(): void {
    const last = this.#open.at(-1)
    this.isInside = last !== undefined && FOREIGN.has(last)
  }
}
