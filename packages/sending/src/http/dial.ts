/**
 * Makes one guarded TCP or TLS connection: the port and an address in the URL are checked before it is made, every resolved address
 * when it arrives, and the peer of the socket before the connection is used. Through a proxy the same holds for the address in
 * CONNECT; the proxy never receives a name.
 */
import { isIP, type LookupFunction, type Socket } from 'node:net'
import type { ConnectionOptions, TLSSocket } from 'node:tls'
import type { Egress, ForwardProxy } from '@decorum/config'
import type { AddressGuard } from '@decorum/politeness/admission'
import { type Clock, SECOND } from '@decorum/protocol'
import type { buildConnector } from 'undici'
import { SEND_WINDOW_MS } from '../limits.ts'
import { AnswerBytes } from './answer-bytes.ts'
import type { Connection } from './connection.ts'
import { countFrames } from './frame-counter.ts'
import { interceptBytes } from './intercept-bytes.ts'
import type { Address, Lookup } from './lookup.ts'
import { type ProxyRecord, targetOf } from './proxies.ts'
import { EgressError, openTunnel, TunnelRefusedError } from './tunnel.ts'
import { makeConnector } from './undici.ts'

/** A request that waits for its connection. */
export type Waiting = {
  /** called before the connection is used. @returns why it may not be used, or undefined; a promise when the ledger is called */
  beforeUse(): Promise<Error | undefined> | undefined
}

export type DialSettings = {
  clock: Clock
  guard: AddressGuard
  lookup: Lookup
  egress: Egress
  /** state of the proxy of `egress`, where there is one */
  proxy?: ProxyRecord | undefined
  /** whether the next connection may use HTTP/2 */
  http2(): boolean
  /** whether the agent names a contact; without one only opened addresses are allowed */
  hasContact: boolean
  /** tests only: extra trust anchors; verification itself cannot be turned off */
  tls?: Pick<ConnectionOptions, 'ca'> | undefined
  /** the emergency stop of the address or of the origin, or undefined. @param address  undefined: not known yet */
  whyStopped(address: string | undefined): string | undefined
  /** the site misuses HTTP/2: its next connections use HTTP/1.1 for a while */
  distrustHttp2(): void
  /** a connection attempt begins */
  onDial(connection: Connection): void
  /** an attempt to connect to this host has failed */
  onFailure(host: string): void
  /** egress of this machine has worked (undefined), or has failed */
  onEgress(error: EgressError | undefined): void
  /** the request that the connection is made for */
  waiting(): Waiting | undefined
}

