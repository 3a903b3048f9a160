/** Bytes by name, and the two tables that the parser needs. */

export const NUL = 0
export const TAB = 9
export const LF = 10
export const VT = 11
export const FF = 12
export const CR = 13
export const SPACE = 32
export const HASH = 35
export const DOLLAR = 36
export const PERCENT = 37
export const STAR = 42
export const SLASH = 47
export const COLON = 58
export const QUERY = 63

/** Value of a hexadecimal digit, -1 for any other byte. */
export function hexValue(code: number | undefined): number {
  if (code === undefined) return -1
  if (code >= 48 && code <= 57) return code - 48
  const letter = code | 32
  return letter >= 97 && letter <= 102 ? letter - 87 : -1
}

/** The characters of a product token: letters, '-' and '_' (RFC 9309 §2.2.1). */
export function isTokenByte(code: number): boolean {
  const letter = code | 32
  return (letter >= 97 && letter <= 122) || code === 45 || code === 95
}

/** ALPHA, DIGIT, '-', '.', '_', '~': the encoded form is equivalent (RFC 3986 §2.3). */
export function isUnreserved(code: number): boolean {
  return isTokenByte(code) || (code >= 48 && code <= 57) || code === 46 || code === 126
}

/**
 * By byte, 1: may occur unencoded in the path and the query of a URI. These are the unreserved and reserved characters of RFC 3986, less
 * `[`, `]` and `#`, which may not occur there (§3.3, §3.4), and less `'`, which a URL encodes in its query (WHATWG). All others can only be
 * meant encoded, so under 'unreserved' both sides of a comparison encode them.
 */
export const PLAIN: Uint8Array = /* @__PURE__ */ plainBytes()

function plainBytes(): Uint8Array {
  const plain = new Uint8Array(256)
  for (const sign of '/?:@!$&()*+,;=') plain[sign.charCodeAt(0)] = 1
  for (let byte = 0; byte < 256; byte++) if (isUnreserved(byte)) plain[byte] = 1
  return plain
}

/** The upper-case hexadecimal digit of 0–15, as a byte. */
export function hexDigit(value: number): number {
  return value < 10 ? value + 48 : value + 55
}

const utf8 = /* @__PURE__ */ new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Bytes as text: UTF-8 if they are valid; otherwise each byte ≥ 0x80 as %XX, which a pattern treats alike. */
export function textOf(bytes: Uint8Array, start: number, end: number): string {
  try {
    return utf8.decode(bytes.subarray(start, end))
  } catch {
    let text = ''
    for (let at = start; at < end; at++) {
      const code = bytes[at] as number
      text += code < 0x80 ? String.fromCharCode(code) : `%${code.toString(16).toUpperCase()}`
    }
    return text
  }
}
