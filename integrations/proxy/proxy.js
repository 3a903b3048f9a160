/**
 * A forward proxy for plain HTTP that asks for a permit for each request: proxy.js PERMITS-URL [PORT] [AGENT]. For wget and curl, whose
 * redirects and retries are requests of their own here. HTTPS is refused: a tunnel shows neither the URL nor the end of an exchange.
 */
import http from 'node:http'
import { openPermits } from '../undici/permits.js'

const [url = 'http://127.0.0.1:7071', port = '8118', agent] = process.argv.slice(2)
const permits = openPermits({ url, agent, token: process.env.TOKEN })
/** Of one connection, or of this proxy's own business (RFC 9110 §7.6.1). */
const OWN = new Set(['connection', 'proxy-connection', 'keep-alive', 'te', 'trailer', 'upgrade', 'proxy-authorization'])

function refuse(response, status, why) {
  response.writeHead(status, { 'content-type': 'text/plain' }).end(`decorum: ${why}\n`)
}

async function pass(request, response) {
  const target = URL.parse(request.url)
  if (target?.protocol !== 'http:') return refuse(response, 400, 'a proxy is sent the whole URL, of http:')
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return refuse(response, 405, 'GET and HEAD alone are passed on')
  // A fetcher of the fleet asks for robots.txt; every URL is judged by it before it gets a permit.
  if (/^\/robots\.txt$/i.test(target.pathname)) return refuse(response, 404, 'robots.txt is kept by Decorum')
  const { permit, problem } = await permits.fresh(target.href, undefined, () => !response.destroyed)
  if (permit === undefined) return refuse(response, 403, problem.detail ?? problem.type)
  if (response.destroyed) return permits.unused(permit)
  const others = Object.entries(request.headers).filter(([name]) => !OWN.has(name))
  const headers = { ...Object.fromEntries(others), host: target.host, 'user-agent': permit.userAgent }
  const sent = http.request(target, { method: request.method, headers, agent: false })
  const exchange = permits.exchange(permit, () => sent.destroy(new Error('the permit is gone')))
  response.once('close', () => sent.destroy()) // the caller has gone, or has all of it
  sent.once('error', (error) => {
    exchange.end(undefined, {}, error)
    if (response.headersSent) response.destroy()
    else refuse(response, 502, error.message)
  })
  sent.once('response', (answer) => {
    response.writeHead(answer.statusCode, answer.rawHeaders)
    answer.pipe(response)
    answer.once('close', () => exchange.end(answer.statusCode, answer.headers))
  })
  sent.end()
}

const server = http.createServer((request, response) => {
  pass(request, response).catch((error) => refuse(response, 502, error.message))
})
server.on('connect', (_, socket) => {
  socket.on('error', () => {})
  socket.end(
    'HTTP/1.1 501 Not Implemented\r\ncontent-type: text/plain\r\n\r\ndecorum: HTTPS is not passed on (README)\n',
  )
})
server.listen(Number(port), '127.0.0.1', () =>
  process.stdout.write(`http_proxy=http://127.0.0.1:${server.address().port}\n`),
)
