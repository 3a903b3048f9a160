/** One request through the proxy: held until its turn, sent by @decorum/sending, and its answer streamed to the client. */
import { PassThrough, type Readable } from 'node:stream'
import { aborted } from '@decorum/protocol'
import { linesOf } from '@decorum/protocol/headers'
import { type Fetched, loadReported, NORMAL_LOAD } from '@decorum/sending'
import { GoneError, type Wish } from '@decorum/sending/granting'
import { Body, type Exchange, exchange, failureOf, type Head } from '@decorum/sending/http'
import type { Client } from './client.ts'
import { fieldsOf, isTransferCoded, toClient, toSite, trailersToClient } from './fields.ts'
import type { ClientRequest, Reply } from './message.ts'
import type { Parts } from './parts.ts'
import { failed, type Refusal, refuse } from './refuse.ts'
import { endTurn, keepLease, type Turn, waitForTurn } from './turn.ts'

/** Most turns of one request; it gets another one only if it was not sent. */
const MOST_TRIES = 3

export type ToForward = { wish: Wish; client: Client; incoming: ClientRequest; reply: Reply }

/**
 * @returns 'sent', or the type of the refusal that the client got
 * @throws Problem · GoneError when the client has gone
 */
export async function forward({ wish, client, incoming, reply }: ToForward, parts: Parts): Promise<string> {
  const { config, tally, name } = parts
  const { method, hasBody } = incoming
  const headers = toSite(fieldsOf(incoming.rawHeaders), {
    agent: wish.agent,
    rule: config.PROXY_USER_AGENT,
    length: incoming.headers['content-length'],
    name,
  })
  const key = [client.token.name, wish.agent.key, wish.crawl, method, wish.url].join(' ')
  for (let tries = 1; ; tries++) {
    const turn = await waitForTurn(wish, key, reply, parts)
    if (!('lease' in turn)) {
      tally.refused(wish, turn.type)
      refuse(reply, turn)
      return turn.type
    }
    const content = hasBody ? contentOf(incoming, reply) : undefined
    const why = await send({ wish, turn, method, headers, content, reply }, parts)
    if (why === undefined) return 'sent'
    if (reply.destroyed) throw new GoneError()
    if (hasBody || tries >= MOST_TRIES) {
      tally.refused(wish, 'not-sent')
      refuse(reply, { status: 503, type: 'not-sent', error: 'destination_unavailable', detail: why })
      return 'not-sent'
    }
  }
}

/**
 * Copies the body of the request into a separate stream: a failed exchange destroys its stream, which would otherwise close the client's
 * connection before its answer.
 */
function contentOf(incoming: ClientRequest, reply: Reply): Content {
  const { body } = incoming
  const content = new PassThrough()
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  let bytes = 0
  body.on('data', (piece: Buffer) => {
    bytes += piece.length
    begin()
  })
  const broken = (): void => void content.destroy(new Error('the client has gone'))
  // Over HTTP/2, Node also reports an end for a body that broke off
  body.once('end', () => {
    if (incoming.isWhole()) content.end()
    else broken()
    begin()
  })
  body.once('close', () => {
    if (!incoming.isWhole()) broken()
  })
  content.once('close', () => {
    body.unpipe(content).resume()
    begin()
  })
  content.on('error', () => undefined) // the exchange reports the error
  if (incoming.awaitsContinue && !reply.destroyed) reply.sendContinue()
  return { stream: body.pipe(content, { end: false }), bytes: () => bytes, begun }
}

/** `begun` resolves when part of the body has arrived, or the body has ended. */
type Content = { stream: Readable; bytes: () => number; begun: Promise<void> }

type ToSend = {
  wish: Wish
  turn: Turn
  method: string
  headers: string[]
  content: Content | undefined
  reply: Reply
}

