/**
 * What undici does not pass on of an answer over HTTP/2: its header fields in their order with all repeats, and whether the site
 * ended the stream or broke it off. Node tells of each stream that is opened, in the tick in which undici asks for it.
 */
import { subscribe } from 'node:diagnostics_channel'
import type { ClientHttp2Stream, Http2Stream } from 'node:http2'
import type { Headers } from './answer.ts'

export type H2Stream = {
  /** of the last answer head, the final one included; without pseudo-headers */
  headers: Headers | undefined
  /** the code of a RST_STREAM, 0 when there was none, or one with NO_ERROR */
  resetCode(): number
  /** the site has sent END_STREAM */
  hasEnded(): boolean
}

let wanted: ((stream: H2Stream) => void) | undefined
let isListening = false

/** @param take  is handed the next stream that this process opens: to be called in the tick in which that happens */
export function nextH2Stream(take: (stream: H2Stream) => void): void {
  wanted = take
  if (isListening) return
  isListening = true
  subscribe('http2.client.stream.created', (message) => {
    const give = wanted
    wanted = undefined
    if (give !== undefined) give(watched((message as { stream: ClientHttp2Stream }).stream))
  })
}

function watched(stream: ClientHttp2Stream): H2Stream {
  const seen: H2Stream = { headers: undefined, resetCode: () => stream.rstCode ?? 0, hasEnded: watchEnd(stream) }
  stream.on('response', (_headers, _flags, raw) => {
    const headers: Headers = []
    for (let i = 0; i + 1 < raw.length; i += 2)
      if (raw[i]?.startsWith(':') === false) headers.push([raw[i] as string, raw[i + 1] as string])
    seen.headers = headers
  })
  return seen
}

/**
 * Node ends a stream for END_STREAM, and for RST_STREAM with NO_ERROR or the end of its connection: the latter two after it has closed the stream.
 * @param onPiece  called when something of its body comes
 * @returns whether the peer has sent END_STREAM
 */
export function watchEnd(stream: Http2Stream, onPiece: () => void = () => {}): () => boolean {
  let hasEnded = false
  const push = stream.push.bind(stream)
  stream.push = (piece, encoding) => {
    if (piece !== null) onPiece()
    else if (!stream.closed) hasEnded = true
    return push(piece, encoding)
  }
  return () => hasEnded
}
