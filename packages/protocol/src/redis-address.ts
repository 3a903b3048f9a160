/**
 * Parses REDIS_URL, the address of the fleet's Redis. One address is one server, or with `?cluster` the one name of a Redis Cluster;
 * several, separated by commas, are nodes of one cluster, and any of them that answers names the rest; `sentinel://` gets the address of
 * the master from Redis Sentinel; `unix://` is a socket of this machine. The forms are listed in docs/cluster.md.
 */

export type RedisAddress =
  | { kind: 'server'; node: RedisNode; db: number; login: RedisLogin }
  | { kind: 'socket'; path: string; db: number; login: RedisLogin }
  /** the same login for every node */
  | { kind: 'cluster'; nodes: RedisNode[]; login: RedisLogin }
  /** `login`: of the master; `ofSentinels`: of the Sentinels, with TLS if the master has it */
  | { kind: 'sentinel'; sentinels: RedisNode[]; master: string; db: number; login: RedisLogin; ofSentinels: RedisLogin }
export type RedisNode = { host: string; port: number }
export type RedisLogin = { username?: string; password?: string; tls?: RedisTls }
/** paths of PEM files, and the name in the certificate if it differs from the host */
export type RedisTls = { ca?: string; cert?: string; key?: string; servername?: string }

const FORMS =
  'redis://host:6379, several of those separated by commas for a cluster, sentinel://host:26379/master, or unix:///path'
/** The query parameters that each kind of address allows. */
const OF_TLS = ['ca', 'cert', 'key', 'servername'] as const
const OF_QUERY: Record<Kind, readonly string[]> = {
  server: ['db', 'cluster', ...OF_TLS],
  cluster: ['cluster', ...OF_TLS],
  sentinel: ['db', 'sentinel-username', 'sentinel-password', ...OF_TLS],
  socket: ['db'],
}
type Kind = RedisAddress['kind']

/** Why an address is invalid. Never quotes it: it may hold a password. */
export class RedisAddressError extends Error {
  override readonly name = 'RedisAddressError'
  readonly code = 'REDIS_ADDRESS'
}

/** Message: how to write user and password. */
export const ENCODE =
  'user and password stand percent-encoded in REDIS_URL (@ as %40, : as %3A, / as %2F, # as %23, ? as %3F, comma as %2C, % as %25)'

/** @throws RedisAddressError that names what is wrong */
export function readRedisAddress(text: string): RedisAddress {
  const [places = '', query = ''] = text.trim().split(/\?(.*)/s)
  const parts = places.split(',').map((part) => part.trim())
  const needed = `a Redis address such as redis://127.0.0.1:6379 is needed (${FORMS})`
  const scheme = /^(redis|rediss|sentinel|sentinels|unix):\/\//.exec(places)?.[1]
  if (scheme === undefined) throw wrong(text, needed)
  const isSentinel = scheme.startsWith('sentinel')
  const urls = parts.map((part, place) => {
    const whole = isSentinel && place > 0 && !part.includes('://') ? `${scheme}://${part}` : hosted(part)
    const url = URL.parse(whole)
    if (url === null || url.protocol !== `${scheme}:` || (scheme !== 'unix' && url.hostname === ''))
      throw wrong(text, url !== null && /^rediss?:$/.test(url.protocol) ? ONE_SCHEME : isSentinel ? SENTINELS : needed)
    if (url.hash !== '' || url.pathname.includes('@')) throw new RedisAddressError(ENCODE)
    return url
  })
  const [first, ...others] = urls as [URL, ...URL[]]
  const fields = new URLSearchParams(query.replaceAll('+', '%2B')) // in forms '+' means a space, but in a password it does not
  if (query.includes('@') || query.includes('#')) throw new RedisAddressError(ENCODE)
  const isCluster = others.length > 0 || fields.has('cluster')
  const kind = scheme === 'unix' ? 'socket' : isSentinel ? 'sentinel' : isCluster ? 'cluster' : 'server'
  for (const name of fields.keys())
    if (!OF_QUERY[kind].includes(name))
      throw new RedisAddressError(`'${name}' means nothing behind this address: ${OF_QUERY[kind].join(', ')} do`)
  if (fields.get('cluster')) throw new RedisAddressError("'cluster' has no value: ?cluster")
  const login: RedisLogin = { ...loginOf(first.username, first.password), ...tlsOf(scheme, fields) }
  switch (kind) {
    case 'socket':
      if (others.length > 0 || !/^(localhost)?$/.test(first.hostname) || first.pathname.length < 2)
        throw new RedisAddressError('a socket is one server of this machine, as in unix:///run/redis/redis.sock')
      return { kind, path: decoded(first.pathname), db: number(fields.get('db')), login }
    case 'server':
      return { kind, node: nodeOf(first, 6_379), db: database(first.pathname.slice(1), fields), login }
    case 'cluster':
      for (const url of urls) {
        if (url.pathname.length > 1)
          throw new RedisAddressError('a Redis Cluster has no numbered databases: leave /n away')
        if (url.username !== first.username || url.password !== first.password)
          throw new RedisAddressError('nodes of one cluster have the same user and password')
      }
      return { kind, nodes: urls.map((url) => nodeOf(url, 6_379)), login }
    case 'sentinel': {
      const master = (urls.at(-1) as URL).pathname.slice(1)
      if (!/^[\w.-]+$/.test(master) || urls.slice(0, -1).some(({ pathname }) => pathname.length > 1))
        throw new RedisAddressError(SENTINELS)
      if (others.some(({ username, password }) => username !== '' || password !== ''))
        throw new RedisAddressError("user and password stand once, before the first sentinel, and are the master's")
      const [user, password] = ['sentinel-username', 'sentinel-password'].map((name) => fields.get(name) ?? '')
      const { tls } = login
      const ofSentinels = { ...(user && { username: user }), ...(password && { password }), ...(tls && { tls }) }
      const sentinels = urls.map((url) => nodeOf(url, 26_379))
      return { kind, sentinels, master, db: number(fields.get('db')), login, ofSentinels }
    }
    default:
      return kind satisfies never
  }
}