/** @returns why it was not sent; undefined: it was sent, and the client has the complete result */
async function send(
  { wish, turn, method, headers, content, reply }: ToSend,
  parts: Parts,
): Promise<string | undefined> {
  const { connections, config, tally, name } = parts
  const { lease } = turn
  const gone = new AbortController()
  const onClose = (): void => gone.abort(new ClientGoneError())
  reply.once('close', onClose)
  if (reply.destroyed) onClose()
  let body: PassedOn | undefined
  const stopKeeping = keepLease(
    turn,
    () => (content?.bytes() ?? 0) + (body?.bytes ?? 0),
    parts,
    (reason) => gone.abort(reason),
  )
  tally.begins()
  // undici sends a head only with the first piece of its body, which is awaited here, so that the last check of the lease is recent
  if (content !== undefined) await Promise.race([content.begun, aborted(gone.signal)])
  const result = await exchange({
    way: connections.lane(wish.agent, wish.origin),
    origin: wish.origin,
    path: wish.path,
    method,
    headers,
    content: content?.stream,
    deadlineMs: config.PERMIT_MAX_MS,
    maxBytes: Number.POSITIVE_INFINITY,
    lastCheck: (address) => lease.lastCheck(address),
    confirm: () => lease.confirm(),
    keepBody: () => false,
    passOn(head) {
      body = new PassedOn(reply, head, method, name)
      return body
    },
    signal: gone.signal,
  })
  stopKeeping()
  reply.off('close', onClose)
  tally.ends()
  const isOurs = gone.signal.aborted
  if (result.kind !== 'not-sent') tally.sent(wish, 'sent')
  // The answer ends before the ledger is informed: the client need not wait for that
  passEnd(result, reply, wish.origin, gone.signal, parts)
  await endTurn(turn, fetchedOf(result, isOurs), parts)
  return result.kind === 'not-sent' ? result.why : undefined
}

export class ClientGoneError extends Error {
  override readonly name = 'ClientGoneError'
  constructor() {
    super('the client has gone')
  }
}

/** @param isOurs  whether this side ended the exchange: then it says nothing about the site, unless the site had answered */
function fetchedOf(result: Exchange, isOurs: boolean): Fetched {
  const { endedAt, timing } = result
  if (result.kind === 'not-sent') return { what: 'not-sent', endedAt, bytes: 0, load: NORMAL_LOAD }
  const took = { endedAt, tookMs: timing.totalMs }
  if (result.kind === 'unanswered')
    return { ...took, what: 'unanswered', bytes: 0, load: isOurs ? NORMAL_LOAD : { kind: 'no-answer' } }
  const { status, headers, body } = result
  const load = loadReported(status, linesOf(headers, 'retry-after'))
  return { ...took, what: `status-${Math.floor(status / 100)}xx`, bytes: body.bytes, load }
}

/** Ends the answer to the client, or sends a refusal if there is none. */
function passEnd(
  result: Exchange,
  reply: Reply,
  origin: string,
  { aborted, reason }: AbortSignal,
  { tally }: Parts,
): void {
  if (result.kind === 'not-sent' || reply.destroyed || reply.isEnded) return
  if (result.kind === 'answered') {
    // An incomplete answer must not look complete
    if (result.truncated === '') reply.end(undefined, trailersToClient(result.trailers))
    else reply.destroy()
    return
  }
  tally.ended('failed')
  refuse(
    reply,
    aborted ? givenUp(reason as Error) : failed(result.error, failureOf(result.error, result.phase), origin),
  )
}

const givenUp = ({ message }: Error): Refusal => ({
  status: 504,
  type: 'given-up',
  error: 'http_response_timeout',
  detail: message,
})

/** The body of an answer on its way to the client; a slow client slows the site down. */
class PassedOn extends Body {
  readonly #reply: Reply

  constructor(reply: Reply, { status, statusText, headers }: Head, method: string, name: string) {
    super(false)
    this.#reply = reply
    if (reply.destroyed) return
    if (isTransferCoded(headers) && method !== 'HEAD') reply.destroy() // an error page would be read as part of the site's page
    else if (!reply.carries(status)) refuse(reply, notCarried(status))
    else reply.head(status, statusText, toClient(headers, name))
  }

  override write(chunk: Uint8Array): Promise<void> | undefined {
    this.bytes += chunk.length
    const reply = this.#reply
    if (reply.destroyed || reply.isEnded) return undefined
    try {
      return reply.write(chunk) ? undefined : reply.room()
    } catch {
      reply.destroy() // the body exceeds its content-length
      return undefined
    }
  }
}

const notCarried = (status: number): Refusal => ({
  status: 502,
  type: 'protocol',
  error: 'http_protocol_error',
  detail: `the site has answered ${status}, which cannot be said over HTTP/2: ask over HTTP/1.1`,
})
