/** Names of crawlers: the product token, and the order in which groups are looked for (RFC 9309 §2.2.1). */

/** A product token, a whole User-Agent string, or tokens from most to least specific. */
export type Agent = string | readonly string[]

/** Length of the leading `[A-Za-z_-]+` of a text: no regular expression, so no allocation on the way to a verdict. */
function tokenLength(text: string): number {
  let length = 0
  for (; length < text.length; length++) {
    const code = text.charCodeAt(length)
    const letter = (code | 32) >= 97 && (code | 32) <= 122
    if (!letter && code !== 95 && code !== 45) break
  }
  return length
}

/**
 * The product token of a User-Agent, or of a user-agent line: its leading `[A-Za-z_-]+`, in lower case.
 * `Googlebot/2.1 (+http://…)` → `googlebot`; '' when it starts with anything else.
 */
export function productToken(userAgent: string): string {
  return userAgent.slice(0, tokenLength(userAgent)).toLowerCase()
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
