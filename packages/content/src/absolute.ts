import { MAX_URL_CHARS } from '@decorum/protocol/origin'

/** Longest value of an attribute that is read, characters. */
export const MAX_VALUE_CHARS = MAX_URL_CHARS

export function absolute(href: string, base: string): URL | undefined {
  if (href.length > MAX_VALUE_CHARS) return undefined
  try {
    return new URL(href, base) // Node 20 has no URL.parse
  } catch {
    return undefined
  }
}
