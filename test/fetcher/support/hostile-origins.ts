/** The hostile web as a process of its own, so that its memory and its floods are not measured as the fetcher's. */
import { type AddressInfo, createServer } from 'node:net'
import { BEHAVIOURS, type Behaviour } from './behaviours.ts'

process.once('disconnect', () => process.exit())
const good: Behaviour = {
  say: (socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood'),
  expect: { kind: 'fetched', status: 200 },
}
const sites: Record<string, Behaviour> = process.argv[2] === 'good' ? { good } : BEHAVIOURS
const ports: Record<string, number> = {}
for (const [name, { say, greet }] of Object.entries(sites)) {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    greet?.(socket)
    let head = ''
    let nth = 0
    socket.on('data', (chunk) => {
      head += chunk.toString('latin1')
      for (let end = head.indexOf('\r\n\r\n'); end >= 0; end = head.indexOf('\r\n\r\n')) {
        head = head.slice(end + 4)
        say?.(socket, ++nth)
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  ports[name] = (server.address() as AddressInfo).port
}
process.send?.(ports)
