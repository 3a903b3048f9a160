/**
 * Connections of the lanes: one per (agent, origin), HTTP/1.1, guarded. undici keeps them; nothing is retried,
 * redirected, pipelined or spoken over HTTP/2 inside it, because each of those is a visit that the ledger must grant.
 */
import { isIP, type LookupFunction, type Socket } from 'node:net'
import type { ConnectionOptions, TLSSocket } from 'node:tls'
import type { Agent } from '@decorum/config'
import { hostOf, SECOND } from '@decorum/protocol'
import { buildConnector, Client, type Dispatcher } from 'undici'
import { HEADERS_MAX_BYTES, KEEP_ALIVE_MS, SEND_WINDOW_MS } from '../limits.ts'
import type { AddressGuard } from './address-guard.ts'
import type { Address, Lookup } from './lookup.ts'

export type Phase = 'dns' | 'connect' | 'tls' | 'open'

/** What is known of one socket. Instants are of `performance.now()`. */
export type Connection = {
  phase: Phase
  dialledAt: number
  lookedUpAt?: number
  connectedAt?: number
  openAt?: number
  /** the peer's address, from the socket itself */
  address: string
  /** e.g. `TLSv1.3`; absent over plain TCP */
  tls?: string
  socket?: Socket
  /**
   * Asked each time octets have come in, before they are parsed. The object itself: a closure here would keep alive what
   * has long ended, from one visit to the next (measured: a third of all objects survived a scavenge, now hardly any).
   */
  reader?: { onReading(): void } | undefined
}

/** A request that waits for its connection. */
export type Waiting = {
  /** before the connection is used: why it may not be, at once or after the ledger was asked */
  beforeUse(): Promise<Error | undefined> | undefined
}

/** The way to one origin for one agent. */
export type Way = {
  waiting: Waiting | undefined
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void
  /** the connection in use, or the attempt under way */
  connection(): Connection | undefined
  /** ends an attempt to connect, so that nothing waits behind it */
  abandon(reason: Error): void
}

export type ConnectionSettings = {
  guard: AddressGuard
  lookup: Lookup
  /** tests only: trust anchors of their own; verification itself cannot be turned off */
  tls?: Pick<ConnectionOptions, 'ca'>
}

export type LaneConnections = {
  /** the lane's own connection, kept open between its visits */
  lane(agent: Agent, origin: string): Way
  /** a connection for one exchange with an origin whose lane we do not hold (a hop of robots.txt) */
  once(agent: Agent, origin: string): Way & { close(): void }
  /**
   * Where the next request to an origin will go, for clocks that address has: the next connection is made to it and to no
   * other. Undefined when the name has no address.
   */
  addressOf(agent: Agent, origin: string): Promise<string | undefined>
  /** ends all connections, at once */
  close(): Promise<void>
}

/** Hosts whose address is held fixed: far more than have a request under way. */
const PINNED_HOSTS = 50_000

/** undici's own timers are coarse and per phase; the exchange's deadline comes first, these are only fuses. */
const FUSES = { headersTimeout: 10 * 60 * SECOND, bodyTimeout: 10 * 60 * SECOND }

const SETTINGS = {
  pipelining: 1,
  allowH2: false,
  maxHeaderSize: HEADERS_MAX_BYTES,
  keepAliveTimeout: KEEP_ALIVE_MS,
  keepAliveMaxTimeout: 60 * SECOND, // a site may offer longer; its lane rests about as long
  ...FUSES,
} as const

