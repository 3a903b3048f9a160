/** Commands for an embedded Redis: count the processes that use it, mark this process as one of them, shut Redis down. */
import type { Socket } from 'node:net'
import { ANSWER_MS, commandOf, openLine, type RedisAddress } from '@decorum/client/fleet-here'

/** Name of the connections by which processes show that they use this Redis. */
const USER = 'decorum-user'

/** Number of processes that use this Redis; undefined when it does not answer. */
export async function usersOfRedis(address: RedisAddress): Promise<number | undefined> {
  const list = await commandOf(address, 'CLIENT LIST')
  return list?.includes(' name=') ? list.split(` name=${USER} `).length - 1 : undefined
}

/** Shuts Redis down after its append-only file is written. Resolves when the connection has ended. */
export async function endRedis(address: RedisAddress): Promise<void> {
  await commandOf(address, 'SHUTDOWN')
}

const AGAIN_MS = 200

/**
 * Marks this process as a user of Redis until the process ends or calls `release`; reconnects when Redis has been restarted.
 * Does not keep the process alive.
 * @returns undefined when Redis does not answer now
 */
export async function holdRedis(address: RedisAddress) {
  let released = false
  let socket: Socket
  const once = (): Promise<boolean> =>
    new Promise((resolve) => {
      let answer = ''
      socket = openLine(address, `CLIENT SETNAME ${USER}\r\n`)
      if (held) socket.unref()
      socket.setTimeout(ANSWER_MS, () => socket.destroy())
      socket.on('data', (chunk) => {
        answer += chunk
        if (answer.split('+OK\r\n').length - 1 < expected) return
        socket.setTimeout(0)
        socket.unref()
        resolve(true)
      })
      socket.on('close', () => {
        resolve(false)
        if (!released && held) setTimeout(() => void (released || once()), AGAIN_MS).unref()
      })
    })
  const expected = address.password === undefined ? 1 : 2
  let held = false
  held = await once()
  if (!held) return undefined
  return {
    release() {
      released = true
      socket.destroy()
    },
  }
}
