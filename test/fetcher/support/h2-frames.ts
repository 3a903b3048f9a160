/** A server of HTTP/2 that sends whatever frames a test wants. TLS on loopback, certificate good.pem. */
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer, type TLSSocket } from 'node:tls'
import { afterAll } from 'vitest'

export const DATA = 0
export const HEADERS = 1
export const RST_STREAM = 3
const SETTINGS = 4
const PREFACE_BYTES = 24
const END_HEADERS = 4
export const END_STREAM = 1

export function frame(type: number, flags: number, stream: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** A field that no table holds, in HPACK. */
const field = (name: string, value: string): Buffer =>
  Buffer.concat([
    Buffer.from([0, name.length]),
    Buffer.from(name, 'latin1'),
    Buffer.from([value.length]),
    Buffer.from(value, 'latin1'),
  ])

/** @param status  three characters, whatever they are */
export const headers = (stream: number, status: string, fields: [string, string][] = [], flags = 0): Buffer =>
  frame(
    HEADERS,
    END_HEADERS | flags,
    stream,
    Buffer.concat([field(':status', status), ...fields.map(([name, value]) => field(name, value))]),
  )

export type H2Frames = { origin: string; requests: number; readonly open: number }

/** @param answer  called per request with its stream */
export async function h2Frames(answer: (socket: TLSSocket, stream: number) => void): Promise<H2Frames> {
  const pem = readFileSync(new URL('../certs/good.pem', import.meta.url))
  const sockets = new Set<TLSSocket>()
  const server = createServer({ key: pem, cert: pem, ALPNProtocols: ['h2'] }, (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    socket.write(frame(SETTINGS, 0, 0))
    let left = PREFACE_BYTES
    let got = Buffer.alloc(0)
    socket.on('data', (chunk) => {
      got = Buffer.concat([got, chunk])
      if (left > 0 && got.length >= left) {
        got = got.subarray(left)
        left = 0
      }
      while (left === 0 && got.length >= 9) {
        const length = got.readUIntBE(0, 3)
        if (got.length < 9 + length) return
        const [type, flags, stream] = [got[3], got[4] ?? 0, got.readUInt32BE(5)]
        got = got.subarray(9 + length)
        if (type === SETTINGS && (flags & 1) === 0) socket.write(frame(SETTINGS, 1, 0))
        if (type !== HEADERS) continue
        site.requests += 1
        answer(socket, stream)
      }
    })
  })
  server.on('tlsClientError', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const site: H2Frames = {
    origin: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: 0,
    get open() {
      return sockets.size
    },
  }
  afterAll(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return site
}