/** The connector that undici calls. */
export function dialer(settings: DialSettings): buildConnector.connector {
  const { clock, guard, egress, proxy, http2, hasContact, tls, onDial, onFailure, onEgress, waiting, distrustHttp2 } =
    settings
  const judged = judgedLookup(settings)
  const connectorFor = (allowH2: boolean): buildConnector.connector =>
    makeConnector({
      ...tls,
      rejectUnauthorized: true, // even when the environment says otherwise
      allowH2, // undici's Agent does not pass its allowH2 on to a connector (measured)
      preferH2: true,
      timeout: SEND_WINDOW_MS + SECOND,
      autoSelectFamily: true,
      lookup: lookupFunction(judged),
    })
  const connectors = { h1: connectorFor(false), h2: connectorFor(true) }
  return (options, callback) => {
    const { hostname, port, protocol } = options
    const target = targetOf(hostname, port, protocol)
    const connection: Connection = {
      phase: isIP(hostname) === 0 ? 'dns' : 'connect',
      dialledAt: clock.monotonic(),
      address: '',
      protocol: 'http/1.1',
      received: new AnswerBytes(),
    }
    /** The error, if the proxy may be at fault; undefined: none is used, or it has served other sites since, so the site is at fault. */
    const proxyFault = (error: Error): EgressError | undefined => {
      const awaited = connection.awaits?.()
      if (proxy === undefined || (connection.awaits === undefined && !(error instanceof TunnelRefusedError)))
        return undefined
      const fault = proxy.failed(target, connection.dialledAt)
      if (fault === 'site') return undefined
      const own = new EgressError(awaited ?? error.message, { cause: error })
      if (fault === 'proxy') onEgress(own)
      return own
    }
    let hasFailed = false
    const fail = (error: Error): void => {
      if (hasFailed) return
      hasFailed = true
      onFailure(hostname)
      const own = ownFault(error, egress)
      if (own !== undefined) onEgress(own)
      callback(own ?? proxyFault(error) ?? error, null)
    }
    onDial(connection)
    if (waiting() === undefined) {
      // undici would send a request again that HTTP/2 has refused (client-h2.js): that is another request, without a lease
      queueMicrotask(() => fail(new Error('the site refused the request and ended the connection')))
      return
    }
    const refusal = refuseLiteral(settings, options)
    if (refusal !== undefined) {
      queueMicrotask(() => fail(refusal))
      return
    }
    const connect = http2() ? connectors.h2 : connectors.h1
    /** @param address  the site's address when the socket's peer is a proxy; otherwise absent */
    const opened: Opened = (error, socket, address) => {
      if (error !== null || socket == null) return fail(error ?? new Error('there is no connection'))
      const peer = address ?? socket.remoteAddress
      // A socket that is closed already has no peer; a peer that cannot be judged is not used.
      const refused =
        peer === undefined || socket.destroyed
          ? new Error('the connection closed at once')
          : guard.refuse(peer, hostname, hasContact)
      if (refused !== undefined) {
        socket.destroy()
        return fail(refused)
      }
      onEgress(undefined)
      connection.phase = 'open'
      connection.openAt = clock.monotonic()
      connection.address = peer ?? ''
      const version = protocol === 'https:' ? (socket as TLSSocket).getProtocol() : null
      if (version !== null) connection.tls = version
      watchBytes(clock, connection, socket, distrustHttp2)
      const confirming = waiting()?.beforeUse()
      if (confirming === undefined) return callback(null, socket)
      return void confirming.then((error) => {
        if (error === undefined && !socket.destroyed) return callback(null, socket)
        socket.destroy()
        return fail(error ?? new Error('the connection closed at once'))
      })
    }
    if (egress.proxy === undefined)
      return direct(clock, connection, connect, { ...options, ...localOf(egress) }, opened)
    const of = { proxy: egress.proxy, record: proxy, target }
    void throughProxy(clock, connection, of, judged, connect, options, opened).catch((error: Error) => fail(error))
    // Fails at once: if the proxy served other sites before the tunnel ended, this site would count as at fault.
    const { giveUp } = connection
    connection.giveUp = (reason) => {
      giveUp?.(reason)
      fail(reason)
    }
  }
}

const localOf = ({ localAddress }: Egress): { localAddress?: string } =>
  localAddress === undefined ? {} : { localAddress }

type Opened = (error: Error | null, socket?: Socket | null, address?: string) => void

function direct(
  clock: Clock,
  connection: Connection,
  connect: buildConnector.connector,
  options: buildConnector.Options,
  opened: Opened,
): void {
  // declared as void, but returns the socket (undici/lib/core/connect.js)
  const dialled = connect(options, opened) as unknown as Socket
  connection.socket = dialled
  connection.giveUp = (reason) => void dialled.destroy(reason)
  dialled.once('lookup', (error: Error | null) => {
    if (error !== null) return // the event also fires when nothing was found
    connection.phase = 'connect'
    connection.resolvedAt = clock.monotonic()
  })
  dialled.once('connect', () => {
    connection.connectedAt = clock.monotonic()
    if (options.protocol === 'https:') connection.phase = 'tls'
  })
}

/** @throws errors of the look-up and the tunnel. Errors behind the tunnel go to `opened`. */
async function throughProxy(
  clock: Clock,
  connection: Connection,
  { proxy, record, target }: { proxy: ForwardProxy; record: ProxyRecord | undefined; target: string },
  judged: JudgedLookup,
  connect: buildConnector.connector,
  options: buildConnector.Options,
  opened: Opened,
): Promise<void> {
  const { hostname, protocol } = options
  const givenUp = new AbortController()
  connection.giveUp = (reason) => givenUp.abort(reason)
  const [to] = isIP(hostname) === 0 ? await judged(hostname) : [{ address: hostname }]
  givenUp.signal.throwIfAborted()
  if (isIP(hostname) === 0) connection.resolvedAt = clock.monotonic()
  connection.phase = 'connect'
  const { origin } = proxy
  connection.awaits = () => `the proxy ${origin} could not be reached in time`
  const { address } = to as Address
  const port = Number(options.port || (protocol === 'https:' ? 443 : 80))
  const tunnel = await openTunnel(clock, proxy, { address, port }, givenUp.signal, () => {
    connection.awaits = () =>
      record?.isOfSite(target, connection.dialledAt)
        ? undefined
        : `the proxy ${origin} does not answer for ${target} in time`
  })
  connection.awaits = undefined
  record?.opened(target)
  connection.connectedAt = clock.monotonic()
  connection.socket = tunnel
  if (protocol !== 'https:') return opened(null, tunnel, address)
  connection.phase = 'tls'
  const secured = connect({ ...options, httpSocket: tunnel }, (error, socket) =>
    opened(error, socket, address),
  ) as unknown
  connection.socket = (secured as Socket).once('close', () => tunnel.destroy())
  connection.giveUp = (reason) => void connection.socket?.destroy(reason)
}

