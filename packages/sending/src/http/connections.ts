/**
 * Connections of the lanes: one per (agent, origin), guarded, over HTTP/2 where the site offers it. undici manages them; it does not
 * retry, redirect, pipeline or multiplex, because each of those is a request that needs its own lease.
 */
import { isIP, type Socket } from 'node:net'
import type { Agent, Egress, EgressOf } from '@decorum/config'
import type { Ledger } from '@decorum/ledger'
import { Recent } from '@decorum/politeness/admission'
import { type Clock, hostOf, SECOND } from '@decorum/protocol'
import type { Dispatcher } from 'undici'
import { EGRESS_WAIT_MS, HTTP1_FOR_MS, KEEP_ALIVE_MS, LARGE_HEAD_BYTES } from '../limits.ts'
import type { Connection } from './connection.ts'
import { abandon, type DialSettings, dialer, StoppedError, type Waiting } from './dial.ts'
import type { Address } from './lookup.ts'
import { nextWaitMs, ProxyRecord, targetOf } from './proxies.ts'
import type { EgressError } from './tunnel.ts'
import { Client } from './undici.ts'

/** The connection of one agent to one origin: one at a time. */
export type Way = Pick<LaneWay, keyof LaneWay>

export type ConnectionSettings = Pick<DialSettings, 'clock' | 'guard' | 'lookup' | 'tls'> & {
  /** the emergency stops known to this process */
  stops?: Pick<Ledger['stops'], 'why'> | undefined
  /** default: every agent uses this machine's default route */
  egress?: EgressOf
  /** egress of an agent has failed, or works again (undefined) */
  onEgress?: (agent: Agent, error: EgressError | undefined) => void
}

export type BareConnection = { socket: Socket; address: string }

const stopError = (why: string | undefined): Error | undefined =>
  why === undefined ? undefined : new StoppedError(why)

export type LaneConnections = ReturnType<typeof openConnections>

/** undici's timers are coarse and per phase. The deadline of an exchange is always earlier, so they never fire first. */
const LAST_RESORT_MS = 10 * 60 * SECOND

const SETTINGS = {
  pipelining: 1,
  h2Options: { maxConcurrentStreams: 1, pingInterval: 0 },
  maxHeaderSize: 2 * LARGE_HEAD_BYTES, // undici never receives a larger head; this bounds trailers
  keepAliveTimeout: KEEP_ALIVE_MS,
  keepAliveMaxTimeout: 60 * SECOND, // limit for a site that offers a longer time; few delays are longer
  headersTimeout: LAST_RESORT_MS,
  bodyTimeout: LAST_RESORT_MS,
} as const

