/** A real forward proxy on loopback: CONNECT, with a login if the test wants one. It connects to whatever it is told. */
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterAll } from 'vitest'

export type ConnectProxy = {
  /** with the login, as EGRESS has it */
  url: string
  /** without */
  origin: string
  /** targets of CONNECT, as they were written */
  asked: string[]
  /** their request headers: name, value, name, value … */
  urls: string[][]
  /** what it does with a CONNECT; default: what a proxy does */
  door: 'open' | 'silent' | 'cut' | 'early-bytes' | number
  /** tunnels that are open */
  readonly open: number
  close(): Promise<void>
}

export async function connectProxy({ login = '', isTls = false } = {}): Promise<ConnectProxy> {
  const wanted = `Basic ${Buffer.from(login).toString('base64')}`
  const sockets = new Set<Socket>()
  let open = 0
  const pem = isTls ? readFileSync(new URL('../certs/good.pem', import.meta.url)) : undefined
  const server = pem === undefined ? createServer() : createTlsServer({ key: pem, cert: pem })
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  server.on('request', (_, response) => void response.writeHead(405).end())
  server.on('connect', (request: IncomingMessage, client: Socket) => {
    client.on('error', () => {})
    proxy.asked.push(request.url ?? '')
    proxy.urls.push(request.rawHeaders)
    if (login !== '' && request.headers['proxy-authorization'] !== wanted)
      return void client.end('HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n')
    const { door } = proxy
    if (door === 'silent') return
    if (door === 'cut') return void client.destroy()
    if (typeof door === 'number') return void client.end(`HTTP/1.1 ${door} Said So\r\n\r\n`)
    const to = new URL(`http://${request.url}`)
    const site = connect(Number(to.port || 80), to.hostname.replace(/^\[|\]$/g, ''), () => {
      client.write('HTTP/1.1 200 Fine\r\n\r\n')
      if (door === 'early-bytes') client.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
      client.pipe(site).pipe(client)
      open += 1
    })
    site.on('error', () => void client.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'))
    site.on('close', () => {
      open -= 1
      client.destroy()
    })
    client.on('close', () => site.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `${isTls ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}`
  const proxy: ConnectProxy = {
    url: login === '' ? origin : origin.replace('//', `//${login}@`),
    origin,
    asked: [],
    urls: [],
    door: 'open',
    get open() {
      return open
    },
    close: () =>
      new Promise<void>((resolve) => {
        for (const socket of sockets) socket.destroy()
        server.close(() => resolve())
      }),
  }
  afterAll(() => proxy.close())
  return proxy
}
