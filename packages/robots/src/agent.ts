/** Names of crawlers: the product token, and the order in which groups are looked for (RFC 9309 §2.2.1). */

import { isTokenOctet } from './octets.ts'

/** A product token, a whole User-Agent string, or tokens from most to least specific. */
export type Agent = string | readonly string[]

/**
 * The product token of a User-Agent, or of a user-agent line: its leading `[A-Za-z_-]+`, in lower case.
 * `Googlebot/2.1 (+http://…)` → `googlebot`; '' when it starts with anything else.
 */
export function productToken(userAgent: string): string {
  let length = 0
  while (length < userAgent.length && isTokenOctet(userAgent.charCodeAt(length))) length++
  return userAgent.slice(0, length).toLowerCase()
}

/**
 * Tokens in the order in which a group is looked for. An explicit list keeps its order; with 'dashes' the shortened
 * names come after it: a name that the caller wrote says more than one that we derive.
 */
export function tokensOf(agent: Agent, fallback: 'exact' | 'dashes'): string[] {
  const named = (typeof agent === 'string' ? [agent] : agent).map(productToken).filter((token) => token !== '')
  const tokens = new Set(named)
  if (fallback === 'dashes')
    for (const token of named)
      for (let dash = token.lastIndexOf('-'); dash > 0; dash = token.lastIndexOf('-', dash - 1))
        tokens.add(token.slice(0, dash))
  return [...tokens]
}
