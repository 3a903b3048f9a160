/** Answers that were mutated at random: every exchange ends, nothing crashes, nothing is left unhandled. */
import { type AddressInfo, createServer } from 'node:net'
import { gzipSync } from 'node:zlib'
import { FAILURE_REASONS } from '@decorum/protocol'
import { afterAll, expect, test } from 'vitest'
import { onStoppedClock } from '../../fetcher/support/clock.ts'
import { leaseOf, page, pageOrder, robots } from '../../fetcher/support/orders.ts'
import { polite, testConnections } from '../../fetcher/support/tools.ts'

const COUNT = Number(process.env.MUTATIONS ?? 6_000)
const LANES = 40
const seed = Number(process.env.SEED ?? Date.now() % 1_000_000_000)

const chunked =
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n5\r\nhello\r\n6;ext=1\r\n world\r\n0\r\nX-T: t\r\n\r\n'
const packed = gzipSync('User-agent: *\nDisallow: /private\n'.repeat(20))
const GOOD: Buffer[] = [
  Buffer.from('HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 11\r\n\r\nhello world'),
  Buffer.from(chunked),
  Buffer.from('HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1/next?a=b\r\nContent-Length: 0\r\n\r\n'),
  Buffer.from('HTTP/1.1 429 Slow\r\nRetry-After: 120\r\nContent-Length: 2\r\n\r\nno'),
  Buffer.from('HTTP/1.1 103 Early\r\nLink: </a>\r\n\r\nHTTP/1.1 204 None\r\n\r\n'),
  Buffer.from('HTTP/1.0 200 OK\r\nCache-Control: max-age=60\r\nETag: "x"\r\nAge: 3\r\n\r\nuntil the end'),
  Buffer.concat([
    Buffer.from(`HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${packed.length}\r\n\r\n`),
    packed,
  ]),
]
const TOKENS = [
  '\r\n',
  '\n',
  '\r',
  '\0',
  ': ',
  'Content-Length: 5\r\n',
  'Transfer-Encoding: chunked\r\n',
  'HTTP/1.1 ',
  '0\r\n\r\n',
  'ffffffff',
  '-1',
  'Connection: close\r\n',
  'Upgrade: h2c\r\n',
  'Location: //a\r\n',
  'Content-Encoding: br\r\n',
  '\xff\xfe',
  '99999999999999999999',
]

/** mulberry32: a seed replays a run. */
let state = seed
const random = (): number => {
  state = (state + 0x6d2b79f5) | 0
  let t = Math.imul(state ^ (state >>> 15), 1 | state)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
}
const below = (n: number): number => Math.floor(random() * n)

function mutate(): Buffer {
  let octets = Buffer.from(GOOD[below(GOOD.length)] as Buffer)
  for (let times = 1 + below(4); times > 0; times--) {
    const at = below(octets.length + 1)
    const rest = octets.subarray(at)
    switch (below(6)) {
      case 0:
        if (at < octets.length) octets[at] = below(256)
        break
      case 1:
        octets = Buffer.concat([octets.subarray(0, at), rest.subarray(1 + below(20))])
        break
      case 2:
        octets = Buffer.concat([
          octets.subarray(0, at),
          Buffer.from(TOKENS[below(TOKENS.length)] as string, 'latin1'),
          rest,
        ])
        break
      case 3:
        octets = Buffer.concat([octets, octets.subarray(at)])
        break
      case 4:
        octets = octets.subarray(0, at)
        break
      default:
        octets = Buffer.concat([
          octets.subarray(0, at),
          Buffer.from(Array.from({ length: below(30) }, () => below(256))),
          rest,
        ])
    }
  }
  return octets
}

const sockets = new Set<import('node:net').Socket>()
const server = createServer((socket) => {
  sockets.add(socket)
  socket.on('close', () => sockets.delete(socket))
  socket.on('error', () => {})
  socket.on('data', () => {
    const octets = mutate()
    const cut = random() < 0.3 ? below(octets.length + 1) : octets.length
    socket.write(octets.subarray(0, cut))
    const rest = octets.subarray(cut)
    if (random() < 0.02) socket.resetAndDestroy()
    else if (random() < 0.6) socket.end(rest)
    else socket.write(rest)
  })
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
afterAll(() => {
  for (const socket of sockets) socket.destroy()
  server.close()
})

/** What the clock moves by in each turn of the loop: a deadline is a number of turns, in each of which the sockets are looked at. */
const TURN_MS = 5
const DEADLINE_MS = 250

const unhandled: unknown[] = []
const note = (error: unknown): void => void unhandled.push(error)
process.on('unhandledRejection', note).on('uncaughtExceptionMonitor', note)
afterAll(() => void process.off('unhandledRejection', note).off('uncaughtExceptionMonitor', note))

test(`${COUNT} mutated answers: each exchange ends in time with something that the contract knows`, async () => {
  console.log(`mutated answers: SEED=${seed}`)
  // A mutated Location points anywhere: no name is looked up, and without a contact only opened addresses are visited.
  const nowhere = () => Promise.reject(Object.assign(new Error('nowhere'), { code: 'ENOTFOUND' }))
  const connections = testConnections({ lookup: nowhere })
  const seen: Record<string, number> = {}
  let left = COUNT
  let slowest = 0
  const crawl = async (lane: number): Promise<void> => {
    const agent = { ...polite, honourVisitTime: false, hasContact: false, key: `lane-${lane}` }
    while (left-- > 0) {
      const start = performance.now()
      let what: string
      let endedAt: number
      if (lane % 4 === 0) {
        const answer = await robots(connections, origin, { agent, lease: leaseOf(DEADLINE_MS) })
        const { event } = answer
        expect(event).toBeDefined()
        what = event?.kind === 'unanswered' ? `robots ${event.reason}` : `robots ${event?.kind}`
        endedAt = answer.endedAt
      } else {
        const order = pageOrder(origin, '/', { attempt: 5 })
        const fetched = await page(connections, order, { agent, lease: leaseOf(DEADLINE_MS) })
        const { outcome, load } = fetched
        expect(load).toBeDefined()
        what = outcome?.kind === 'failed' ? outcome.reason : String(outcome?.kind)
        expect(['fetched', 'redirected', ...FAILURE_REASONS]).toContain(what)
        endedAt = fetched.endedAt
      }
      // The end of the exchange: a body is decoded after it, in threads for which a turn of the loop does not wait.
      slowest = Math.max(slowest, endedAt - start)
      seen[what] = (seen[what] ?? 0) + 1
    }
  }
  await onStoppedClock(async (pass) => {
    const over = new AbortController()
    const turn = (): void => {
      pass(TURN_MS)
      if (!over.signal.aborted) setImmediate(turn)
    }
    turn()
    await Promise.all(Array.from({ length: LANES }, (_, lane) => crawl(lane))).finally(() => over.abort())
  })
  console.log(`slowest ${slowest} ms; ${JSON.stringify(seen)}`)
  expect(slowest).toBeLessThanOrEqual(DEADLINE_MS + TURN_MS)
  expect(Object.keys(seen).length).toBeGreaterThan(8)
  expect(unhandled).toEqual([])
})
