/**
 * Facts about an HTTP/2 answer that undici does not pass on: its header fields in order with all repeats, and whether the site
 * ended the stream or broke it off. Node reports each new stream in the tick in which undici requests it.
 */
import { subscribe } from 'node:diagnostics_channel'
import type { ClientHttp2Stream, Http2Stream } from 'node:http2'
import type { Headers } from './answer.ts'

export type H2Stream = {
  /** header fields of the answer, without pseudo-headers; undefined: they have not arrived */
  headers: Headers | undefined
  /** the error code of RST_STREAM; 0: there was none, or its code was NO_ERROR */
  resetCode(): number
  /** whether the site has sent END_STREAM */
  hasEnded(): boolean
}

let wanted: ((stream: H2Stream) => void) | undefined
let isListening = false

/** @param take  receives the next stream that this process opens; call this in the tick in which undici opens it */
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
 * Node ends a stream for END_STREAM, for RST_STREAM with NO_ERROR, and at the end of its connection; in the last two cases it closes the
 * stream first.
 * @param onPiece  called for each piece of the body
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
