/**
 * The tags of an HTML page with the attributes that are wanted, as a stream. The tokenizer of htmlparser2 alone: a parser that
 * keeps the open elements takes seconds for a page of unclosed ones.
 */
import { decodeHTMLAttribute } from 'entities/decode'
import { Tokenizer } from 'htmlparser2'
import { MAX_VALUE_CHARS } from './absolute.ts'

/** Longest name of an element and of an attribute that can be wanted, characters. */
const MAX_ELEMENT_CHARS = 8
const MAX_ATTRIBUTE_CHARS = 16

/** @param attributes  by name in lower case; the first of each name */
type OnTag = (element: string, attributes: ReadonlyMap<string, string>) => void

export class TagReader {
  readonly #wanted: ReadonlySet<string>
  readonly #onTag: OnTag
  readonly #tokenizer: Tokenizer
  /** text that has not been dealt with yet, and where it begins in the whole */
  #window = ''
  #windowAt = 0
  #dealtWith = 0
  #element = ''
  #attribute = ''
  #value = ''
  #attributes = new Map<string, string>()

  /** @param wanted  names of elements, in lower case */
  constructor(wanted: ReadonlySet<string>, onTag: OnTag) {
    this.#wanted = wanted
    this.#onTag = onTag
    this.#tokenizer = new Tokenizer({ decodeEntities: false, xmlMode: false }, this.#callbacks())
  }

  write(text: string): void {
    this.#window = this.#window.slice(this.#dealtWith - this.#windowAt) + text
    this.#windowAt = this.#dealtWith
    this.#tokenizer.write(text)
  }

  end(): void {
    this.#tokenizer.end()
  }

  #callbacks(): ConstructorParameters<typeof Tokenizer>[1] {
    const past = (_start: number, end: number): void => {
      this.#dealtWith = end
    }
    const text = (start: number, end: number): string => {
      this.#dealtWith = end
      return this.#window.slice(start - this.#windowAt, end - this.#windowAt)
    }
    const elementName = (start: number, end: number): string =>
      end - start > MAX_ELEMENT_CHARS ? '' : text(start, end).toLowerCase()
    return {
      onopentagname: (start, end) => {
        const name = elementName(start, end)
        this.#element = this.#wanted.has(name) ? name : ''
        this.#attributes.clear()
      },
      onattribname: (start, end) => {
        const isRead = this.#element !== '' && end - start <= MAX_ATTRIBUTE_CHARS
        this.#attribute = isRead ? text(start, end).toLowerCase() : ''
        this.#value = ''
      },
      onattribdata: (start, end) => {
        const part = this.#attribute === '' ? '' : text(start, end)
        this.#dealtWith = end
        if (this.#value.length <= MAX_VALUE_CHARS) this.#value += part
      },
      onattribentity: () => undefined, // the tokenizer takes twice as long when it looks for them itself
      onattribend: (_quote, end) => {
        this.#dealtWith = end
        if (this.#attribute !== '' && !this.#attributes.has(this.#attribute))
          this.#attributes.set(
            this.#attribute,
            this.#value.includes('&') ? decodeHTMLAttribute(this.#value) : this.#value,
          )
        this.#attribute = ''
      },
      onopentagend: () => this.#tagEnds(),
      onselfclosingtag: () => this.#tagEnds(),
      onclosetag: past,
      oncomment: past,
      oncdata: past,
      ondeclaration: past,
      onprocessinginstruction: past,
      ontext: past,
      ontextentity: past,
      onend: () => undefined,
    }
  }

  #tagEnds(): void {
    const element = this.#element
    this.#element = ''
    if (element !== '') this.#onTag(element, this.#attributes)
  }
}
