/** When a body is whole: only when its protocol says so (RFC 9112 §8 and §9.8; of HTTP/2 see http2.test.ts). */
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { afterAll, describe, expect, test } from 'vitest'
import { connectProxy } from '../../fetcher/support/connect-proxy.ts'
import { robots } from '../../fetcher/support/orders.ts'
import { rawOrigin } from '../../fetcher/support/raw-origin.ts'
import { ask, testConnections, textOf } from '../../fetcher/support/tools.ts'

const pem = readFileSync(new URL('../../fetcher/certs/good.pem', import.meta.url))

/** `tcp` lies below `tls`: what is written there, or ends it, is in order behind what TLS has written, and TLS does not know of it. */
type Peer = { tls: TLSSocket; tcp: Socket }

async function tlsSite(maxVersion: 'TLSv1.2' | 'TLSv1.3', answer: (peer: Peer, path: string) => void): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, (tcp) => {
    sockets.add(tcp)
    const tls = new TLSSocket(tcp, { isServer: true, key: pem, cert: pem, maxVersion })
    tls.on('error', () => {})
    tcp.on('error', () => {})
    tls.on('data', (chunk) => answer({ tls, tcp }, chunk.toString('latin1').split(' ')[1] ?? ''))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  afterAll(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const OK = 'HTTP/1.1 200 OK\r\n'
/** A record of TLS that no key of the connection has made: the client ends the connection with an alert. */
const GARBAGE = Buffer.from('1703030010'.padEnd(42, '0'), 'hex')

/** How a connection ends once TLS has written the answer and the client has seen its head; and whether a body without a length is whole then. */
const ENDS: [name: string, end: (peer: Peer) => void, isWhole: boolean][] = [
  ['close_notify and FIN', ({ tls }) => void tls.end(), true],
  ['FIN without close_notify', ({ tcp }) => void tcp.end(), false],
  ['a reset', ({ tcp }) => void tcp.resetAndDestroy(), false],
  ['a record that is none', ({ tcp }) => void tcp.end(GARBAGE), false],
]

describe.each(['TLSv1.2', 'TLSv1.3'] as const)('a body without a length over %s', (version) => {
  test.each(ENDS)('%s', async (_, end, isWhole) => {
    for (const bytes of [5, 500_000])
      for (const head of [OK, 'HTTP/1.0 200 OK\r\n', `${OK}X-A: b\r\n c\r\n`, `${OK}Transfer-Encoding: identity\r\n`]) {
        let peer: Peer | undefined
        const origin = await tlsSite(version, (asked) => {
          peer = asked
          asked.tls.write(`${head}\r\n`)
        })
        const connections = testConnections({ trust: true })
        for (const keepBody of [true, false]) {
          const seen = (): boolean => {
            peer?.tls.write('x'.repeat(bytes), () => end(peer as Peer))
            return keepBody
          }
          const result = await ask(connections, origin, { keepBody: seen })
          expect([head, result]).toMatchObject([head, { kind: 'answered', truncated: isWhole ? '' : 'disconnect' }])
          if (result.kind === 'answered' && isWhole) expect(result.body.bytes).toBe(bytes)
          if (result.kind === 'answered') await result.body.discard()
        }
      }
  })

  test.each(ENDS)('with a length it is whole at its length: %s', async (_, end) => {
    let peer: Peer | undefined
    const origin = await tlsSite(version, (asked) => {
      peer = asked
      asked.tls.write(`${OK}Content-Length: 5\r\n\r\nhello`)
    })
    expect(await ask(testConnections({ trust: true }), origin)).toMatchObject({ truncated: '' })
    end(peer as Peer)
  })
})

test('through a proxy as well', async () => {
  const proxy = await connectProxy()
  for (const [how, truncated] of [
    ['notify', ''],
    ['fin', 'disconnect'],
  ] as const) {
    const origin = await tlsSite('TLSv1.3', ({ tls, tcp }) => {
      tls.write(`${OK}\r\nhello`, () => void (how === 'notify' ? tls.end() : tcp.end()))
    })
    const connections = testConnections({ trust: true, egress: { decorum: { proxy: proxy.url } } })
    expect([how, await ask(connections, origin)]).toMatchObject([how, { truncated }])
  }
})

test('over plain TCP the end of the connection is the end of the body; a reset is not', async () => {
  for (const head of [OK, 'HTTP/1.0 200 OK\r\n', `${OK}X-A: b\r\n c\r\n`])
    for (const isReset of [false, true]) {
      let peer: Socket | undefined
      const site = await rawOrigin((socket) => {
        peer = socket
        socket.write(`${head}\r\nhello`)
      })
      const seen = (): boolean => {
        setImmediate(() => void (isReset ? peer?.resetAndDestroy() : peer?.end()))
        return true
      }
      const result = await ask(testConnections(), site.origin, { keepBody: seen })
      expect([head, isReset, result]).toMatchObject([head, isReset, { truncated: isReset ? 'disconnect' : '' }])
      expect(await textOf(result)).toBe('hello')
    }
})

test('what was announced and has not come is cut, whether or not the connection was to end', async () => {
  const short: [string, string][] = [
    ['Content-Length: 9', 'hello'],
    ['Transfer-Encoding: chunked', '5\r\nhello\r\n'],
    ['Transfer-Encoding: chunked', '9\r\nhello'],
    ['Transfer-Encoding: chunked', '5 \r\nhello\r\n'],
  ]
  for (const version of ['1.0', '1.1'])
    for (const connection of ['', 'Connection: close\r\n'])
      for (const [framing, body] of short) {
        const site = await rawOrigin(
          (s) => void s.end(`HTTP/${version} 200 OK\r\n${connection}${framing}\r\n\r\n${body}`),
        )
        const result = await ask(testConnections(), site.origin)
        const what = [version, connection, framing, body]
        expect([what, result]).toMatchObject([what, { truncated: 'disconnect', body: { bytes: 5 } }])
      }
})

test('a robots.txt that may lack its end is an answer that failed', async () => {
  const rules = 'User-agent: *\nDisallow: /a\n'
  for (const [how, event] of [
    ['fin', { kind: 'unanswered', reason: 'reset' }],
    ['notify', { kind: 'answered', status: 200 }],
  ] as const) {
    const origin = await tlsSite('TLSv1.3', ({ tls, tcp }) => {
      const end = (): void => void (how === 'notify' ? tls.end() : tcp.end())
      tls.write(`${OK}Content-Type: text/plain\r\n\r\n${rules}`, end)
    })
    expect((await robots(testConnections({ trust: true }), origin)).event).toMatchObject(event)
  }
})
