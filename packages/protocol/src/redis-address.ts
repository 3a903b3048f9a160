/**
 * REDIS_URL: where the fleet's Redis is. One address is one server; several, separated by commas, are nodes of one Redis
 * Cluster, and any of them that answers names the rest; `sentinel://` asks Redis Sentinel for the address of the master.
 */

export type RedisAddress =
  | { kind: 'server'; url: string }
  /** the same user, password and scheme for every node */
  | { kind: 'cluster'; nodes: RedisNode[]; login: RedisLogin }
  | { kind: 'sentinel'; sentinels: RedisNode[]; master: string; login: RedisLogin }
export type RedisNode = { host: string; port: number }
export type RedisLogin = { username?: string; password?: string; tls: boolean }

const FORMS = 'redis://host:6379, several of those separated by commas for a cluster, or sentinel://host:26379/master'

/** Why an address is none. Never repeats it: it may hold a password. */
export class RedisAddressError extends Error {
  override readonly name = 'RedisAddressError'
  readonly code = 'REDIS_ADDRESS'
}

/** @throws RedisAddressError that names what is wrong */
export function readRedisAddress(text: string): RedisAddress {
  const parts = text.split(',').map((part) => part.trim())
  if (parts[0]?.startsWith('sentinel://')) return sentinels(parts)
  const urls = parts.map((part) => {
    const url = URL.canParse(part) ? new URL(part) : undefined
    if (url === undefined || !/^rediss?:$/.test(url.protocol) || url.hostname === '')
      throw new RedisAddressError(`a Redis address such as redis://127.0.0.1:6379 is needed (${FORMS})`)
    return url
  })
  const [first] = urls as [URL]
  if (urls.length === 1) return { kind: 'server', url: text.trim() }
  for (const url of urls) {
    if (url.pathname.length > 1) throw new RedisAddressError('a Redis Cluster has no numbered databases: leave /n away')
    if (url.protocol !== first.protocol)
      throw new RedisAddressError('nodes of one cluster are all redis:// or all rediss://')
    if (url.username !== first.username || url.password !== first.password)
      throw new RedisAddressError('nodes of one cluster have the same user and password')
  }
  return { kind: 'cluster', nodes: urls.map((url) => nodeOf(url, 6_379)), login: loginOf(first) }
}

/** `sentinel://[user:password@]host:26379[,host:26379…]/name-of-the-master`; user and password are the master's */
function sentinels(parts: string[]): RedisAddress {
  const last = parts.at(-1) as string
  const slash = last.lastIndexOf('/')
  const master = slash > last.indexOf('//') + 1 ? last.slice(slash + 1) : ''
  const urls = parts.map((part) => `redis://${part.replace(/^sentinel:\/\//, '')}`)
  if (!/^[\w.-]+$/.test(master) || !urls.every((url) => URL.canParse(url)))
    throw new RedisAddressError('an address such as sentinel://host:26379,other:26379/name-of-the-master is needed')
  const [first, ...others] = urls.map((url) => new URL(url)) as [URL, ...URL[]]
  if (others.some(({ username, password }) => username !== '' || password !== ''))
    throw new RedisAddressError('user and password stand once, before the first sentinel')
  return {
    kind: 'sentinel',
    sentinels: [first, ...others].map((url) => nodeOf(url, 26_379)),
    master,
    login: loginOf(first),
  }
}

const nodeOf = (url: URL, port: number): RedisNode => ({
  host: url.hostname.replace(/^\[|\]$/g, ''),
  port: Number(url.port || port),
})

const loginOf = ({ username, password, protocol }: URL): RedisLogin => ({
  ...(username === '' ? {} : { username: decodeURIComponent(username) }),
  ...(password === '' ? {} : { password: decodeURIComponent(password) }),
  tls: protocol === 'rediss:',
})

/** Hosts and ports, for people: no user, no password. */
export function redisPlaces(address: RedisAddress): RedisNode[] {
  if (address.kind === 'cluster') return address.nodes
  if (address.kind === 'sentinel') return address.sentinels
  return [nodeOf(new URL(address.url), 6_379)]
}
