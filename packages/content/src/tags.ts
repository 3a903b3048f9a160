/**
 * Streams selected tags of a page with their attributes, and selected text. Only htmlparser2's tokenizer is used: its parser, which
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

export type TagReader = {
  /** whether `onText` is called */
  wantsText: boolean
  write(text: string): void
  end(): void
}

/** @param wanted  names of elements, in lower case; in XML without their prefix */
export function tagReader(
  wanted: ReadonlySet<string>,
  { onTag, onEnd, onText }: TagEvents,
  { isXml = false }: TagOptions = {},
): TagReader {
  const foreign = isXml ? undefined : new ForeignElements()
  /** text not yet processed, and its position in the whole */
  let window = ''
  let windowAt = 0
  let dealtWith = 0
  let element = ''
  let attribute = ''
  let value = ''
  const attributes = new Map<string, string>()

  const past = (_start: number, end: number): void => {
    dealtWith = end
  }
  const text = (start: number, end: number): string => {
    dealtWith = end
    return window.slice(start - windowAt, end - windowAt)
  }
  const elementName = (start: number, end: number): string =>
    end - start > MAX_ELEMENT_CHARS ? '' : text(start, end).toLowerCase()
  const isWanted = (name: string): boolean => wanted.has(isXml ? name.slice(name.indexOf(':') + 1) : name)
  const endTag = (): void => {
    const name = element
    element = ''
    if (name !== '') onTag(name, attributes, foreign?.isInside === true)
  }
  const tokenizer = new Tokenizer(
    { decodeEntities: false, xmlMode: isXml },
    {
      isInForeignContext: () => foreign?.isInside === true,
      onopentagname: (start, end) => {
        const name = elementName(start, end)
        foreign?.open(name)
        element = isWanted(name) ? name : ''
        attributes.clear()
      },
      onattribname: (start, end) => {
        attribute = element !== '' && end - start <= MAX_ATTRIBUTE_CHARS ? text(start, end).toLowerCase() : ''
        value = ''
      },
      onattribdata: (start, end) => {
        const part = attribute === '' ? '' : text(start, end)
        dealtWith = end
        if (value.length <= MAX_VALUE_CHARS) value += part
      },
      onattribentity: () => undefined, // the tokenizer takes twice as long when it decodes entities itself
      onattribend: (_quote, end) => {
        dealtWith = end
        if (attribute !== '' && !attributes.has(attribute))
          attributes.set(attribute, value.includes('&') ? decodeHTMLAttribute(value) : value)
        attribute = ''
      },
      onopentagend: endTag,
      onselfclosingtag: () => {
        const name = element
        const isClosed = isXml || foreign?.isInside === true
        endTag()
        foreign?.closeItself()
        if (isClosed && name !== '') onEnd?.(name)
      },
      onclosetag: (start, end) => {
        if (foreign?.isEmpty === true && onEnd === undefined) return past(start, end)
        const name = elementName(start, end)
        dealtWith = end
        foreign?.close(name)
        if (isWanted(name)) onEnd?.(name)
      },
      ontext: (start, end) => {
        if (reader.wantsText) onText?.(text(start, end))
        dealtWith = end
      },
      oncdata: (start, end, endOffset) => {
        if (reader.wantsText) onText?.(text(start, end - endOffset).replaceAll('&', '&amp;'))
        dealtWith = end
      },
      oncomment: past,
      ondeclaration: past,
      onprocessinginstruction: past,
      ontextentity: past,
      onend: () => undefined,
    },
  )
  const reader: TagReader = {
    wantsText: false,
    write(more) {
      window = window.slice(dealtWith - windowAt) + more
      windowAt = dealtWith
      tokenizer.write(more)
    },
    end: () => tokenizer.end(),
  }
  return reader
}
