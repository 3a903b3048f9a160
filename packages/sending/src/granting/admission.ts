/** Checks of a request that need neither the site nor DNS: its URL, its port, its agent, and an IP address as its host. */
import { isIP } from 'node:net'
import type { Agent } from '@decorum/config'
import type { AddressGuard } from '@decorum/politeness/admission'
import { namesRobotsTxt, readUrl } from '@decorum/protocol'
import { Problem } from './problem.ts'
import type { Token } from './tokens.ts'

/**
 * One URL for one agent, requested `by` the holder of a token. `index`: its position among the URLs of one request. `crawl`: the crawl
 * whose weight decides its turn.
 */
export type Wish = { agent: Agent; by: Token; origin: string; path: string; url: string; index: number; crawl?: string }

/** @returns the URL with its lane, or why it is never visited */
export function admit(text: string, agent: Agent, by: Token, guard: AddressGuard, index = 0): Wish | Problem {
  const at = readUrl(text)
  if ('refused' in at)
    return new Problem('bad-request', `this is no URL that can be fetched: ${at.refused}`, { url: text })
  const { origin, path, host } = at
  const url = origin + path
  const refused = (reason: string, detail: string): Problem => new Problem('refused', detail, { reason, url })
  const port = Number(new URL(origin).port)
  const portError = port === 0 ? undefined : guard.refusePort(port)
  if (portError !== undefined) return refused('guarded-port', portError.message)
  const bare = host.replace(/^\[|\]$/g, '')
  if (isIP(bare) !== 0) {
    const error = guard.refuse(bare, bare, agent.hasContact)
    if (error !== undefined)
      return refused(guard.judge(bare) === 'guarded' ? 'guarded-address' : 'no-contact', error.message)
  } else if (!agent.hasContact && !isOpenedName(bare, guard)) {
    return refused(
      'no-contact',
      `the agent ${agent.name} names no contact, so only addresses of DECORUM_ALLOW_ADDRESSES are visited`,
    )
  }
  if (namesRobotsTxt(path))
    return refused('robots-txt', 'a fetcher of the fleet asks for robots.txt: GET /v1/robots tells what it says')
  return { agent, by, origin, path, url, index }
}

/** Whether a host name is `localhost`, which is loopback by RFC 6761 §6.3, and loopback is opened. No name is resolved here. */
const isOpenedName = (host: string, guard: AddressGuard): boolean =>
  (host === 'localhost' || host.endsWith('.localhost')) &&
  (guard.judge('127.0.0.1') === 'opened' || guard.judge('::1') === 'opened')
