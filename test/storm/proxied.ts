/**
 * Crawlers behind proxies in the storm. They know of Decorum only an address, and each treats it badly in its own way: it dies while it waits or in mid-body,
 * freezes, pipelines, sends garbage, hangs up and asks again. Proxies are killed and frozen as other processes are; the sites' record judges what came.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Dice } from './dice.ts'
import type { Times } from './manners.ts'

const WAYS = [
  'good',
  'dies-waiting',
  'comes-back',
  'dies-reading',
  'frozen',
  'pipelines',
  'garbage',
  'half-upload',
] as const
type Way = (typeof WAYS)[number]
export type ProxiedFacts = {
  /** requests, or connections, by how their client behaved */
  ways: Record<Way, number>
  /** answers by status, of those who wait for one; 0: the connection ended without one */
  answers: Record<number, number>
}

export type ProxiedOptions = {
  /** ports of the proxies that run now */
  ports: () => number[]
  /** a URL of its own for each n */
  urlOf: (n: number) => string
  times: Times
  dice: Dice
  signal: AbortSignal
}

/** Paths of requests that are sent again, as clients do that have hung up. */
export const AGAIN = '/again/'

const CRAWLERS = 20
const PIPELINED = 3
/** Nobody waits longer, whatever becomes of the proxy. */
const PATIENCE_MS = 20_000

/** @returns what has been seen so far, and when the last of them has ended */
export function crawlThroughProxies(options: ProxiedOptions): { facts: ProxiedFacts; ended: Promise<unknown> } {
  const none = Object.fromEntries(WAYS.map((way) => [way, 0])) as ProxiedFacts['ways']
  const facts: ProxiedFacts = { ways: none, answers: {} }
  const ways = options.dice.deck(WAYS)
  let n = 0
  const crawl = async (): Promise<void> => {
    while (!options.signal.aborted) {
      const ports = options.ports()
      if (ports.length === 0) await sleep(100)
      else await one(options.dice.next() < 0.4 ? 'good' : ways(), () => options.urlOf(n++), options, facts)
    }
  }
  return { facts, ended: Promise.all(Array.from({ length: CRAWLERS }, crawl)) }
}

/** @returns what such a crowd has not done yet */
export const proxiedMissing = ({ ways, answers }: ProxiedFacts): string[] => [
  ...WAYS.filter((way) => ways[way] === 0).map((way) => `a client of a proxy: ${way}`),
  ...[200, 403].filter((status) => !answers[status]).map((status) => `an answer ${status} through a proxy`),
]

const head = (method: string, url: string, more = ''): string =>
  `${method} ${url} HTTP/1.1\r\nHost: ${new URL(url).host}\r\nUser-Agent: crawler/1\r\n${more}\r\n`

async function one(way: Way, nextUrl: () => string, options: ProxiedOptions, facts: ProxiedFacts): Promise<void> {
  const { dice, ports, times } = options
  const open = (): Connection => new Connection(dice.pick(ports().length === 0 ? [0] : ports()))
  const count = (status: number): void => {
    facts.answers[status] = (facts.answers[status] ?? 0) + 1
  }
  const connection = open()
  const url = nextUrl()
  facts.ways[way]++
  switch (way) {
    case 'good':
      connection.say(head('GET', url, 'Connection: close\r\n'))
      count(await connection.status())
      break
    case 'dies-waiting':
      connection.say(head('GET', url))
      await sleep(dice.between(5, 300))
      break
    case 'comes-back': {
      const again = url.replace(/^(https?:\/\/[^/]+)\/.*/, `$1${AGAIN}${facts.ways[way]}-${dice.whole(0, 1e9)}`)
      connection.say(head('GET', again))
      await sleep(dice.between(5, 300))
      connection.end()
      const second = open()
      second.say(head('GET', again, 'Connection: close\r\n'))
      count(await second.status())
      second.end()
      break
    }
    case 'dies-reading':
      connection.say(head('GET', url))
      await connection.status()
      break
    case 'frozen':
      connection.socket.pause()
      connection.say(head('GET', url))
      await sleep(times.leaseMs + times.quarantineMs)
      break
    case 'pipelines':
      connection.say(
        Array.from({ length: PIPELINED }, () => head('GET', nextUrl())).join('') +
          head('GET', url, 'Connection: close\r\n'),
      )
      await connection.over()
      break
    case 'garbage':
      connection.say(
        dice.pick([
          randomBytes(200),
          head('GET', url).slice(0, -20),
          `CONNECT ${url} HTTP/1.1\r\n\r\n`,
          'GET / HTTP/9.9\r\n\r\n',
        ]),
      )
      await sleep(dice.between(5, 300))
      break
    case 'half-upload':
      connection.say(head('POST', url, 'Content-Length: 1000\r\n') + 'x'.repeat(500))
      await sleep(dice.between(100, 1_000))
      break
    default:
      way satisfies never
  }
  connection.end()
}

/** To a proxy that may die, or be dead. */
class Connection {
  readonly socket: Socket
  #said = ''

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1')
    this.socket.on('error', () => undefined)
    this.socket.on('data', (piece) => (this.#said += piece.toString('latin1')))
  }

  say(text: string | Buffer): void {
    this.socket.write(text)
  }

  /** Of the first answer; 0: there was none. */
  async status(): Promise<number> {
    const late = AbortSignal.timeout(PATIENCE_MS)
    const closed = this.over()
    while (!this.#said.includes('\r\n\r\n') && !this.socket.destroyed && !late.aborted)
      await Promise.race([once(this.socket, 'data', { signal: late }), closed]).catch(() => undefined)
    return Number(/^HTTP\/1\.1 (\d{3}) /.exec(this.#said)?.[1] ?? 0)
  }

  /** It has been closed, or is waited for no longer. */
  async over(): Promise<void> {
    if (this.socket.destroyed) return
    await once(this.socket, 'close', { signal: AbortSignal.timeout(PATIENCE_MS) }).catch(() => undefined)
  }

  end(): void {
    this.socket.destroy()
  }
}
