/**
 * Header fields that cross the proxy in each direction: fields of one connection stay on it (RFC 9110 §7.6.1), and the framing of a
 * message is written anew on each side, so that no two readers can disagree about its end. Pure.
 */
import { type Agent, contactIn } from '@decorum/config'
import { tokensOf } from '@decorum/politeness'
import { membersOf } from '@decorum/protocol/headers'
import { Problem } from '@decorum/sending/granting'

type Fields = [string, string][]

const OF_ONE_CONNECTION = new Set([
  ...['connection', 'proxy-connection', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
  ...['proxy-authorization', 'proxy-authenticate', 'proxy-authentication-info', 'http2-settings'],
])
/** Not copied from the client: the proxy writes these itself, except `expect`. */
const WRITTEN_ANEW = new Set(['host', 'content-length', 'expect', 'user-agent', 'via'])

/** @param raw  name, value, name, value …, in Node's form */
export function fieldsOf(raw: readonly string[]): Fields {
  const fields: Fields = []
  for (let at = 0; at + 1 < raw.length; at += 2)
    if (raw[at]?.startsWith(':') === false) fields.push([raw[at] as string, raw[at + 1] as string])
  return fields
}

function crossing(fields: Fields): Fields {
  const named = new Set(membersOf(fields, 'connection').map((name) => name.toLowerCase()))
  return fields.filter(([name]) => {
    const lower = name.toLowerCase()
    return !OF_ONE_CONNECTION.has(lower) && !named.has(lower)
  })
}

export type UserAgentRule = 'override' | 'keep' | 'refuse'
export type ToSite = {
  agent: Agent
  rule: UserAgentRule
  /** length of the body, as the client announced it; undefined: there is no body, or it is chunked */
  length: string | undefined
  /** the name of this proxy in Via */
  name: string
}

/**
 * Header fields for the site, name, value, name, value …
 * @throws Problem when the User-Agent of the client may not go out
 */
export function toSite(fields: Fields, { agent, rule, length, name }: ToSite): string[] {
  const headers: string[] = ['user-agent', userAgentFor(firstOf(fields, 'user-agent'), agent, rule)]
  for (const [field, value] of crossing(fields)) if (!WRITTEN_ANEW.has(field.toLowerCase())) headers.push(field, value)
  if (length !== undefined) headers.push('content-length', length)
  headers.push('via', [...linesOf(fields, 'via'), `1.1 ${name}`].join(', '))
  return headers
}

function userAgentFor(given: string, agent: Agent, rule: UserAgentRule): string {
  const wrong = (why: string): Problem => new Problem('forbidden', `User-Agent: ${why}`)
  if (rule === 'override') return agent.userAgent
  if (rule === 'refuse') {
    if (given === agent.userAgent) return given
    throw wrong(`only ${agent.userAgent} is passed on (PROXY_USER_AGENT=refuse)`)
  }
  const names = tokensOf(agent)
  if (!names.some((token) => given.toLowerCase().includes(token.toLowerCase())))
    throw wrong(`it has to name ${names.join(' or ')}, whose rules are obeyed (PROXY_USER_AGENT=keep)`)
  if (contactIn(given) === undefined)
    throw wrong('it has to name a contact, a URL or an e-mail address (PROXY_USER_AGENT=keep)')
  return given
}

/** Fields of an answer's head for the client: name, value, name, value … */
export function toClient(fields: Fields, name: string): string[] {
  const lengths = new Set(linesOf(fields, 'content-length').flatMap((line) => line.split(',').map((one) => one.trim())))
  const isChunked = linesOf(fields, 'transfer-encoding').length > 0
  const [length = ''] = lengths
  const headers: string[] = []
  for (const [field, value] of crossing(fields))
    if (field.toLowerCase() !== 'content-length' && isWritable(field, value)) headers.push(field, value)
  if (lengths.size === 1 && /^\d{1,15}$/.test(length) && !isChunked) headers.push('content-length', length)
  headers.push('via', `1.1 ${name}`)
  return headers
}

/** Not allowed in trailers: fields about framing or processing must precede the body (RFC 9110 §6.5.1). */
const NEVER_BEHIND = new Set([
  ...['content-length', 'content-encoding', 'content-type', 'content-range', 'host', 'location', 'set-cookie'],
  ...['cache-control', 'authorization', 'www-authenticate', 'retry-after', 'via', 'age', 'expires', 'date', 'vary'],
])

/** Fields behind the body of an answer, for the client. */
export const trailersToClient = (fields: Fields | undefined): Fields | undefined =>
  fields && crossing(fields).filter(([name, value]) => !NEVER_BEHIND.has(name.toLowerCase()) && isWritable(name, value))

/** Whether the body has transfer codings that this proxy has not removed. */
export const isTransferCoded = (fields: Fields): boolean =>
  membersOf(fields, 'transfer-encoding').some((coding) => !/^(chunked|identity)$/i.test(coding))

/** Whether Node can write the field: other bytes could end a line. */
const isWritable = (name: string, value: string): boolean =>
  /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name) && !/[^\t\x20-\x7e\x80-\xff]/.test(value)

const linesOf = (fields: Fields, name: string): string[] =>
  fields.filter(([field]) => field.toLowerCase() === name).map(([, value]) => value)
const firstOf = (fields: Fields, name: string): string => linesOf(fields, name)[0] ?? ''

/** Whether the request has already passed through this proxy. */
export const isLoop = (via: string | undefined, name: string): boolean =>
  via?.split(',').some((hop) => hop.trim().split(/\s+/)[1] === name) ?? false
