/**
 * Makes untrusted text safe on a terminal, in a log or on a page. URLs, header fields, rules, agents, reasons and error messages may hold
 * control characters that move a cursor, direction marks that make a line read as another, and line breaks that split a line: they are
 * shown as escapes.
 */

/** C0, DEL and C1 controls; format characters (bidi, zero width, tags); lone surrogates; the two separators. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu

/** One line that a terminal shows unchanged: each unprintable character as `\u001b`, or `\u{e0041}` beyond four digits. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => {
    const hex = (character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')
    return hex.length > 4 ? `\\u{${hex}}` : `\\u${hex}`
  })
}

/** Makes every text in a value printable, property names included. */
export function printableAll<T>(value: T): T {
  if (typeof value === 'string') return printable(value) as T
  if (Array.isArray(value)) return value.map(printableAll) as T
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [printable(name), printableAll(one)])) as T
}

/** JSON.stringify already escapes C0 and lone surrogates; this escapes the rest. Parsing it gives the same value. */
export function printableJson(value: unknown, space?: number): string {
  return escapeJson(JSON.stringify(value, undefined, space))
}

/** Escapes unprintable characters in JSON text, such as a line of a log. */
function escapeJson(json: string): string {
  return json.replace(/[\x7f-\x9f\p{Cf}\u2028\u2029]/gu, (character) =>
    character.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  )
}

/** Options of pino: lines of a log are also read on terminals, and hold URLs and error messages from outside. */
export const printableLog = { hooks: { streamWrite: escapeJson } }
