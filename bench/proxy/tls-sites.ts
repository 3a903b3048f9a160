/** Sites over TLS, one an address of loopback: pages of 1 KB, an empty robots.txt. Arguments: folder of their authority, how many, `h2` or `http1`. */
import { createServer } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { authorityIn, serveTls } from './tls.ts'

const [folder = '', count = '', version] = process.argv.slice(2)
const authority = authorityIn(folder)
const page = Buffer.alloc(1_000, 'x')
type Answer = { setHeader(name: string, value: string): unknown; end(body: Buffer | string): unknown }
const answer = ({ url }: { url?: string | undefined }, response: Answer): void => {
  response.setHeader('content-type', url === '/robots.txt' ? 'text/plain' : 'text/html')
  response.end(url === '/robots.txt' ? '' : page)
}
const http1 = createServer({ keepAliveTimeout: 600_000 }, answer)
const http2 = version === 'h2' ? createHttp2Server(answer) : undefined
http2?.on('sessionError', () => undefined)
const origins: string[] = []
for (let n = 0; n < Number(count); n++) {
  const host = `127.60.${Math.floor(n / 250)}.${(n % 250) + 1}`
  const server = createTcpServer((socket) => serveTls(socket, host, authority, http1, http2))
  await new Promise<void>((resolve) => server.listen(0, host, 4_096, resolve))
  origins.push(`https://${host}:${(server.address() as AddressInfo).port}`)
}
process.send?.(origins)
process.once('disconnect', () => process.exit())
