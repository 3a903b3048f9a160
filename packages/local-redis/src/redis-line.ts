/**
 * A few commands to an embedded Redis by its inline protocol: how many processes use it, where its files are. Written without
 * a client library, because the guardian must start fast.
 */
import { connect, type Socket } from 'node:net'

export type RedisDoor = { port: number; password: string | undefined }

/** A Redis that has gone refuses at once; one that is there may be too busy for its first answer, or its machine is. */
const ANSWER_MS = 15_000
/** Name of the connections by which processes show that they use this Redis. */
const USER = 'decorum-user'

/** The data folder, from Redis itself; undefined when no Redis answers there, or the password is wrong. */
export async function folderOfRedis(door: RedisDoor): Promise<string | undefined> {
  return /\$3\r\ndir\r\n\$\d+\r\n(.*)\r\n/.exec((await ask(door, 'CONFIG GET dir')) ?? '')?.[1]
}

/** How many processes use it; undefined when it does not answer. */
export async function usersOfRedis(door: RedisDoor): Promise<number | undefined> {
  const list = await ask(door, 'CLIENT LIST')
  return list?.includes(' name=') ? list.split(` name=${USER} `).length - 1 : undefined
}

/** Ends it, its append-only file written; resolves when it does not answer any more. */
export async function shutDownRedis(door: RedisDoor): Promise<void> {
  await ask(door, 'SHUTDOWN')
}

export type Hold = { release(): void }

const AGAIN_MS = 200

/**
 * Shows that this process uses the Redis, as long as it runs or until `release`; reconnects when Redis has been restarted.
 * Does not keep the process alive.
 * @returns undefined when it does not answer now
 */
export async function holdRedis(door: RedisDoor): Promise<Hold | undefined> {
  let released = false
  let socket: Socket
  const once = (): Promise<boolean> =>
    new Promise((told) => {
      let answer = ''
      socket = open(door, `CLIENT SETNAME ${USER}\r\n`)
      if (held) socket.unref()
      socket.setTimeout(ANSWER_MS, () => socket.destroy())
      socket.on('data', (chunk) => {
        answer += chunk
        if (answer.split('+OK\r\n').length - 1 < expected) return
        socket.setTimeout(0)
        socket.unref()
        told(true)
      })
      socket.on('close', () => {
        told(false)
        if (!released && held) setTimeout(() => void (released || once()), AGAIN_MS).unref()
      })
    })
  const expected = door.password === undefined ? 1 : 2
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

function ask(door: RedisDoor, command: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    let answer = ''
    const socket = open(door, `${command}\r\nQUIT\r\n`)
    socket.setTimeout(ANSWER_MS, () => socket.destroy())
    socket.on('data', (chunk) => {
      answer += chunk
    })
    socket.on('close', () => resolve(answer === '' ? undefined : answer))
  })
}

/** The password was generated here: letters, digits, - and _, so it needs no quotes. */
function open({ port, password }: RedisDoor, words: string): Socket {
  const socket = connect({ host: '127.0.0.1', port }, () =>
    socket.write(`${password === undefined ? '' : `AUTH ${password}\r\n`}${words}`),
  )
  socket.on('error', () => {}) // 'close' follows
  return socket
}
