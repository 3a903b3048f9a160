/** Validates a request without contact to its site. */
import type { IncomingHttpHeaders } from 'node:http'
import { namesRobotsTxt, readUrl } from '@decorum/protocol'
import { defined } from '@decorum/runtime'
import { admit, Problem, type Wish } from '@decorum/sending/granting'
import type { Client } from './client.ts'
import { isLoop } from './fields.ts'
import type { Parts } from './parts.ts'

type ClientRequest = { method?: string | undefined; headers: IncomingHttpHeaders }

/** @throws Problem */
export function wishOf(
  url: string,
  { method, headers }: ClientRequest,
  { agent, token, crawl }: Client,
  parts: Parts,
): Wish {
  const { config, name } = parts
  // Over HTTP/1.1 llhttp refuses other bytes: readers disagree about their meaning
  if (!/^https?:\/\/[^/?#\\][\x21-\x7e]*$/i.test(url))
    throw new Problem('bad-request', 'a proxy is sent the whole URL in ASCII, http:// or https:// and a host')
  const { username, password } = URL.parse(url) ?? {}
  // Unlike in other refusals, the URL is not repeated in the answer: it contains a password
  if (username || password) throw new Problem('bad-request', 'a URL with a login in it is not passed on: send a header')
  if (method === 'TRACE') throw new Problem('bad-request', 'TRACE is not passed on')
  // Other upgrades are ignored: a client can do without them, and the field is not passed on (RFC 9110 §7.8)
  if (wantsUpgrade(headers) && /\b(websocket|connect-(udp|ip))\b/i.test(headers.upgrade ?? ''))
    throw new Problem(
      'bad-request',
      `an upgrade to ${headers.upgrade} is not passed on: what it carries could not be paced`,
    )
  if (isLoop(headers.via, name)) throw new Problem('bad-request', 'this proxy was asked for itself')
  const read = readUrl(url)
  const isRobots = (method === 'GET' || method === 'HEAD') && !('refused' in read) && namesRobotsTxt(read.path)
  const wish = admit(isRobots ? `${read.origin}/` : url, agent, token, config.guard)
  if (wish instanceof Problem) throw wish
  if (!mayPass(wish.origin, config.hosts))
    throw new Problem('forbidden', 'this host is not one of PROXY_HOSTS', { url })
  return { ...wish, ...(isRobots && { path: read.path }), ...defined({ crawl }) }
}

const wantsUpgrade = ({ connection }: IncomingHttpHeaders): boolean => /(^|,)\s*upgrade\s*(,|$)/i.test(connection ?? '')

function mayPass(origin: string, hosts: readonly string[]): boolean {
  const { hostname } = new URL(origin)
  return hosts.length === 0 || hosts.some((host) => hostname === host || hostname.endsWith(`.${host}`))
}
