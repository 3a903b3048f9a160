/**
 * One TCP or TLS connection, guarded: the port and an address in the URL are judged before it is made, every address of a
 * look-up as it comes, and the peer of the socket before the connection is used.
 */
import { isIP, type LookupFunction, type Socket } from 'node:net'
import type { ConnectionOptions, TLSSocket } from 'node:tls'
import type { AddressGuard } from '@decorum/admission'
import { SECOND } from '@decorum/protocol'
import { buildConnector } from 'undici'
import { SEND_WINDOW_MS } from '../limits.ts'
import type { Phase } from './answer.ts'
import type { Lookup } from './lookup.ts'

/** What is known of one socket. Instants are of `performance.now()`. */
export type Connection = {
  phase: Exclude<Phase, 'sent'>
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
   * Called each time bytes have come in, before they are parsed. The object itself and not a closure, which would keep an
   * ended exchange alive until the next one (measured: then a third of all objects survived a scavenge, now hardly any).
   */
  reader?: { onReading(): void } | undefined
}

/** A request that waits for its connection. */
export type Waiting = {
  /** before the connection is used: why it may not be, at once or after the ledger has answered */
  beforeUse(): Promise<Error | undefined> | undefined
}

export type DialSettings = {
  guard: AddressGuard
  lookup: Lookup
  /** whether the agent names somebody to complain to; without a contact only opened addresses are connected to */
  hasContact: boolean
  /** tests only: trust anchors of their own; verification itself cannot be turned off */
  tls?: Pick<ConnectionOptions, 'ca'> | undefined
  /** a connection is about to be made */
  onDial(connection: Connection): void
  /** an attempt to connect to this host has failed */
  onFailure(host: string): void
  /** the request that the connection is made for */
  waiting(): Waiting | undefined
}

/** What undici calls to connect. */
export function dialer(settings: DialSettings): buildConnector.connector {
  const { guard, lookup, hasContact, tls, onDial, onFailure, waiting } = settings
  const connect = buildConnector({
    ...tls,
    rejectUnauthorized: true, // also when the environment says otherwise
    allowH2: false, // undici's Agent does not pass its own allowH2 on to a connector (measured)
    timeout: SEND_WINDOW_MS + SECOND,
    autoSelectFamily: true,
    lookup: guardedLookup(guard, lookup, hasContact),
  })
  return (options, callback) => {
    const { hostname, protocol } = options
    const fail = (error: Error): void => {
      onFailure(hostname)
      callback(error, null)
    }
    const connection: Connection = {
      phase: isIP(hostname) === 0 ? 'dns' : 'connect',
      dialledAt: performance.now(),
      address: '',
    }
    onDial(connection)
    const refusal = refuseLiteral(guard, options, hasContact)
    if (refusal !== undefined) {
      queueMicrotask(() => fail(refusal))
      return
    }
    const dialled = connect(options, (error, socket) => {
      if (error) return fail(error)
      const peer = socket.remoteAddress
      // A socket that is closed already has no peer; a peer that cannot be judged is not used.
      const refused =
        peer === undefined ? new Error('the connection closed at once') : guard.refuse(peer, hostname, hasContact)
      if (refused !== undefined) {
        socket.destroy()
        return fail(refused)
      }
      connection.phase = 'open'
      connection.openAt = performance.now()
      connection.address = peer ?? ''
      const version = protocol === 'https:' ? (socket as TLSSocket).getProtocol() : null
      if (version !== null) connection.tls = version
      socket.on('readable', () => {
        connection.reader?.onReading()
        withoutStacks() // undici's own listener, which parses, is the next one
      })
      const confirming = waiting()?.beforeUse()
      if (confirming === undefined) return callback(null, socket)
      return void confirming.then((error) => {
        if (error === undefined && !socket.destroyed) return callback(null, socket)
        socket.destroy()
        return fail(error ?? new Error('the connection closed at once'))
      })
    }) as unknown as Socket // its types say void; it returns the socket (undici/lib/core/connect.js)
    connection.socket = dialled
    dialled.once('lookup', (error: Error | null) => {
      if (error !== null) return // the event also comes when nothing was found
      connection.phase = 'connect'
      connection.lookedUpAt = performance.now()
    })
    dialled.once('connect', () => {
      connection.connectedAt = performance.now()
      if (protocol === 'https:') connection.phase = 'tls'
    })
  }
}

/** Ends an attempt to connect; an open connection stays. */
export function abandon(connection: Connection | undefined, reason: Error): void {
  if (connection !== undefined && connection.phase !== 'open') connection.socket?.destroy(reason)
}

/** An address in a URL is never looked up, so it is judged here, and so is the port. */
function refuseLiteral(
  guard: AddressGuard,
  { hostname, port, protocol }: buildConnector.Options,
  hasContact: boolean,
): Error | undefined {
  const refused = guard.refusePort(Number(port || (protocol === 'https:' ? 443 : 80)))
  if (refused !== undefined) return refused
  return isIP(hostname) === 0 ? undefined : guard.refuse(hostname, hostname, hasContact)
}

/** One guarded address among several refuses all of them: a mixed answer is an attack or a mistake. */
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

/**
 * Until the end of this tick errors carry no stack. undici makes an error for each header beyond its limit, thousands for
 * one packet of a flood, and the stack is most of their cost (measured: 100 hostile sites blocked the loop for 300 ms).
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
