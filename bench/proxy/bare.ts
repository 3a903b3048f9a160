/**
 * The least that a forward proxy of Node's own does: no rule, no pace. Connections are kept on both sides. With the folder of an authority as
 * argument it looks into tunnels, too.
 */
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { Agent as SecureAgent, request as secureRequest } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { authorityIn, serveTls } from './tls.ts'

const options = { keepAlive: true, maxSockets: Number.POSITIVE_INFINITY, maxFreeSockets: Number.POSITIVE_INFINITY }
const [agent, secureAgent] = [new Agent(options), new SecureAgent(options)]

function pass(url: string, asked: IncomingMessage, response: ServerResponse): void {
  const { method, headers } = asked
  const take = (answer: IncomingMessage): void => {
    response.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
    answer.pipe(response)
  }
  const sent = url.startsWith('https:')
    ? secureRequest(url, { method, headers, agent: secureAgent }, take)
    : request(url, { method, headers, agent }, take)
  sent.on('error', () => response.destroy())
  asked.pipe(sent)
}

const server = createServer((asked, response) => pass(asked.url ?? '', asked, response))
const [folder] = process.argv.slice(2)
if (folder !== undefined) {
  const authority = authorityIn(folder)
  const inner = createServer({ keepAliveTimeout: 600_000 }, (asked, response) =>
    pass(`https://${asked.headers.host}${asked.url}`, asked, response),
  )
  server.on('connect', ({ url = '' }: IncomingMessage, socket: Socket) => {
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
    serveTls(socket, url.slice(0, url.indexOf(':')), authority, inner)
  })
}
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
process.once('disconnect', () => process.exit())
