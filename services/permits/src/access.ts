/** Who may ask for permits: without tokens every program on this machine, with tokens their holders. Web pages may not at all. */
import { hash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { Recent } from '@decorum/admission'
import { isLoopback, type PermitToken } from '@decorum/config'
import type { Token } from './config.ts'
import { Problem } from './problem.ts'

/** Without tokens: every program of this machine, for every agent. */
const ANYBODY: Token = { name: '' }

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
  const digest = digestOf(given)
  // Digests have one length, so the comparison takes one time whatever was sent.
  const found = tokens.find(({ token }) => timingSafeEqual(digest, digestOf(token)))
  if (found === undefined) throw new Problem('unauthorized', 'this token is not one of DECORUM_PERMIT_TOKENS')
  return found
}

const MOST_DIGESTS = 2_000
const digests = new Recent<string, Buffer>(MOST_DIGESTS)
function digestOf(text: string): Buffer {
  const known = digests.get(text)
  if (known !== undefined) return known
  const digest = hash('sha256', text, 'buffer')
  digests.set(text, digest)
  return digest
}

export const mayBe = ({ agents }: Token, key: string): boolean =>
  agents === undefined || agents.some((name) => name.toLowerCase() === key)
