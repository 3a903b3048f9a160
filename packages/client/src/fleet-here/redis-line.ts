/**
 * Sends a command to an embedded Redis in the inline protocol. No client library is used, because the process that guards such a Redis must
 * start fast.
 */
import { connect, type Socket } from 'node:net'

export type RedisAddress = { port: number; password: string | undefined }

/** Longest wait for an answer, ms: the port of a Redis that has ended refuses at once, but a running one, or its machine, may be busy. */
export const ANSWER_MS = 15_000

/** The data folder that a Redis reports; undefined when no Redis answers there, or the password is wrong. */
export async function folderOfRedis(address: RedisAddress): Promise<string | undefined> {
  return /\$3\r\ndir\r\n\$\d+\r\n(.*)\r\n/.exec((await commandOf(address, 'CONFIG GET dir')) ?? '')?.[1]
}

/** @returns the replies as received; undefined: there was none */
export function commandOf(address: RedisAddress, command: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    let answer = ''
    const socket = openLine(address, `${command}\r\nQUIT\r\n`)
    socket.setTimeout(ANSWER_MS, () => socket.destroy())
    socket.on('data', (chunk) => {
      answer += chunk
    })
    socket.on('close', () => resolve(answer === '' ? undefined : answer))
  })
}

/** The password was generated here: letters, digits, - and _, so it needs no quotes. */
export function openLine({ port, password }: RedisAddress, words: string): Socket {
  const socket = connect({ host: '127.0.0.1', port }, () =>
    socket.write(`${password === undefined ? '' : `AUTH ${password}\r\n`}${words}`),
  )
  socket.on('error', () => {}) // 'close' follows
  return socket
}