export function openConnections({ guard, lookup, tls }: ConnectionSettings): LaneConnections {
  const byAgent = new Map<string, Map<string, LaneWay>>()
  let isClosed = false
  /** host → the address that its connections go to, where somebody has asked for it */
  const pins = new Map<string, string>()
  const pinned = (host: string, all: Address[]): Address[] => {
    const pin = pins.get(host)
    const same = all.filter(({ address }) => address === pin)
    if (same.length === 0) pins.delete(host) // the name has moved: who holds the clock of the old address sends nothing
    return same.length === 0 ? all : same
  }

  const dial = (
    agent: Agent,
    remember: (connection: Connection) => void,
    waiting: () => Waiting | undefined,
  ): buildConnector.connector => {
    const base = buildConnector({
      ...tls,
      rejectUnauthorized: true, // also when the environment says otherwise
      allowH2: false, // a connector of one's own ignores the Agent's allowH2 (measured)
      timeout: SEND_WINDOW_MS + SECOND,
      autoSelectFamily: true,
      lookup: guardedLookup(guard, (host) => lookup(host).then((all) => pinned(host, all)), agent.hasContact),
    })
    return (options, callback) => {
      const fail = (error: Error): void => {
        pins.delete(options.hostname) // the next attempt may go elsewhere
        callback(error, null)
      }
      const connection: Connection = {
        phase: isIP(options.hostname) === 0 ? 'dns' : 'connect',
        dialledAt: performance.now(),
        address: '',
      }
      remember(connection)
      const refusal = refuseLiteral(guard, options, agent.hasContact)
      if (refusal !== undefined) {
        queueMicrotask(() => fail(refusal))
        return
      }
      const dialled = base(options, (error, socket) => {
        if (error) return fail(error)
        const peer = socket.remoteAddress
        // A socket that is closed already has no peer; what cannot be checked is not used.
        const refused =
          peer === undefined
            ? new Error('the connection closed at once')
            : guard.refuse(peer, options.hostname, agent.hasContact)
        if (refused !== undefined) {
          socket.destroy()
          return fail(refused)
        }
        connection.phase = 'open'
        connection.openAt = performance.now()
        connection.address = peer ?? ''
        const version = options.protocol === 'https:' ? (socket as TLSSocket).getProtocol() : null
        if (version !== null) connection.tls = version
        socket.on('readable', () => {
          connection.reader?.onReading()
          withoutStacks() // undici's own listener, which parses, is the next one
        })
        const asking = waiting()?.beforeUse()
        if (asking === undefined) return callback(null, socket)
        return void asking.then((error) => {
          if (error === undefined && !socket.destroyed) return callback(null, socket)
          socket.destroy()
          return fail(error ?? new Error('the connection closed at once'))
        })
      }) as unknown as Socket // its types say void; it returns the socket (undici/lib/core/connect.js)
      connection.socket = dialled
      dialled.once('lookup', (error: Error | null) => {
        if (error !== null) return // also said when nothing was found
        connection.phase = 'connect'
        connection.lookedUpAt = performance.now()
      })
      dialled.once('connect', () => {
        connection.connectedAt = performance.now()
        if (options.protocol === 'https:') connection.phase = 'tls'
      })
    }
  }

  const lanesOf = (agent: Agent): Map<string, LaneWay> => {
    let lanes = byAgent.get(agent.key)
    if (lanes === undefined) {
      lanes = new Map()
      byAgent.set(agent.key, lanes)
    }
    return lanes
  }

  return {
    lane(agent, origin) {
      const lanes = lanesOf(agent)
      let way = lanes.get(origin)
      if (way === undefined) {
        way = new LaneWay(origin, (remember, waiting) => dial(agent, remember, waiting), lanes)
        if (isClosed) void way.destroy()
      }
      return way
    },
    once(agent, origin) {
      let connection: Connection | undefined
      const remember = (dialled: Connection): void => {
        connection = dialled
      }
      const client = new Client(origin, { ...SETTINGS, connect: dial(agent, remember, () => way.waiting) })
      const way: Way & { close(): void } = {
        waiting: undefined,
        dispatch: (request, handler) => void client.dispatch(request, handler),
        connection: () => connection,
        abandon: (reason) => abandon(connection, reason),
        close: () => void client.destroy().catch(() => {}), // nobody waits for it
      }
      return way
    },
    async addressOf(agent, origin) {
      const host = hostOf(origin)
      const literal = host.replace(/^\[|\]$/g, '')
      if (isIP(literal) !== 0) return literal
      const open = lanesOf(agent).get(origin)?.connection()
      const all =
        open?.phase === 'open' ? [open.address] : (await lookup(host).catch(() => [])).map((one) => one.address)
      const known = pins.get(host)
      const address = known !== undefined && all.includes(known) ? known : all[0]
      if (address === undefined) return undefined
      pins.delete(host)
      pins.set(host, address)
      for (const oldest of pins.keys()) {
        if (pins.size <= PINNED_HOSTS) break
        pins.delete(oldest)
      }
      return address
    },
    async close() {
      isClosed = true
      const all = [...byAgent.values()].flatMap((lanes) => [...lanes.values()])
      await Promise.all(all.map((way) => way.destroy()))
    },
  }
}