const ONE_SCHEME = 'nodes of one cluster are all redis:// or all rediss://'
const SENTINELS = 'an address such as sentinel://host:26379,other:26379/name-of-the-master is needed'

/** Adds a host to a socket's address with a login, because a URL has no user and password without a host. */
const hosted = (part: string): string => part.replace(/^(unix:\/\/[^/]*@)\//, '$1localhost/')

/** An invalid address that contains an @ usually holds an unencoded password. */
const wrong = (text: string, message: string): RedisAddressError =>
  new RedisAddressError(text.includes('@') && message !== ONE_SCHEME ? `${message}; ${ENCODE}` : message)

const nodeOf = (url: URL, port: number): RedisNode => ({
  host: url.hostname.replace(/^\[|\]$/g, ''),
  port: Number(url.port || port),
})

/** @throws RedisAddressError when a % does not begin an encoded character */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new RedisAddressError(ENCODE)
  }
}

const loginOf = (username: string, password: string): RedisLogin => ({
  ...(username === '' ? {} : { username: decoded(username) }),
  ...(password === '' ? {} : { password: decoded(password) }),
})

function tlsOf(scheme: string, fields: URLSearchParams): { tls?: RedisTls } {
  const given = OF_TLS.filter((name) => fields.has(name))
  if (!/^(rediss|sentinels)$/.test(scheme)) {
    if (given.length === 0) return {}
    throw new RedisAddressError(`${given.join(', ')}: only rediss:// and sentinels:// speak TLS`)
  }
  if (fields.has('cert') !== fields.has('key'))
    throw new RedisAddressError('a client certificate (cert) and its key are given together')
  return { tls: Object.fromEntries(given.map((name) => [name, fields.get(name) ?? ''])) }
}

const database = (path: string, fields: URLSearchParams): number => number(path === '' ? fields.get('db') : path)

function number(text: string | null): number {
  if (text !== null && !/^\d{1,6}$/.test(text))
    throw new RedisAddressError(`the database is a number, as in redis://host:6379/2; ${ENCODE}`)
  return Number(text ?? 0)
}

/** An address for `connect` of node:net, and for people: without user and password. */
export type RedisPlace = RedisNode | { path: string }

export function redisPlaces(address: RedisAddress): RedisPlace[] {
  if (address.kind === 'cluster') return address.nodes
  if (address.kind === 'sentinel') return address.sentinels
  return [address.kind === 'socket' ? { path: address.path } : address.node]
}

export const placeName = (place: RedisPlace): string => ('path' in place ? place.path : `${place.host}:${place.port}`)

/** A valid address without users and passwords: for messages and files. */
export function withoutLogin(address: string): string {
  const [places = '', query = ''] = address.trim().split(/\?(.*)/s)
  const bare = places.split(',').map((part) => part.trim().replace(/\/\/.*@/, '//'))
  const rest = query.split('&').filter((field) => field !== '' && !field.startsWith('sentinel-'))
  return `${bare.join(',')}${rest.length === 0 ? '' : '?'}${rest.join('&')}`
}
