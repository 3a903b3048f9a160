/** The hostile sites of a flood (hostile-owners.ts) and the name server of their domains, in a process of their own. */
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { setPriority } from 'node:os'
import { createServer as createTlsServer } from 'node:tls'
import { BEHAVIOURS } from '../fetcher/support/behaviours.ts'
import { nameServer } from '../support/name-server.ts'
import { hostileOrigin, type Kind, OWNERS, type Place } from './hostile-owners.ts'
import { NICE } from './nice.ts'

export type WebReady = { places: Place[]; dns: string }
/** requests, and for silent and flooding sites connections, by kind */
export type WebCounts = Partial<Record<Kind, number>>

setPriority(NICE)
process.once('disconnect', () => process.exit())
const polite = process.argv.slice(2)
const counts: WebCounts = {}
const count = (kind: Kind): number => {
  const before = counts[kind] ?? 0
  counts[kind] = before + 1
  return before
}

const answer = (status: number, fields: Record<string, string> = {}, body = ''): string =>
  `HTTP/1.1 ${status} Fine\r\ncontent-length: ${body.length}\r\n${Object.entries(fields)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n${body}`
const OPEN = answer(200, { 'content-type': 'text/plain' }, 'User-agent: *\nDisallow: /no\n')
const robotsThen =
  (say: (socket: Socket, nth: number) => void) =>
  (socket: Socket, nth: number, path: string): void => {
    if (path === '/robots.txt') socket.write(OPEN)
    else say(socket, nth)
  }
const politeUrl = (nth: number, folder: string): string => `${polite[nth % polite.length]}/${folder}/${nth}`

const places: Place[] = []
const silentHost = (nth: number): string =>
  `${hostileOrigin(
    places.filter(({ kind }) => kind === 'silent'),
    1_000_000 + nth,
  )}/${nth}`
const say: Record<Kind, (socket: Socket, nth: number, path: string) => void> = {
  silent: () => undefined,
  'silent-pages': robotsThen(() => undefined),
  drips: robotsThen((socket) => {
    socket.write('HTTP/1.1 200 Slow\r\ncontent-length: 100000\r\n\r\n')
    const timer = setInterval(() => socket.write('x'), 1_000)
    socket.once('close', () => clearInterval(timer))
  }),
  'leads-to-silent': robotsThen((socket, nth) => void socket.write(answer(302, { location: silentHost(nth) }))),
  'leads-to-polite': robotsThen(
    (socket, nth) => void socket.write(answer(302, { location: politeUrl(nth, 'sent-here') })),
  ),
  'robots-at-polite': (socket, nth, path) =>
    void socket.write(
      path === '/robots.txt' ? answer(302, { location: politeUrl(nth, 'decoy') }) : answer(200, {}, 'x'),
    ),
  garbage: (socket, nth) => garbage[nth % garbage.length]?.say?.(socket, nth),
  'never-again': robotsThen((socket) => void socket.write(answer(429, { 'retry-after': '99999999999' }))),
  'frames-flood': () => undefined,
}
const garbage = Object.values(BEHAVIOURS)

function serve(kind: Kind): Server {
  if (kind === 'frames-flood') return framesFlood()
  return createServer((socket) => {
    socket.on('error', () => undefined)
    if (kind === 'garbage') garbage[(counts.garbage ?? 0) % garbage.length]?.greet?.(socket)
    let head = ''
    socket.on('data', (chunk) => {
      head += chunk.toString('latin1')
      for (let end = head.indexOf('\r\n\r\n'); end >= 0; end = head.indexOf('\r\n\r\n')) {
        const [, path = ''] = head.split(' ', 2)
        head = head.slice(end + 4)
        say[kind](socket, count(kind), path)
      }
    })
  })
}

/** Settings, and then window updates of the connection (RFC 9113, 6.9) without end; no request is answered. */
function framesFlood(): Server {
  const pem = readFileSync(new URL('../fetcher/certs/good.pem', import.meta.url))
  const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0])
  const update = Buffer.from([0, 0, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0, 1])
  const updates = Buffer.concat(Array.from({ length: 4_000 }, () => update))
  const server = createTlsServer({ key: pem, cert: pem, ALPNProtocols: ['h2'] }, (socket) => {
    count('frames-flood')
    socket.on('error', () => undefined)
    socket.resume()
    socket.write(settings)
    const flood = (): void => {
      if (socket.destroyed) return
      if (socket.write(updates)) setImmediate(flood)
      else socket.once('drain', flood)
    }
    flood()
  })
  return server.on('tlsClientError', () => undefined)
}

for (const owner of OWNERS) {
  const server = serve(owner.kind)
  await new Promise<void>((resolve) =>
    server.listen(0, owner.kind === 'frames-flood' ? '127.0.0.1' : owner.address, resolve),
  )
  places.push({ ...owner, port: (server.address() as AddressInfo).port })
}
const { address: dns } = await nameServer((name, type) => {
  const owner = OWNERS.find(({ domain }) => name.endsWith(`.${domain}`))
  return owner === undefined ? { rcode: 'NXDOMAIN' } : type === 'A' ? { a: [owner.address] } : {}
})
process.on('message', () => process.send?.(counts))
process.send?.({ places, dns } satisfies WebReady)
