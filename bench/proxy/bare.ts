/** The least that a forward proxy of Node's own does: no rule, no pace. Connections are kept on both sides. */
import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'

const agent = new Agent({
  keepAlive: true,
  maxSockets: Number.POSITIVE_INFINITY,
  maxFreeSockets: Number.POSITIVE_INFINITY,
})
const server = createServer((asked, response) => {
  const sent = request(asked.url ?? '', { method: asked.method, headers: asked.headers, agent }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
    answer.pipe(response)
  })
  sent.on('error', () => response.destroy())
  asked.pipe(sent)
}).listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
process.once('disconnect', () => process.exit())
