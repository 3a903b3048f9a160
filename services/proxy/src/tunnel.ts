/**
 * CONNECT: a tunnel to a site, if the operator has enabled tunnels. Its lane paces it: one at a time, and the delay from its end to the next.
 * Its content is not seen, so nothing in it is judged: neither paths nor answers nor the number of requests.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Timer } from '@decorum/protocol'
import { type Fetched, NORMAL_LOAD } from '@decorum/sending'
import { Problem, type Wish } from '@decorum/sending/granting'
import { failureOf } from '@decorum/sending/http'
import type { Logger } from 'pino'
import { type Inner, inside } from './inspect.ts'
import type { Parts } from './parts.ts'
import { failed, kindOf, type Refusal, refusalOf, refusalText } from './refuse.ts'
import { endTurn, keepLease, type Turn, waitForTurn } from './turn.ts'
import { wishOf } from './wish.ts'

/** `early`: bytes that came right behind the request */
export type Connecting = { request: IncomingMessage; socket: Socket; early: Buffer }

/**
 * A tunnel is closed when its client has sent nothing for this long after the last bytes of the site, so that the next one of its lane gets
 * its turn. Clients keep connections open for minutes, and most pause for less than two seconds between two requests.
 */
const IDLE_MS = 2_000
/** Some clients tunnel plain HTTP as well, which can be read without an authority. */
const PLAIN_PORT = 80

const NO_MODE: Refusal = {
  status: 501,
  type: 'no-mode',
  error: 'http_request_denied',
  detail:
    'HTTPS is passed on by one of two modes: decorum proxy --tunnels paces tunnels by host and judges nothing in them; decorum guard -- COMMAND looks into them, under every promise',
}

/** Never rejects: the client gets the reason why it has no tunnel. */
export async function connect(
  { request, socket, early }: Connecting,
  parts: Parts & { log: Logger; inner: Inner },
): Promise<void> {
  const { config, tally, log } = parts
  socket.on('error', () => undefined) // the close event is handled
  let wish: Wish | undefined
  const refuse = (refusal: Refusal): void => {
    tally.refused(wish, kindOf(refusal))
    socket.end(refusalText(refusal))
  }
  try {
    const client = parts.clientOf(request.headers['proxy-authorization'])
    const { hostname, port } = targetOf(request.url ?? '')
    wish = wishOf(`https://${hostname}:${port}/`, request, client, parts)
    if (parts.authority !== undefined || port === PLAIN_PORT)
      return await inside(socket, early, { hostname, port, client, request }, parts)
    tally.came(wish)
    if (config.PROXY_TUNNELS === 'no') return refuse(NO_MODE)
    if (!config.tunnelPorts.has(port))
      throw new Problem('refused', `a tunnel leads to port 443, or one of DECORUM_ALLOW_PORTS, and not to ${port}`, {
        reason: 'guarded-port',
      })
    const key = [client.token.name, wish.agent.key, wish.crawl, 'CONNECT', wish.origin].join(' ')
    const stopHearing = readWhileWaiting(socket)
    const turn = await waitForTurn(wish, key, socket, parts)
    const sent = Buffer.concat([early, ...stopHearing()])
    if ('lease' in turn) await carry(wish, turn, socket, sent, parts)
    else refuse(turn)
  } catch (error) {
    if (socket.destroyed) return tally.ended('gone')
    refuse(refusalOf(error, log))
  }
}