/** Ends an attempt to connect; an open connection stays. */
export function abandon(connection: Connection | undefined, reason: Error): void {
  if (connection !== undefined && connection.phase !== 'open') connection.giveUp?.(reason)
}

/** Reports bytes to the reader of a connection. */
function watchBytes(clock: Clock, connection: Connection, socket: Socket, distrustHttp2: () => void): void {
  connection.socket = socket
  if ((socket as TLSSocket).alpnProtocol !== 'h2') {
    interceptBytes(connection, socket)
    return
  }
  connection.protocol = 'h2'
  // Node reads HTTP/2 frames outside of JavaScript, so frames that belong to no body cannot be observed.
  countFrames(clock, socket, {
    isRead() {
      const { reader } = connection
      reader?.onReading() // the exchange may end here; the bytes still count as its own
      return reader !== undefined
    },
    // Too many bytes came between two exchanges: the origin is requested over HTTP/1.1 for a while.
    onFlood() {
      distrustHttp2()
      socket.destroy()
    },
  })
}

/** The error as an EgressError when this machine's egress caused it, in any system call; otherwise undefined. */
function ownFault(error: Error, { localAddress }: Egress): EgressError | undefined {
  if (error instanceof EgressError) return error
  const isMissing = localAddress !== undefined && 'code' in error && error.code === 'EADDRNOTAVAIL'
  return isMissing ? new EgressError(`${localAddress} is no address of this machine`, { cause: error }) : undefined
}

/** Checks the port, and an address in the URL, which no look-up would check. */
function refuseLiteral(
  { guard, hasContact, whyStopped }: DialSettings,
  { hostname, port, protocol }: buildConnector.Options,
): Error | undefined {
  const refused = guard.refusePort(Number(port || (protocol === 'https:' ? 443 : 80)))
  if (refused !== undefined) return refused
  return isIP(hostname) === 0
    ? undefined
    : (guard.refuse(hostname, hostname, hasContact) ?? stopOf(whyStopped(hostname)))
}

/** An emergency stop: no connection is made. This says nothing about the site. */
export class StoppedError extends Error {
  override readonly name = 'StoppedError'
}
const stopOf = (why: string | undefined): StoppedError | undefined =>
  why === undefined ? undefined : new StoppedError(why)

/** Resolves to at least one address. Rejects with the guard's refusal, an emergency stop, or the error of the look-up. */
type JudgedLookup = (host: string) => Promise<Address[]>

/**
 * One refused address among several refuses all of them: a mixed answer is an attack or a mistake. A stopped address does the
 * same. From a local address only addresses of its family can be reached.
 */
function judgedLookup({ guard, lookup, egress: { localAddress }, hasContact, whyStopped }: DialSettings): JudgedLookup {
  return async (host) => {
    const answer = await lookup(host)
    for (const { address } of answer) {
      const refusal = guard.refuse(address, host, hasContact) ?? stopOf(whyStopped(address))
      if (refusal !== undefined) throw refusal
    }
    const usable = localAddress === undefined ? answer : answer.filter(({ family }) => family === isIP(localAddress))
    if (usable.length > 0) return usable
    throw answer.length === 0
      ? Object.assign(new Error(`${host} has no address`), { code: 'ENOTFOUND' })
      : new Error(`${host} has no address that can be reached from ${localAddress}`)
  }
}

const lookupFunction =
  (judged: JudgedLookup): LookupFunction =>
  (host, options, callback) => {
    judged(host).then(
      (answer) => {
        const [first] = answer as [Address]
        return options.all ? callback(null, answer) : callback(null, first.address, first.family)
      },
      (error: NodeJS.ErrnoException) => callback(error, ''),
    )
  }