export function openConnections(settings: ConnectionSettings) {
  const { clock, guard, lookup, stops, tls, egress = (): Egress => ({}), onEgress = () => {} } = settings
  const byAgent = new Map<string, Map<string, LaneWay>>()
  const pins = new AddressPins()
  /** origins whose HTTP/2 has failed, and until when HTTP/1.1 is used instead; most servers with HTTP/2 implement it well */
  const http1Until = new Recent<string, number>(HTTP1_ORIGINS)
  const waysOut = new WaysOut(clock)
  const proxies = new Map<string, ProxyRecord>()
  const recordOf = (agent: Agent): ProxyRecord | undefined => {
    const { proxy } = egress(agent.key)
    if (proxy === undefined) return undefined
    const record = proxies.get(proxy.origin) ?? new ProxyRecord(clock)
    proxies.set(proxy.origin, record)
    return record
  }
  /** origins whose robots.txt redirects to a place that egress could not reach */
  const behind = new Recent<string, { until: number; waitMs: number }>(BEHIND_ORIGINS)
  let isClosed = false

  const lanesOf = (agent: Agent): Map<string, LaneWay> => {
    let lanes = byAgent.get(agent.key)
    if (lanes === undefined) {
      lanes = new Map()
      byAgent.set(agent.key, lanes)
    }
    return lanes
  }
  const dialling = (agent: Agent, origin: string): Omit<DialSettings, 'onDial' | 'waiting' | 'distrustHttp2'> => ({
    clock,
    guard,
    lookup: (host) => lookup(host).then((all) => pins.only(host, all)),
    egress: egress(agent.key),
    proxy: recordOf(agent),
    http2: () => agent.http2 && (http1Until.get(origin) ?? 0) <= clock.monotonic(),
    hasContact: agent.hasContact,
    whyStopped: (address) => stops?.why(origin, address),
    tls,
    onFailure: (host) => pins.forget(host), // the next attempt may use another address
    onEgress: (error) => {
      if (waysOut.noteResult(agent, error)) onEgress(agent, error)
    },
  })
  const open = (agent: Agent, origin: string, lanes: Map<string, LaneWay>): LaneWay =>
    new LaneWay(origin, lanes, () => http1Until.set(origin, clock.monotonic() + HTTP1_FOR_MS), dialling(agent, origin))
  return {
    /** the lane's own connection, kept open between its exchanges */
    lane(agent: Agent, origin: string): Way {
      const lanes = lanesOf(agent)
      let way = lanes.get(origin)
      if (way === undefined) {
        way = open(agent, origin, lanes)
        lanes.set(origin, way)
        if (isClosed) void way.destroy()
      }
      return way
    },
    /** a connection for one exchange with an origin of another lane (a hop of robots.txt); the caller destroys it */
    once: (agent: Agent, origin: string): Way => open(agent, origin, new Map()),
    /**
     * Opens a raw TCP connection to an origin for use by the caller alone. The address guard applies as to every connection.
     * @param waiting  its `beforeUse` is called before the connection is used, as for a request
     * @throws connection errors; the reason of `signal`
     */
    bare(agent: Agent, origin: string, waiting: Waiting, signal: AbortSignal): Promise<BareConnection> {
      const { hostname, host, port, protocol } = new URL(origin)
      const { promise, resolve, reject } = Promise.withResolvers<BareConnection>()
      let dialled: Connection | undefined
      const connect = dialer({
        ...dialling(agent, origin),
        onDial: (connection) => {
          dialled = connection
        },
        http2: () => false,
        distrustHttp2: () => {},
        waiting: () => waiting,
      })
      const giveUp = (): void => abandon(dialled, signal.reason as Error)
      signal.addEventListener('abort', giveUp, { once: true })
      const usual = protocol === 'https:' ? '443' : '80'
      connect({ hostname, host, protocol: 'http:', port: port === '' ? usual : port }, (error, socket) => {
        signal.removeEventListener('abort', giveUp)
        const phase = dialled?.phase ?? 'connect'
        const address = dialled?.address ?? ''
        const refused = signal.aborted ? (signal.reason as Error) : stopError(stops?.why(origin, address))
        if (error === null && socket !== null && refused === undefined) return resolve({ socket, address })
        socket?.destroy()
        reject(Object.assign(error ?? refused ?? new Error('there is no connection'), { phase }))
      })
      if (signal.aborted) giveUp()
      return promise
    },
    /** how long an agent's egress to an origin should be left alone, ms; 0: it may be tried */
    egressWaitMs(agent: Agent, origin: string): number {
      const { hostname, port, protocol } = new URL(origin)
      const ofTarget = recordOf(agent)?.waitMs(targetOf(hostname, port, protocol)) ?? 0
      return Math.max(waysOut.waitMs(agent), ofTarget, (behind.get(origin)?.until ?? 0) - clock.monotonic())
    },
    /** A follow-up request was not sent because egress failed: neither origin is tried again at once. */
    waitBehind(origin: string): void {
      const now = clock.monotonic()
      const known = behind.get(origin)
      const isRecent = known !== undefined && now - known.until < EGRESS_WAIT_MS.last
      const waitMs = nextWaitMs(isRecent ? known.waitMs : undefined)
      behind.set(origin, { until: now + waitMs, waitMs })
    },
    /**
     * The address that the next request to an origin will use, for pace groups of an address: the next connection uses only this
     * address. Undefined when the name has no address.
     */
    async addressOf(agent: Agent, origin: string): Promise<string | undefined> {
      const host = hostOf(origin)
      const literal = host.replace(/^\[|\]$/g, '')
      if (isIP(literal) !== 0) return literal
      const connection = lanesOf(agent).get(origin)?.connection()
      const all =
        connection?.phase === 'open'
          ? [connection.address]
          : (await lookup(host).catch(() => [])).map(({ address }) => address)
      return pins.choose(host, all)
    },
    /** ends all connections, at once */
    async close(): Promise<void> {
      isClosed = true
      const all = [...byAgent.values()].flatMap((lanes) => [...lanes.values()])
      await Promise.all(all.map((way) => way.destroy()))
    },
  }
}

