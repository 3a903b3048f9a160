/** Authorises callers: without tokens every program on this machine, with tokens their holders. Web pages are always refused. */
import type { IncomingHttpHeaders } from 'node:http'
import { isLoopback, type PermitToken } from '@decorum/config'
import { ANYBODY, Problem, type Token, tokenGiven } from '@decorum/sending/granting'

/** @throws Problem */
export function holderOf(headers: IncomingHttpHeaders, tokens: PermitToken[] | undefined): Token {
  // Browsers set these headers themselves and pages cannot change them; crawlers do not send them.
  const site = headers['sec-fetch-site']
  if (headers.origin !== undefined || (site !== undefined && site !== 'none'))
    throw new Problem('forbidden', 'a web page may not ask for permits')
  if (tokens === undefined) {
    if (isLoopback(URL.parse(`http://${headers.host ?? ''}`)?.hostname ?? '')) return ANYBODY
    throw new Problem('forbidden', 'without DECORUM_PERMIT_TOKENS only localhost and loopback addresses are answered')
  }
  const given = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1]
  if (given === undefined) throw new Problem('unauthorized', 'send a token: Authorization: Bearer …')
  const found = tokenGiven(given, tokens)
  if (found === undefined) throw new Problem('unauthorized', 'this token is not one of DECORUM_PERMIT_TOKENS')
  return found
}
