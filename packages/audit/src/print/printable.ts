/** Makes text from logs safe to show: no control character reaches a terminal, and nothing changes the direction of the text. */

/** C0, C1 and DEL; direction marks; line separators; lone surrogates. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu

export const printable = (text: string): string =>
  text.replace(UNPRINTABLE, (c) => `\\u{${(c.codePointAt(0) ?? 0).toString(16)}}`)

/** The same inside a JSON text: escapes that any JSON reader undoes. */
export const printableJson = (json: string): string =>
  json.replace(/[\p{Cf}\p{Cs}\u007f-\u009f\u2028\u2029]/gu, (c) =>
    Array.from({ length: c.length }, (_, at) => `\\u${c.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''),
  )

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** The same for HTML, between tags and in quoted attributes. */
export const escaped = (text: string): string => printable(text).replace(/[&<>"']/g, (c) => ENTITIES[c] as string)
