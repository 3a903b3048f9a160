/** Connections to the fleet's Redis, whatever REDIS_URL names: one server, a cluster, or the master that Sentinel reports. */
import { readFileSync } from 'node:fs'
import { type Deadline, type RedisAddress, RedisAddressError, type RedisTls, readRedisAddress } from '@decorum/protocol'
import { Cluster, type ClusterOptions, Redis, type RedisOptions } from 'ioredis'
import { MasterConnector } from './sentinel-master.ts'

/** A connection. A cluster has the same commands, and finds the node by the key. */
export type RedisLink = Redis | Cluster

export type LinkOptions = Pick<RedisOptions, 'lazyConnect' | 'connectTimeout'> & {
  /**
   * fail: a command that cannot be sent or whose answer is lost fails at once, and is not sent again automatically.
   * wait: commands wait until Redis answers again, without a limit.
   */
  away: 'fail' | 'wait'
  retryMs?: number
  /** tests only: instead of SILENT_MS */
  silentMs?: number
}

/**
 * A connection that owes an answer and has received nothing for this time is replaced. A network that has dropped the connection (a
 * firewall that was restarted, an address that moved to another host) does not report that: TCP gives up after a quarter of an hour, or
 * after two hours when the command itself got through. Longer than any command blocks: 5 s for a reader of outcomes, 10 s at most for
 * BullMQ.
 */
const SILENT_MS = 15_000

/**
 * Redirections followed for one command: MOVED and ASK (the command did not run) or TRYAGAIN (its slot is moving, the command did not run).
 * Three tries are 0.3 s, well inside the deadline of a call.
 */
const REDIRECTIONS = 4

/**
 * Errors that only another connection cures: this one leads to a server that is no longer a master, or that may not write. After a failover
 * that closes no connection, a name or a proxy leads new connections to the new master. In an error of a script they follow the script's
 * own text.
 */
const OF_THIS_SERVER = /^(?:ERR [^\n]*-)?(READONLY|MASTERDOWN|UNBLOCKED|NOREPLICAS|LOADING) /
/** Reconnects without repeating the command: ioredis would repeat a command of a transaction without the others. */
const reconnectOnError = ({ message }: Error): boolean => OF_THIS_SERVER.test(message)

/** The address of a connection, for a diagnosis when it fails. */
const ADDRESSES = new WeakMap<RedisLink, RedisAddress>()
export const addressOf = (link: RedisLink): RedisAddress | undefined => ADDRESSES.get(link)

/** @throws RedisAddressError for an invalid address, and for a file in it that cannot be read */
export function linkTo(address: string | RedisAddress, options: LinkOptions): RedisLink {
  const at = typeof address === 'string' ? readRedisAddress(address) : address
  const link = linkAt(at, options)
  ADDRESSES.set(link, at)
  return link
}

function linkAt(at: RedisAddress, options: LinkOptions): RedisLink {
  const { tls: files, ...login } = at.login
  const tls = files === undefined ? undefined : tlsOf(files)
  const secure = tls === undefined ? login : { ...login, tls }
  switch (at.kind) {
    case 'server':
      return new Redis({ ...serverOptions(options), ...at.node, db: at.db, ...secure })
    case 'socket':
      return new Redis({ ...serverOptions(options), path: at.path, db: at.db, ...login })
    case 'sentinel': {
      const { sentinels, master: name, db, ofSentinels } = at
      return new Redis({
        ...serverOptions(options),
        ...secure,
        ...(ofSentinels.username === undefined ? {} : { sentinelUsername: ofSentinels.username }),
        ...(ofSentinels.password === undefined ? {} : { sentinelPassword: ofSentinels.password }),
        ...(tls === undefined ? {} : { sentinelTLS: tls, enableTLSForSentinelMode: true }),
        Connector: MasterConnector as NonNullable<RedisOptions['Connector']>,
        sentinels,
        name,
        db,
      })
    }
    case 'cluster':
      return new Cluster(at.nodes, {
        ...clusterOptions(options, secure),
        // ioredis would connect to the resolved address, which no certificate names
        ...(tls === undefined ? {} : { dnsLookup: (host, found) => found(null, host) }),
      })
    default:
      return at satisfies never
  }
}

