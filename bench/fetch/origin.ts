/** A site that costs as little as a site can: one canned answer, in a process of its own. argv: octets of the body. */
import { type AddressInfo, createServer } from 'node:net'

process.once('disconnect', () => process.exit())
const body = Buffer.alloc(Number(process.argv[2]), '<p>as plain as it gets</p>\n')
const head = [
  'HTTP/1.1 200 OK',
  'Date: Fri, 20 Nov 2026 12:00:00 GMT',
  'Server: bench',
  'Content-Type: text/html; charset=utf-8',
  `Content-Length: ${body.length}`,
]
const answer = Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body])
const server = createServer((socket) => {
  socket.on('error', () => {})
  socket.on('data', () => socket.write(answer)) // one request per packet: nobody pipelines here
})
server.listen(0, '0.0.0.0', () => process.send?.((server.address() as AddressInfo).port))