/** The authority of a CONNECT (RFC 9112 §3.2.3): a host and a port, and nothing else. @throws Problem */
function targetOf(authority: string): { hostname: string; port: number } {
  const [, hostname, port] = /^(\[[0-9a-f:.]+\]|[^:/?#@[\]\s]+):(\d{1,5})$/i.exec(authority) ?? []
  if (hostname === undefined || Number(port) > 65_535 || Number(port) === 0)
    throw new Problem('bad-request', 'CONNECT takes a host and a port: CONNECT example.com:443')
  return { hostname, port: Number(port) }
}

/** Most bytes a client may send before its tunnel is open; it should send none. */
const EARLY_MAX_BYTES = 16 * 1024

/** Reads the socket, because only then does Node report a hang-up. @returns a function that stops reading, and returns the bytes read */
function readWhileWaiting(socket: Socket): () => Buffer[] {
  const pieces: Buffer[] = []
  let bytes = 0
  const take = (piece: Buffer): void => {
    pieces.push(piece)
    bytes += piece.length
    if (bytes > EARLY_MAX_BYTES) socket.destroy()
  }
  const end = (): void => void socket.destroy()
  socket.on('data', take).once('end', end)
  return () => {
    socket.pause().off('data', take).off('end', end)
    return pieces
  }
}

/** Opens the tunnel, and holds its lease until it ends. */
async function carry(wish: Wish, turn: Turn, client: Socket, early: Buffer, parts: Parts): Promise<void> {
  const { connections, tally, tools } = parts
  const { clock } = tools.ledger
  const { lease } = turn
  const { agent, origin } = lease
  const begun = clock.monotonic()
  const over = new AbortController()
  const end = (reason: Error): void => over.abort(reason)
  const onClose = (): void => end(new Error('the client has gone'))
  client.once('close', onClose)
  if (client.destroyed) onClose()
  tally.begins()
  let fetched: Fetched
  try {
    const beforeUse = () => lease.confirm()?.then((why) => (why === undefined ? undefined : new NotSentError(why)))
    const { socket, address } = await connections.bare(agent, origin, { beforeUse }, over.signal)
    const why = lease.lastCheck(address)
    if (why !== undefined) {
      socket.destroy()
      throw new NotSentError(why)
    }
    tally.sent(wish, 'tunnel')
    client.write('HTTP/1.1 200 Connection established\r\n\r\n')
    if (early.length > 0) socket.write(early)
    const bytes = await untilEnd(client, socket, turn, parts, over)
    const endedAt = clock.monotonic()
    fetched = { what: 'tunnel', bytes, endedAt, tookMs: endedAt - begun, load: NORMAL_LOAD }
  } catch (error) {
    fetched = refused(error as Error & { phase?: 'dns' | 'connect' }, client, wish, over.signal.aborted, parts)
  }
  client.off('close', onClose)
  tally.ends()
  await endTurn(turn, fetched, parts)
}

class NotSentError extends Error {
  override readonly name = 'NotSentError'
}

/** Answers a client whose tunnel could not be opened. @param isOurs  whether the client has gone: then nothing is known about the site */
function refused(
  error: Error & { phase?: 'dns' | 'connect' },
  client: Socket,
  wish: Wish,
  isOurs: boolean,
  { tally, tools }: Parts,
): Fetched {
  const endedAt = tools.ledger.clock.monotonic()
  const isSent = !(
    isOurs ||
    error instanceof NotSentError ||
    error.name === 'StoppedError' ||
    error.name === 'EgressError'
  )
  if (client.destroyed) tally.ended('gone')
  else {
    const refusal: Refusal = isSent
      ? failed(error, failureOf(error, error.phase ?? 'connect'), wish.origin)
      : { status: 503, type: 'not-sent', error: 'destination_unavailable', detail: error.message }
    tally.refused(wish, refusal.type)
    client.end(refusalText(refusal))
  }
  if (!isSent) return { what: 'not-sent', bytes: 0, endedAt, load: NORMAL_LOAD }
  return { what: 'unanswered', bytes: 0, endedAt, tookMs: 0, load: { kind: 'no-answer' } }
}

/**
 * Copies both ways, each at its reader's pace, until one side has ended, nothing moves any more, or the lease is over.
 * @returns bytes of both ways, once the connection to the site has ended
 */
async function untilEnd(
  client: Socket,
  site: Socket,
  turn: Turn,
  parts: Parts,
  over: AbortController,
): Promise<number> {
  const { clock } = parts.tools.ledger
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  let [bytes, isClientsTurn, movedAt, idle] = [0, true, 0, undefined as Timer | undefined]
  const idleFor = (ms: number): void => {
    idle = clock.timeout(() => {
      const leftMs = movedAt + IDLE_MS - clock.monotonic()
      if (leftMs > 0) idleFor(Math.ceil(leftMs))
      else over.abort(new Error('idle'))
    }, ms)
  }
  const stopKeeping = keepLease(
    turn,
    () => bytes,
    parts,
    (reason) => over.abort(reason),
  )
  const moved = (piece: Buffer, fromSite: boolean): void => {
    bytes += piece.length
    if (fromSite !== isClientsTurn) {
      isClientsTurn = fromSite
      clock.cancel(idle)
      idle = undefined
    }
    // While the site prepares an answer, the tunnel is not idle: if no bytes come at all, keepLease ends it
    if (!isClientsTurn) return
    movedAt = clock.monotonic()
    if (idle === undefined) idleFor(IDLE_MS)
  }
  moved(Buffer.alloc(0), true)
  client.on('data', (piece: Buffer) => moved(piece, false))
  site.on('data', (piece: Buffer) => moved(piece, true))
  client.pipe(site)
  site.pipe(client)
  site.once('error', () => undefined).once('close', resolve)
  over.signal.addEventListener('abort', () => site.destroy(), { once: true })
  if (over.signal.aborted) site.destroy()
  await ended
  clock.cancel(idle)
  stopKeeping()
  if (client.writableEnded) client.end()
  else client.destroySoon()
  return bytes
}