function tlsOf({ servername, ...files }: RedisTls): NonNullable<RedisOptions['tls']> {
  const read = Object.entries(files).map(([what, path]) => {
    try {
      return [what, readFileSync(path)]
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      throw new RedisAddressError(`${what} of REDIS_URL names the file '${path}', which cannot be read (${code})`)
    }
  })
  return { ...Object.fromEntries(read), ...(servername === undefined ? {} : { servername }) }
}

/** Another connection to the same Redis with the same settings (TLS, password, database). */
export function another(link: RedisLink, options: LinkOptions): RedisLink {
  const cluster = link as Cluster
  const one: RedisLink = link.isCluster
    ? cluster.duplicate([], clusterOptions(options, cluster.options.redisOptions ?? {}))
    : (link as Redis).duplicate(serverOptions(options))
  const address = addressOf(link)
  if (address !== undefined) ADDRESSES.set(one, address)
  return one
}

/** The address of a connection, for messages. */
export function placesOf(link: RedisLink): string {
  if (link.isCluster) return 'any node of the cluster'
  const { sentinels, path, host, port } = (link as Redis).options
  const places = sentinels?.map((one) => `${one.host}:${one.port}`)
  return places?.join(', ') ?? path ?? `${host}:${port}`
}

/**
 * Connects; in a cluster to every master, because the first command to a master that is still connecting would fail.
 * @param deadline  how long to wait for masters; partitions of a master that does not answer fail later
 */
export async function connectLink(link: RedisLink, { clock, ms }: Deadline): Promise<void> {
  if (link.status === 'wait') await link.connect()
  if (!link.isCluster) return
  const late = clock.sleep(ms, { ref: false })
  await Promise.race([Promise.allSettled(mastersOf(link).map((master) => master.ping())), late])
}

/** The servers behind a connection; of a cluster its masters. */
export const mastersOf = (link: RedisLink): Redis[] =>
  link.isCluster ? (link as Cluster).nodes('master') : [link as Redis]

function serverOptions({ away, retryMs, silentMs = SILENT_MS, ...rest }: LinkOptions) {
  return {
    ...rest,
    socketTimeout: silentMs,
    // ioredis leaves the promise of its own resubscription unhandled: a connection that ends before the reply would end the process.
    autoResubscribe: false,
    reconnectOnError,
    enableOfflineQueue: away === 'wait',
    autoResendUnfulfilledCommands: away === 'wait',
    maxRetriesPerRequest: away === 'wait' ? null : 0,
    ...(retryMs === undefined ? {} : { retryStrategy: () => retryMs }),
  } satisfies RedisOptions
}

function clusterOptions(
  { away, retryMs, silentMs = SILENT_MS, lazyConnect = false, connectTimeout }: LinkOptions,
  node: NonNullable<ClusterOptions['redisOptions']>,
) {
  const wait = away === 'wait'
  return {
    lazyConnect,
    enableOfflineQueue: wait,
    enableReadyCheck: false, // the check would use one node, which may be the one that hangs
    maxRedirections: wait ? 16 : REDIRECTIONS,
    retryDelayOnFailover: wait ? 100 : 0, // 0: the caller repeats a command that was cut off
    retryDelayOnClusterDown: wait ? 100 : 0,
    ...(retryMs === undefined ? {} : { clusterRetryStrategy: () => retryMs }),
    redisOptions: {
      ...node,
      replyMapping: 'legacy' as const, // the default; its type requires it
      socketTimeout: silentMs,
      reconnectOnError,
      ...(connectTimeout === undefined ? {} : { connectTimeout }),
      autoResendUnfulfilledCommands: wait,
      maxRetriesPerRequest: wait ? null : 0,
    },
  } satisfies ClusterOptions
}