/** A lane's client with the one connection that it has at a time; it leaves its map when that has ended. */
class LaneWay implements Way {
  waiting: Waiting | undefined
  readonly #client: Client
  #connection: Connection | undefined

  constructor(
    origin: string,
    dialing: (
      remember: (connection: Connection) => void,
      waiting: () => Waiting | undefined,
    ) => buildConnector.connector,
    lanes: Map<string, LaneWay>,
  ) {
    const remember = (connection: Connection): void => {
      this.#connection = connection
    }
    const connect = dialing(remember, () => this.waiting)
    this.#client = new Client(origin, { ...SETTINGS, connect })
    const forget = (): void => {
      this.#connection = undefined
      if (lanes.get(origin) !== this || this.#client.stats.size > 0) return // a request waits for the next connection
      lanes.delete(origin)
      if (!this.#client.destroyed) void this.#client.close()
    }
    this.#client.on('disconnect', forget).on('connectionError', forget)
    lanes.set(origin, this)
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.#client.dispatch(options, handler)
  }

  connection(): Connection | undefined {
    return this.#connection
  }

  abandon(reason: Error): void {
    abandon(this.#connection, reason)
  }

  destroy(): Promise<void> {
    return this.#client.destroy()
  }
}

/**
 * Until the end of this tick errors carry no stack. undici makes one for each header beyond its limit, thousands for one
 * packet of a flood, and the stack is most of their price (measured: 100 hostile sites held the loop up for 300 ms).
 */
function withoutStacks(): void {
  if (stackDepth !== undefined) return
  stackDepth = Error.stackTraceLimit
  Error.stackTraceLimit = 0
  process.nextTick(() => {
    Error.stackTraceLimit = stackDepth ?? 10
    stackDepth = undefined
  })
}
let stackDepth: number | undefined

function abandon(connection: Connection | undefined, reason: Error): void {
  if (connection !== undefined && connection.phase !== 'open') connection.socket?.destroy(reason)
}

/** A literal is never looked up, so it is judged here; so is the port. */
function refuseLiteral(
  guard: AddressGuard,
  { hostname, port, protocol }: buildConnector.Options,
  hasContact: boolean,
): Error | undefined {
  const refused = guard.refusePort(Number(port || (protocol === 'https:' ? 443 : 80)))
  if (refused !== undefined) return refused
  return isIP(hostname) === 0 ? undefined : guard.refuse(hostname, hostname, hasContact)
}

/** One guarded address among many refuses all of them: a mixed answer is an attack or a mistake. */
function guardedLookup(guard: AddressGuard, lookup: Lookup, hasContact: boolean): LookupFunction {
  return (host, options, callback) => {
    lookup(host).then(
      (answer) => {
        for (const { address } of answer) {
          const refusal = guard.refuse(address, host, hasContact)
          if (refusal !== undefined) return callback(refusal, '')
        }
        const [first] = answer
        if (first === undefined)
          return callback(Object.assign(new Error(`${host} has no address`), { code: 'ENOTFOUND' }), '')
        return options.all ? callback(null, answer) : callback(null, first.address, first.family)
      },
      (error: NodeJS.ErrnoException) => callback(error, ''),
    )
  }
}
