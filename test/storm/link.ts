/** A TCP link to Redis that can be slow, silent, cut, or cut right after a command has been passed on. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** away: all connections are cut, and new ones too. forgotten: those that are open stay so, and nothing ever comes through; new ones are well */
export type LinkFault = 'slow' | 'silent' | 'cut' | 'lost-reply' | 'away' | 'forgotten'

export type Link = {
  port: number
  /** Is told of each connection, from 1. */
  onConnection?: (count: number) => void
  /** Begins a fault; `cut`, `lost-reply` and `forgotten` happen once, the others last until `heal`. */
  hurt(fault: LinkFault): void
  heal(): void
  /** New connections lead to another server; those that are open stay where they are. */
  leadTo(port: number): void
  close(): Promise<void>
}

export const SLOW_MS = 200

export async function openLink(firstPort: number): Promise<Link> {
  let redisPort = firstPort
  const pairs = new Set<{ near: Socket; far: Socket; loseReply: boolean; isForgotten: boolean }>()
  let state: 'well' | 'slow' | 'silent' | 'away' = 'well'
  let count = 0
  const server = createServer((near) => {
    link.onConnection?.(++count)
    if (state === 'away') return void near.on('error', () => {}).destroy()
    const far = connect({ host: '127.0.0.1', port: redisPort })
    const pair = { near, far, loseReply: false, isForgotten: false }
    pairs.add(pair)
    const end = (): void => {
      pairs.delete(pair)
      near.destroy()
      far.destroy()
    }
    for (const socket of [near, far]) {
      socket.setNoDelay(true)
      socket.on('error', end)
      socket.on('close', end)
    }
    // Two ways of one kind. Octets keep their order, also when the link is fast again while slow ones are under way: a
    // network that swapped them would make one reply out of two.
    const pass = (from: Socket, to: Socket): void => {
      const underWay: { octets: Buffer; due: number }[] = []
      const arrive = (): void => {
        for (let first = underWay[0]; first !== undefined; first = underWay[0]) {
          const left = first.due - performance.now()
          if (left > 0) return void setTimeout(arrive, left)
          underWay.shift()
          to.write(first.octets)
        }
      }
      from.on('data', (octets) => {
        if (state === 'silent' || pair.isForgotten) return
        if (from === far && pair.loseReply) return end()
        underWay.push({ octets, due: performance.now() + (state === 'slow' ? SLOW_MS : 0) })
        if (underWay.length === 1) arrive()
      })
    }
    pass(near, far)
    pass(far, near)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = (): void => {
    for (const { near, far } of pairs) {
      near.destroy()
      far.destroy()
    }
  }
  const link: Link = {
    leadTo: (port) => {
      redisPort = port
    },
    port: (server.address() as AddressInfo).port,
    hurt(fault) {
      if (fault === 'cut') cut()
      else if (fault === 'lost-reply') for (const pair of pairs) pair.loseReply = true
      else if (fault === 'forgotten') for (const pair of pairs) pair.isForgotten = true
      else state = fault
      if (fault === 'away') cut()
    },
    heal() {
      // What was swallowed in silence is missing in mid-stream: nobody could go on with such a connection.
      if (state === 'silent') cut()
      state = 'well'
    },
    async close() {
      cut()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return link
}
