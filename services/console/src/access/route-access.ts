/**
 * The access of a route, and whether the requesting web page may use it. Browsers send logins and cookies automatically, so a page of
 * another site can make requests in its visitor's name; headers that no page can change reveal the requesting page. The matched route is
 * judged, never the URL as written: `/v1/%6futcomes` is `/v1/outcomes`.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { Problem } from '@decorum/runtime/http-api'
import type { FastifyInstance } from 'fastify'

/**
 * `open`: health and the page for owners of sites, for everybody. `login`: signing in, like `write`, but without a password. `read`: changes
 * nothing. `write`: changes something or assigns something, by any method: the reader of GET /v1/outcomes acknowledges what it receives.
 */
export type Access = 'open' | 'login' | 'read' | 'write'

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access
  }
}

export type KnownRoute = { method: string; url: string; access: Access }

/**
 * Collects the routes of a server; called before the first is added.
 * @returns a function that lists them once all are added; it throws for a route that does not declare its access
 */
export function collectRoutes(server: FastifyInstance): () => KnownRoute[] {
  const seen: { method: string | string[]; url: string; config?: { access?: Access } }[] = []
  server.addHook('onRoute', (route) => void seen.push(route))
  const list = (): KnownRoute[] =>
    seen.flatMap(({ method, url, config }) =>
      [method].flat().map((one) => {
        const access = config?.access
        if (access === undefined) throw new Error(`${one} ${url}: the route does not declare its access`)
        if (access === 'read' && !isSafe(one)) throw new Error(`${one} ${url}: only GET and HEAD can be 'read'`)
        return { method: one, url, access }
      }),
    )
  server.addHook('onReady', async () => void list())
  return list
}

const isSafe = (method: string): boolean => method === 'GET' || method === 'HEAD'

/**
 * `own`: a page of this console. `foreign`: a page of any other origin, even another port of this host. `person`: a typed address, or a link
 * in another program. `browser`: a browser that does not send the header, because this URL is plain HTTP or the browser is old.
 * `program`: no browser.
 */
type Requester = 'own' | 'foreign' | 'person' | 'browser' | 'program'

/** Why this request is refused, or undefined. */
export function refusePage(access: Access, method: string, headers: IncomingHttpHeaders): Problem | undefined {
  if (access === 'open') return undefined
  const writes = access === 'write' || !isSafe(method)
  const requester = requesterOf(headers)
  if (requester === 'foreign') {
    // A link to one of our pages may be followed. Anything else is refused, so that no page can time or embed an answer.
    if (!writes && headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document')
      return undefined
    return new Problem(403, 'cross-site', 'a page of another site may not ask for this')
  }
  // Browsers send Origin with every POST, PUT, PATCH and DELETE, so a request without it does not come from a foreign page
  if (!writes || !isSafe(method) || requester === 'own') return undefined
  const isNavigation = headers.accept?.includes('text/html') === true
  if (requester === 'program' && !isNavigation) return undefined
  // A page of another origin can send this header only after a preflight, which this server never grants
  if (headers['x-requested-with'] !== undefined && !isNavigation) return undefined
  return new Problem(
    403,
    'not-for-navigation',
    'this takes something away, so a browser may not simply open it: programs that call themselves Mozilla send the header X-Requested-With',
  )
}

function requesterOf({
  'sec-fetch-site': site,
  origin,
  host,
  'user-agent': agent = '',
}: IncomingHttpHeaders): Requester {
  if (site === 'same-origin') return 'own'
  if (site === 'none') return 'person'
  if (site !== undefined) return 'foreign'
  if (origin !== undefined) return isOwn(origin, host) ? 'own' : 'foreign'
  // Every current browser calls itself Mozilla, and a page cannot change that without a preflight
  return /^mozilla\//i.test(agent) ? 'browser' : 'program'
}

/** The scheme is not compared: a proxy in front may use TLS. */
function isOwn(origin: string, host = ''): boolean {
  const at = URL.parse(origin)
  return at !== null && at.host !== '' && at.host === URL.parse(`${at.protocol}//${host}`)?.host
}