/** Most hosts with a pinned address: far more than have a request in progress. */
const PINNED_HOSTS = 50_000

/** Addresses whose pace group is held by a request: connections use no other address of the host. */
class AddressPins {
  readonly #pins = new Recent<string, string>(PINNED_HOSTS)

  /** Pins the host to its previously pinned address, or to the first one of `all`. */
  choose(host: string, all: string[]): string | undefined {
    const known = this.#pins.get(host)
    const address = known !== undefined && all.includes(known) ? known : all[0]
    if (address === undefined) return undefined
    this.#pins.set(host, address)
    return address
  }

  /** The pinned address alone. All addresses, when the pinned one is no longer among them: the last check then refuses to send. */
  only(host: string, all: Address[]): Address[] {
    const pin = this.#pins.get(host)
    const same = all.filter(({ address }) => address === pin)
    if (same.length > 0) return same
    this.forget(host)
    return all
  }

  forget(host: string): void {
    this.#pins.delete(host)
  }
}

/** Most remembered origins whose hop was not sent; the oldest are forgotten. */
const BEHIND_ORIGINS = 10_000

/** Most remembered origins; forgotten ones are tried over HTTP/2 again. */
const HTTP1_ORIGINS = 10_000

/** Agents whose egress (EGRESS) failed recently, and how long each is left alone. */
class WaysOut {
  readonly #clock: Clock
  readonly #failed = new Map<string, { until: number; waitMs: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** @returns whether the state of this egress has changed */
  noteResult({ key }: Agent, error: EgressError | undefined): boolean {
    const known = this.#failed.get(key)
    if (error === undefined) return known !== undefined && this.#failed.delete(key)
    const now = this.#clock.monotonic()
    if (known !== undefined && known.until > now) return false // the failure of a request that was already in progress
    const waitMs = nextWaitMs(known?.waitMs)
    this.#failed.set(key, { until: now + waitMs, waitMs })
    return known === undefined
  }

  waitMs({ key }: Agent): number {
    return Math.max(0, (this.#failed.get(key)?.until ?? 0) - this.#clock.monotonic())
  }
}

/** An undici client with one connection at a time; it leaves its map when the connection has ended. */
class LaneWay {
  /** the process's clock, which times the exchanges */
  readonly clock: Clock
  waiting: Waiting | undefined
  readonly #client: Client
  readonly #whyStopped: DialSettings['whyStopped']
  /** called when an exchange over HTTP/2 has failed: the next connections to the origin use HTTP/1.1 for a while */
  readonly distrustHttp2: () => void
  #connection: Connection | undefined

  constructor(
    origin: string,
    lanes: Map<string, LaneWay>,
    distrustHttp2: () => void,
    settings: Omit<DialSettings, 'onDial' | 'waiting' | 'distrustHttp2'>,
  ) {
    this.clock = settings.clock
    this.#whyStopped = settings.whyStopped
    this.distrustHttp2 = distrustHttp2
    const onDial = (connection: Connection): void => {
      this.#connection = connection
    }
    const connect = dialer({ ...settings, onDial, distrustHttp2, waiting: () => this.waiting })
    this.#client = new Client(origin, { ...SETTINGS, connect })
    const forget = (): void => {
      if (lanes.get(origin) !== this) return
      this.#connection = undefined
      if (this.#client.stats.size > 0) return // a request waits for the next connection
      lanes.delete(origin)
      if (!this.#client.destroyed) void this.#client.close()
    }
    this.#client.on('disconnect', forget).on('connectionError', forget)
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.#client.dispatch(options, handler)
  }

  /** the connection in use, or the one being made */
  connection(): Connection | undefined {
    return this.#connection
  }

  /** the emergency stop that forbids sending over the connection, or undefined */
  whyStopped(): string | undefined {
    return this.#whyStopped(this.#connection?.address)
  }

  /** ends an attempt to connect, so that no later request waits for it */
  abandon(reason: Error): void {
    abandon(this.#connection, reason)
  }

  async destroy(): Promise<void> {
    await this.#client.destroy().catch(() => {})
  }
}
