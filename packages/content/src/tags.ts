/**
 * Streams the tags of a page with selected attributes, and selected text. Only htmlparser2's tokenizer is used: its parser, which
 * tracks open elements, takes seconds for a page of unclosed ones.
 */
import { decodeHTMLAttribute } from 'entities/decode'
import { Tokenizer } from 'htmlparser2'
import { MAX_VALUE_CHARS } from './absolute.ts'
import { ForeignElements } from './foreign.ts'

/** Longest selectable name of an element or attribute, characters. */
const MAX_ELEMENT_CHARS = 32
const MAX_ATTRIBUTE_CHARS = 16

export type TagEvents = {
  /** @param attributes  by name in lower case; the first of each name. @param isForeign  of SVG or MathML */
  onTag(element: string, attributes: ReadonlyMap<string, string>, isForeign: boolean): void
  /** called at each end tag, even of an element that was never open */
  onEnd?(element: string): void
  /** called where `wantsText` is set: the raw text, and CDATA escaped like other text */
  onText?(text: string): void
}
export type TagOptions = {
  /** `<script/>` ends at once, elements have prefixes, and there is CDATA */
  isXml?: boolean
}

export class TagReader {
  wantsText = false
  readonly #wanted: ReadonlySet<string>
  readonly #events: TagEvents
  readonly #isXml: boolean
  readonly #foreign: ForeignElements | undefined
  readonly #tokenizer: Tokenizer
  /** text not yet processed, and its position in the whole */
  #window = ''
  #windowAt = 0
  #dealtWith = 0
  #element = ''
  #attribute = ''
  #value = ''
  #attributes = new Map<string, string>()

  /** @param wanted  names of elements, in lower case; in XML without their prefix */
  constructor(wanted: ReadonlySet<string>, events: TagEvents, { isXml = false }: TagOptions = {}) {
    this.#wanted = wanted
    this.#events = events
    this.#isXml = isXml
    this.#foreign = isXml ? undefined : new ForeignElements()
    this.#tokenizer = new Tokenizer({ decodeEntities: false, xmlMode: isXml }, this.#callbacks())
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
    const isWanted = (name: string): boolean => this.#wanted.has(this.#isXml ? name.slice(name.indexOf(':') + 1) : name)
    return {
      isInForeignContext: () => this.#foreign?.isInside === true,
      onopentagname: (start, end) => {
        const name = elementName(start, end)
        this.#foreign?.open(name)
        this.#element = isWanted(name) ? name : ''
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
      onattribentity: () => undefined, // the tokenizer takes twice as long when it decodes entities itself
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
      onselfclosingtag: () => {
        const element = this.#element
        const isClosed = this.#isXml || this.#foreign?.isInside === true
        this.#tagEnds()
        this.#foreign?.closeItself()
        if (isClosed && element !== '') this.#events.onEnd?.(element)
      },
      onclosetag: (start, end) => {
        if (this.#foreign?.isEmpty === true && this.#events.onEnd === undefined) return past(start, end)
        const name = elementName(start, end)
        this.#dealtWith = end
        this.#foreign?.close(name)
        if (isWanted(name)) this.#events.onEnd?.(name)
      },
      ontext: (start, end) => {
        if (this.wantsText) this.#events.onText?.(text(start, end))
        this.#dealtWith = end
      },
      oncdata: (start, end, endOffset) => {
        if (this.wantsText) this.#events.onText?.(text(start, end - endOffset).replaceAll('&', '&amp;'))
        this.#dealtWith = end
      },
      oncomment: past,
      ondeclaration: past,
      onprocessinginstruction: past,
      ontextentity: past,
      onend: () => undefined,
    }
  }

  #tagEnds(): void {
    const element = this.#element
    this.#element = ''
    if (element !== '') this.#events.onTag(element, this.#attributes, this.#foreign?.isInside === true)
  }
}
