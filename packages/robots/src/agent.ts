/** Names of crawlers: the product token, and the order in which groups are searched (RFC 9309 §2.2.1). */

import { isTokenOctet } from './octets.ts'

/** A product token, a whole User-Agent string, or tokens from most to least specific. */
export type Agent = string | readonly string[]

/** The text before the name of a crawler that poses as a browser: `Mozilla/5.0 (compatible; X/1.0; +http://…)`. */
const POSING = /^mozilla\b[\s\S]{0,1000}?\bcompatible;[ \t]{0,9}([A-Za-z_-]+)/i

/** The name in a browser's User-Agent, in lower case; undefined when it is no such User-Agent, or names no crawler. */
export function tokenInBrowserAgent(userAgent: string): string | undefined {
  const token = POSING.exec(userAgent)?.[1]?.toLowerCase()
  return token === 'msie' ? undefined : token
}

/**
 * The product token of a User-Agent: its leading `[A-Za-z_-]+`, in lower case; '' when it starts with anything else. `Googlebot/2.1
 * (+http://…)` → `googlebot`. In a browser's User-Agent it is the name behind `compatible;`: `Mozilla/5.0 (compatible; X/1.0)` → `x`.
 */
export function productToken(userAgent: string): string {
  return tokenInBrowserAgent(userAgent) ?? leadingToken(userAgent)
}

function leadingToken(text: string): string {
  let length = 0
  while (length < text.length && isTokenOctet(text.charCodeAt(length))) length++
  return text.slice(0, length).toLowerCase()
}

/**
 * Tokens in the order in which a group is searched. An explicit list keeps its order; with 'dashes' the shortened names follow it, because
 * a name that the caller wrote is more specific than a derived one. A browser's User-Agent gives two: the name found in it, and then
 * `mozilla`.
 */
export function tokensOf(agent: Agent, fallback: 'exact' | 'dashes'): string[] {
  const named = (typeof agent === 'string' ? [agent] : agent)
    .flatMap((name) => [productToken(name), leadingToken(name)])
    .filter((token) => token !== '')
  const tokens = new Set(named)
  if (fallback === 'dashes')
    for (const token of named)
      for (let dash = token.lastIndexOf('-'); dash > 0; dash = token.lastIndexOf('-', dash - 1))
        tokens.add(token.slice(0, dash))
  return [...tokens]
}

/** Whether these are the same names in the same order. */
export function sameAgent(a: Agent, b: Agent): boolean {
  if (typeof a === 'string' || typeof b === 'string') return a === b
  return a.length === b.length && a.every((name, i) => name === b[i])
}
