/** Longest value of an attribute that is read, characters. */
export const MAX_VALUE_CHARS = 8_192

export function absolute(href: string, base: string): URL | undefined {
  if (href.length > MAX_VALUE_CHARS) return undefined
  try {
    return new URL(href, base) // Node 20 has no URL.parse
  } catch {
    return undefined
  }
}
