/** A site with TLS that offers HTTP/2 and takes HTTP/1.1 as well, in a process of its own. argv: octets of the body. */
import { readFileSync } from 'node:fs'
import { createSecureServer } from 'node:http2'
import type { AddressInfo } from 'node:net'

process.once('disconnect', () => process.exit())
const body = Buffer.alloc(Number(process.argv[2]), '<p>as plain as it gets</p>\n')
const pem = readFileSync(new URL('../../test/fetcher/certs/good.pem', import.meta.url))
const server = createSecureServer({ key: pem, cert: pem, allowHTTP1: true }, (_, response) => {
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'content-length': body.length })
  response.end(body)
})
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
