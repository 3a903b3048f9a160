/**
 * Every command that a Redis carries out, scripts' own included. Not by ioredis, which fails when the first commands come in one packet with
 * the answer to MONITOR.
 */
import { once } from 'node:events'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'

export type Monitor = { close(): void }

/** @param onCommand  its name and its arguments, as MONITOR prints them: octets that cannot be printed as \xHH */
export async function monitorCommands(url: string, onCommand: (args: string[]) => void): Promise<Monitor> {
  const { hostname, port, username, password } = new URL(url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  if (password !== '') socket.write(`AUTH ${username || 'default'} ${password}\r\n`)
  const begun = Promise.withResolvers<void>()
  let answers = password === '' ? 1 : 2
  createInterface({ input: socket }).on('line', (line) => {
    if (answers > 0) {
      if (line !== '+OK') begun.reject(new Error(line))
      if (--answers === 0) begun.resolve()
      return
    }
    // +1795405122.625594 [0 lua] "HSET" "{decorum:0}:epoch"
    const words = line.slice(line.indexOf(']')).matchAll(/"((?:[^"\\]|\\.)*)"/g)
    onCommand([...words].map(([, word = '']) => word.replaceAll(/\\(["\\])/g, '$1')))
  })
  socket.on('error', begun.reject)
  socket.write('MONITOR\r\n')
  await begun.promise
  return { close: () => socket.destroy() }
}
