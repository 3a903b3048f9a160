/**
 * Identifies the client of a request by its Proxy-Authorization: `AGENT:TOKEN` or `AGENT+CRAWL:TOKEN` (RFC 7617). An empty AGENT means the
 * first agent of the token. A proxy without tokens serves only this machine, and ignores the password.
 */

import type { Agent, Agents, PermitToken } from '@decorum/config'
import { Recent } from '@decorum/politeness/admission'
import { CRAWL_NAME, CRAWL_NAME_FORM } from '@decorum/protocol/crawl-name'
import { defined } from '@decorum/runtime'
import { ANYBODY, agentOf, checkCrawl, Problem, type Token, tokenGiven } from '@decorum/sending/granting'

export type Client = { token: Token; agent: Agent; crawl?: string }

const MOST_KNOWN = 2_000

/** @returns a function that reads the header, and throws Problem */
export function clients(agents: Agents, tokens: readonly PermitToken[] | undefined) {
  const known = new Recent<string, Client>(MOST_KNOWN)
  return (authorization = ''): Client => {
    const before = known.get(authorization)
    if (before !== undefined) return before
    const client = read(authorization, agents, tokens)
    known.set(authorization, client)
    return client
  }
}

function read(authorization: string, agents: Agents, tokens: readonly PermitToken[] | undefined): Client {
  const given = /^Basic +([A-Za-z0-9+/]+=*)$/i.exec(authorization)?.[1]
  if (given === undefined && (tokens !== undefined || authorization !== ''))
    throw new Problem('unauthorized', 'send credentials: http://AGENT:TOKEN@ before the address of the proxy')
  const text = Buffer.from(given ?? '', 'base64').toString()
  const colon = text.indexOf(':')
  const [user, password] = colon < 0 ? [text, ''] : [text.slice(0, colon), text.slice(colon + 1)]
  const token = tokens === undefined ? ANYBODY : tokenGiven(password, tokens)
  if (token === undefined) throw new Problem('unauthorized', 'the password is not one of DECORUM_PERMIT_TOKENS')
  const [name, crawl] = user.split('+', 2)
  if (crawl !== undefined && !CRAWL_NAME_FORM.test(crawl))
    throw new Problem('bad-request', `${CRAWL_NAME}: AGENT+CRAWL`)
  checkCrawl(crawl, token)
  return { token, agent: agentOf(name || undefined, token, agents), ...defined({ crawl }) }
}
