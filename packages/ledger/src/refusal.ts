/**
 * Finds out why no connection to Redis was made, for the person who wrote REDIS_URL. A server that refuses a connection at its first byte
 * (too many clients, protected mode, missing TLS) closes it before the library has read the reason: then this machine connects once more
 * and reads it.
 */
import { connect, type Socket } from 'node:net'
import { type TLSSocket, connect as tlsConnect } from 'node:tls'
import { placeName, type RedisAddress, type RedisPlace, redisPlaces, systemClock } from '@decorum/protocol'
import { explainRefusal, isExplained } from '@decorum/protocol/redis-refusal'

const CONNECT_MS = 2_000
/** How long to wait for text that a server sends unasked: such text comes at once. */
const GREETING_MS = 300
const ANSWER_MS = 1_000

/**
 * @param errors   of the attempt, in order
 * @param address  undefined for a connection without one: then no second connection is made
 */
export async function whyRefused(errors: readonly Error[], address: RedisAddress | undefined): Promise<string> {
  const messages = errors
    .flatMap((error) => ('lastNodeError' in error ? [error.lastNodeError as Error, error] : [error]))
    .map(({ message }) => message.replace(/^All sentinels are unreachable.* Last error: /, ''))
  const places = address === undefined ? [] : redisPlaces(address)
  const [first] = places
  const name = first === undefined ? undefined : placeName(first)
  const words = messages.find((message) => isExplained(message) && !message.includes('ETIMEDOUT')) // ETIMEDOUT is the library's own timeout
  if (words !== undefined) return explainRefusal(words, name)
  for (const place of places) {
    const seen = await probe(place, address?.login.tls !== undefined)
    if (seen !== undefined) return explainRefusal(seen, placeName(place))
  }
  return explainRefusal(messages.findLast((message) => message !== '') ?? 'no answer', name)
}

/** @returns the refusal in the words of Redis, TLS or the network; undefined when a server answers normally */
async function probe(place: RedisPlace, isTls: boolean): Promise<string | undefined> {
  const plain = await firstLine(connect(place), 'connect')
  if (/^(connect|getaddrinfo) /.test(plain)) return plain
  if (/^[-+]/.test(plain)) {
    if (isTls) return 'wrong version number' // the error text of TLS for a server without TLS
    return plain.startsWith('-') ? plain.slice(1) : undefined
  }
  if (plain.startsWith('HTTP/')) return 'Unknown RESP type'
  const secure = await firstLine(tlsConnect({ ...place, rejectUnauthorized: false }), 'secureConnect')
  if (/certificate required|handshake failure/.test(secure)) return secure
  if (/^[-+]/.test(secure) && !isTls) return 'the server speaks TLS alone'
  if (secure.startsWith('-')) return secure.slice(1)
  return plain === '' ? `no answer from ${placeName(place)}, which accepts connections` : undefined
}

/** The first line that the server sends, unasked or as the reply to PING, or the error; '' when it sends nothing. */
function firstLine(socket: Socket | TLSSocket, connected: string): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    const end = (received = text): void => {
      systemClock.cancel(timer)
      socket.destroy()
      resolve(received.split('\r\n')[0] ?? '')
    }
    let timer = systemClock.timeout(end, CONNECT_MS)
    socket.once(connected, () => {
      systemClock.cancel(timer)
      timer = systemClock.timeout(() => {
        socket.write('PING\r\n')
        timer = systemClock.timeout(end, ANSWER_MS)
      }, GREETING_MS)
    })
    socket.on('data', (bytes) => {
      text += bytes.toString('latin1')
      if (text.includes('\n')) end()
    })
    socket.on('error', (error) => end(text === '' ? error.message : text))
    socket.on('close', () => end())
  })
}
