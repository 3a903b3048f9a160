/** When a body is whole: only when its protocol says so (RFC 9112 §8 and §9.8; of HTTP/2 see http2.test.ts). */
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { createServer as createTlsServer, type TLSSocket } from 'node:tls'
import { afterAll, describe, expect, test } from 'vitest'
import { connectProxy } from '../../fetcher/support/connect-proxy.ts'
import { robots } from '../../fetcher/support/orders.ts'
import { rawOrigin } from '../../fetcher/support/raw-origin.ts'
import { ask, testConnections, textOf } from '../../fetcher/support/tools.ts'

const pem = readFileSync(new URL('../../fetcher/certs/good.pem', import.meta.url))

type Peer = { tls: TLSSocket /** the TCP connection to the client */; tcp: Socket }

/** TLS behind a relay, which can end the TCP connection without TLS knowing. */
async function tlsSite(maxVersion: 'TLSv1.2' | 'TLSv1.3', answer: (peer: Peer, path: string) => void): Promise<string> {
  const clients = new Map<number, Socket>()
  const inner = createTlsServer({ key: pem, cert: pem, maxVersion }, (tls) => {
    tls.on('error', () => {})
    const tcp = clients.get(tls.remotePort ?? 0) as Socket
    tls.on('data', (chunk) => answer({ tls, tcp }, chunk.toString('latin1').split(' ')[1] ?? ''))
  })
  await new Promise<void>((resolve) => inner.listen(0, '127.0.0.1', resolve))
  const outer = createServer({ allowHalfOpen: true }, (client) => {
    const behind = connect((inner.address() as AddressInfo).port, '127.0.0.1', () =>
      clients.set(behind.localPort ?? 0, client),
    )
    client.on('error', () => {}).on('data', (chunk) => behind.write(chunk))
    client.on('end', () => behind.end())
    client.on('close', () => behind.destroy())
    behind.on('error', () => {}).on('data', (chunk) => client.writable && client.write(chunk))
    behind.on('end', () => client.end())
  })
  await new Promise<void>((resolve) => outer.listen(0, '127.0.0.1', resolve))
  afterAll(() => {
    inner.close()
    outer.close()
    for (const client of clients.values()) client.destroy()
  })
  return `https://127.0.0.1:${(outer.address() as AddressInfo).port}`
}

const OK = 'HTTP/1.1 200 OK\r\n'
const soon = (act: () => void): void => void setTimeout(act, 30)
/** A record of TLS that no key of the connection has made: the client ends the connection with an alert. */
const GARBAGE = Buffer.from('1703030010'.padEnd(42, '0'), 'hex')

/** How a connection ends, and whether a body without a length is whole then. */
const ENDS: [name: string, end: (peer: Peer) => void, isWhole: boolean][] = [
  ['close_notify and FIN', ({ tls }) => soon(() => tls.end()), true],
  ['close_notify with the last octets', ({ tls }) => void tls.end(), true],
  ['FIN without close_notify', ({ tcp }) => soon(() => tcp.end()), false],
  ['a reset', ({ tcp }) => soon(() => tcp.resetAndDestroy()), false],
  ['a record that is none', ({ tcp }) => soon(() => void tcp.end(GARBAGE)), false],
]

describe.each(['TLSv1.2', 'TLSv1.3'] as const)('a body without a length over %s', (version) => {
  test.each(ENDS)('%s', async (_, end, isWhole) => {
    for (const bytes of [5, 500_000])
      for (const head of [OK, 'HTTP/1.0 200 OK\r\n', `${OK}X-A: b\r\n c\r\n`, `${OK}Transfer-Encoding: identity\r\n`]) {
        const origin = await tlsSite(version, (peer) => {
          peer.tls.write(`${head}\r\n${'x'.repeat(bytes)}`)
          end(peer)
        })
        const connections = testConnections({ trust: true })
        for (const keepBody of [true, false]) {
          const result = await ask(connections, origin, { keepBody: () => keepBody })
          expect([head, result]).toMatchObject([head, { kind: 'answered', truncated: isWhole ? '' : 'disconnect' }])
          if (result.kind === 'answered' && isWhole) expect(result.body.bytes).toBe(bytes)
          if (result.kind === 'answered') await result.body.discard()
        }
      }
  })

  test.each(ENDS)('with a length it is whole at its length: %s', async (_, end) => {
    const origin = await tlsSite(version, (peer) => {
      peer.tls.write(`${OK}Content-Length: 5\r\n\r\nhello`)
      end(peer)
    })
    expect(await ask(testConnections({ trust: true }), origin)).toMatchObject({ truncated: '' })
  })
})

test('through a proxy as well', async () => {
  const proxy = await connectProxy()
  for (const [how, truncated] of [
    ['notify', false],
    ['fin', 'disconnect'],
  ] as const) {
    const origin = await tlsSite('TLSv1.3', ({ tls, tcp }) => {
      tls.write(`${OK}\r\nhello`)
      soon(() => void (how === 'notify' ? tls.end() : tcp.end()))
    })
    const connections = testConnections({ trust: true, egress: { decorum: { proxy: proxy.url } } })
    expect([how, await ask(connections, origin)]).toMatchObject([how, { truncated }])
  }
})

test('over plain TCP the end of the connection is the end of the body; a reset is not', async () => {
  for (const head of [OK, 'HTTP/1.0 200 OK\r\n', `${OK}X-A: b\r\n c\r\n`])
    for (const isReset of [false, true]) {
      const site = await rawOrigin((socket) => {
        socket.write(`${head}\r\nhello`)
        soon(() => void (isReset ? socket.resetAndDestroy() : socket.end()))
      })
      const result = await ask(testConnections(), site.origin)
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
      tls.write(`${OK}Content-Type: text/plain\r\n\r\n${rules}`)
      soon(() => void (how === 'notify' ? tls.end() : tcp.end()))
    })
    expect((await robots(testConnections({ trust: true }), origin)).event).toMatchObject(event)
  }
})
