/**
 * The closed list of fields by which a frontier may shape the request for its candidate. A candidate has them among its other fields; the
 * lane's entry and the order carry them together as `request`. The fleet's own requests for robots.txt are never shaped. A shape can only
 * make a request smaller: limits of the fleet stay in force.
 */

import { mediaTypeOf } from './media-type.ts'
export type RequestShape = {
  /** default GET */
  method?: 'GET' | 'HEAD' | undefined
  /** further headers, by name; none about the sender, the target or the framing */
  headers?: Record<string, string> | undefined
  /** the ETag of the frontier's copy: an answer 304 ends as `unchanged` */
  ifNoneMatch?: string | undefined
  /** the Last-Modified of the frontier's copy: an answer 304 ends as `unchanged` */
  ifModifiedSince?: string | undefined
  /** the `digest` in the outcome of the frontier's copy: an answer with the same bytes ends as `unchanged` */
  knownDigest?: string | undefined
  /** limit of the body on the wire, bytes; never more than PAGE_MAX_BYTES */
  maxBytes?: number | undefined
  /** limit from the start of the exchange to its last byte, ms; never more than FETCH_DEADLINE_MS */
  deadlineMs?: number | undefined
  /** wanted media types (`text/html`, `image/*`): the body of another type is not read (`truncated: 'type'`) */
  accept?: string[] | undefined
  /** report: a redirect ends as `fetched` with `to`, and its target does not become a candidate. Default: follow */
  redirects?: 'follow' | 'report' | undefined
  /** the trace for the fleet's spans of this URL (W3C Trace Context); never sent to a site */
  traceparent?: string | undefined
}

/** Largest shape of one candidate, as JSON in UTF-8, bytes: it is stored with each pending URL. */
export const MAX_SHAPE_BYTES = 2_048
export const MAX_HEADERS = 16
export const MAX_HEADER_CHARS = 1_024
export const MAX_ACCEPTED_TYPES = 16

/** The defaults of absent fields; a field with its default is not stored. */
const USUAL: { [F in keyof Required<RequestShape>]: RequestShape[F] } = {
  method: 'GET',
  headers: undefined,
  ifNoneMatch: undefined,
  ifModifiedSince: undefined,
  knownDigest: undefined,
  maxBytes: undefined,
  deadlineMs: undefined,
  accept: undefined,
  redirects: 'follow',
  traceparent: undefined,
}
export const SHAPE_FIELDS = Object.keys(USUAL) as readonly (keyof RequestShape)[]

/** The shape in a candidate's fields; undefined: the usual request. */
export function shapeOf(candidate: RequestShape): RequestShape | undefined {
  let shape: Record<string, unknown> | undefined
  for (const name of SHAPE_FIELDS) {
    const value = candidate[name]
    if (value === undefined || value === USUAL[name]) continue
    shape ??= {}
    shape[name] = value
  }
  return shape
}

/** The shape for the target of a redirect, without validators and digest, which belong to another URL. */
export function shapeOfTarget(shape: RequestShape | undefined): RequestShape | undefined {
  if (shape === undefined) return undefined
  return shapeOf({ ...shape, ifNoneMatch: undefined, ifModifiedSince: undefined, knownDigest: undefined })
}

/** The part of a shape that applies to a robots fetch for the URL: only its trace. */
export const traceOf = (shape: RequestShape | undefined): Pick<RequestShape, 'traceparent'> | undefined =>
  shape?.traceparent === undefined ? undefined : { traceparent: shape.traceparent }

/** Whether a shape asks if a page has changed. */
export const isConditional = (shape: RequestShape | undefined): boolean =>
  shape?.ifNoneMatch !== undefined || shape?.ifModifiedSince !== undefined

/** Headers that a frontier cannot set, and why. */
const RESERVED: readonly [names: RegExp, why: string][] = [
  [
    /^(user-agent|from|via|forwarded|x-forwarded.*|x-real-.*|x-client-.*|x-cluster-client-ip|x-originating-.*|x-remote-.*|(.*-)?client-?ip|fly-client-.*|x-envoy-.*|x-appengine-.*|cf-.*|fastly-.*|akamai-.*|sec-.*|signature|signature-.*|x-requested-with|x-robots-.*|x-.*user-agent|x-.*-ua)$/,
    'it says who asks, which the agent alone does',
  ],
  [
    /^((x-)?(.*-)?authorization|proxy-.*|(x-)?api-?key|x-auth-.*|(x-)?(.*-)?(access|auth|security|session|csrf|xsrf)-?token|x-session-.*|cookie|cookie2|set-cookie|referer|referrer|origin|dpop)$/,
    'no credentials, cookies or referrers are sent',
  ],
  [
    /^(host|x-host|x-original-.*|x-rewrite-.*|x-http-.*|x-method-.*|x-override-.*|alt-used|service-worker.*|access-control-.*)$/,
    'it may change what is asked for, which the URL and `method` alone say',
  ],
  [
    /^(connection|keep-alive|content-.*|transfer-encoding|te|trailer|upgrade|http2-settings|expect|date|max-forwards|early-data|priority)$/,
    'it belongs to the connection or to a body',
  ],
  [
    /^(accept-encoding|accept-charset|accept-ranges|range|if-range|if-match|if-unmodified-since)$/,
    'the fleet asks for whole pages in codings that it can read',
  ],
  [/^accept$/, 'use the field `accept`'],
  [/^if-none-match$/, 'use the field `ifNoneMatch`'],
  [/^if-modified-since$/, 'use the field `ifModifiedSince`'],
]
const NAME = /^[a-z][a-z0-9-]{0,63}$/
/** Printable ASCII or Latin-1, without a blank at either end. */
export const HEADER_VALUE = /^[\x21-\x7e\xa1-\xff]([\t\x20-\x7e\xa0-\xff]*[\x21-\x7e\xa1-\xff])?$/

/** Describes an error in headers, in a sentence; undefined: none. */
export function wrongHeaders(headers: unknown): string | undefined {
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers)) return 'an object is needed'
  const entries = Object.entries(headers)
  if (entries.length > MAX_HEADERS) return `at most ${MAX_HEADERS} headers`
  const seen = new Set<string>()
  for (const [given, value] of entries) {
    const name = given.toLowerCase()
    if (!NAME.test(name)) return 'the name of a header is 1 to 64 letters, digits and hyphens, beginning with a letter'
    if (seen.has(name)) return `${name} stands there twice`
    seen.add(name)
    const why = RESERVED.find(([names]) => names.test(name))?.[1]
    if (why !== undefined) return `${name} cannot be set: ${why}`
    if (typeof value !== 'string' || value.length > MAX_HEADER_CHARS || !HEADER_VALUE.test(value))
      return `${name}: 1 to ${MAX_HEADER_CHARS} printable characters of Latin-1 are needed, without blanks at the ends`
  }
  return undefined
}

/** Whether `accept` allows an answer with this Content-Type. An answer without one is not accepted. */
export function isAccepted(accept: readonly string[], contentType: string | null | undefined): boolean {
  const type = mediaTypeOf(contentType).essence
  if (type === undefined) return false
  const any = `${type.slice(0, type.indexOf('/'))}/*`
  return accept.some((wanted) => wanted === type || wanted === any)
}
