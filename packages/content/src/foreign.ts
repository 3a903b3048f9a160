/**
 * Decides whether a tag belongs to SVG or MathML, by the tags before it (HTML standard, 13.2.6.5). In these `<title/>` ends at once and
 * a script is markup; a reader without this check would take the rest of the page for text. No tree is built: for elements that are
 * closed out of order the result is the browser's most of the time.
 */

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '))

const FOREIGN = words('svg math')
/** Inside these elements HTML begins again. */
const INTEGRATION = words('foreignobject desc title annotation-xml mi mo mn ms mtext')
/** HTML elements that end all foreign content around them. */
const BREAKING_OUT = words(
  'b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var',
)
/** Elements nested deeper are not tracked. */
const MOST_DEEP = 64

export class ForeignElements {
  /** names of open elements that begin foreign content, or HTML in it */
  readonly #open: string[] = []
  /** whether the last start tag added to `#open` */
  #began = false

  /** Whether the element whose start tag is being read, and the text behind it, are foreign. */
  isInside = false

  /** Whether `#open` is empty, so that end tags have no effect. */
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
    this.#update()
  }

  /** Called when the latest start tag ended with `/>`. */
  closeItself(): void {
    if (this.#began) this.#pop()
    this.#began = false
  }

  close(name: string): void {
    const at = this.#open.length === 0 ? -1 : this.#open.lastIndexOf(name)
    if (at < 0) return
    this.#open.length = at
    this.#update()
  }

  #pop(): void {
    this.#open.pop()
    this.#update()
  }

  #update(): void {
    const last = this.#open.at(-1)
    this.isInside = last !== undefined && FOREIGN.has(last)
  }
}
